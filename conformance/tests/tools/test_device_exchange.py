"""The checks of shared memory: with numpy as the guest of a device that the host plays, and with wrong guests."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cuda.emulator import Emulator
from adstack.tools.device import exchange


class Numpy(exchange.Guest):
    """numpy, which may look at the memory of this device."""

    module = "numpy"

    def made(self, values: Any) -> Any:
        return np.array(values)

    def shared(self, array: Any) -> Any:
        about = array.__cuda_array_interface__
        words = (ctypes.c_float * about["shape"][0]).from_address(about["data"][0])
        return np.ctypeslib.as_array(words)

    def read(self, array: Any) -> list[float]:
        values: list[float] = array.tolist()
        return values


class Copying(Numpy):
    """Takes copies for views."""

    def shared(self, array: Any) -> Any:
        return np.array(array.to_numpy())


class Nobody(exchange.Guest):
    module = "nobody_has_this"


class Tensor:
    """What torch and cupy call an array: memory of this device."""

    device = SimpleNamespace(type="cuda")

    def __init__(self, array: Any) -> None:
        self.array, self.requires_grad, self.grad = array, False, None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        about = {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.data_ptr(), False)}
        return {**about, "version": 3}

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def detach(self) -> Tensor:
        return Tensor(self.array)

    def requires_grad_(self) -> Tensor:
        self.requires_grad = True
        return self

    def cpu(self) -> SimpleNamespace:
        return SimpleNamespace(numpy=lambda: self.array)

    def get(self) -> Any:
        return self.array

    def clone(self) -> Tensor:
        return Tensor(self.array.copy())

    copy = clone

    def __setitem__(self, at: slice, value: Any) -> None:
        self.array[at] = value.array if isinstance(value, Tensor) else value

    def __mul__(self, factor: float) -> Tensor:
        return Tensor(self.array * np.float32(factor))


class Streams:
    """The module `cuda` of both: one stream is current, and lateness is counted."""

    def __init__(self) -> None:
        self.now, self.late = [0], 0

    def is_available(self) -> bool:
        return True

    is_initialized = is_available

    @contextmanager
    def stream(self, handle: int) -> Iterator[None]:
        self.now.append(handle)
        yield
        self.now.pop()

    def Stream(self, non_blocking: bool = False) -> Any:  # noqa: N802 - as they call it
        return self.stream(0x90) if non_blocking else 0x80

    def current_stream(self) -> SimpleNamespace:
        return SimpleNamespace(cuda_stream=self.now[-1], ptr=self.now[-1])

    get_current_stream = current_stream

    def wait(self, cycles: int) -> None:
        self.late += 1

    def ones(self, shape: tuple[int, int], device: str) -> Matrix:
        self.late += 1
        return Matrix()


class Matrix:
    """Of which products take long."""

    def __matmul__(self, other: Matrix) -> Matrix:
        return self


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch) -> dict[str, Streams]:
    """torch and cupy, as far as the checks use them."""
    modules = {}
    for name in ("torch", "cupy"):
        streams = modules[name] = Streams()
        module = ModuleType(name)
        module.cuda, module.int64 = streams, int  # type: ignore[attr-defined]
        module.ones = streams.ones  # type: ignore[attr-defined]
        module.tensor = lambda values, device: Tensor(np.array(values))  # type: ignore[attr-defined]
        module.asarray = lambda values: Tensor(np.array(values))  # type: ignore[attr-defined]
        module.from_dlpack = lambda array: Tensor(Numpy().shared(array))  # type: ignore[attr-defined]
        module.RawKernel = lambda text, name, streams=streams: (  # type: ignore[attr-defined]
            lambda grid, block, args: streams.wait(*args)
        )
        monkeypatch.setitem(sys.modules, name, module)
    return modules


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


@pytest.mark.parametrize(
    "check", [exchange.argument_in_place, exchange.shared_both_ways, exchange.gradients_are_shared]
)
def test_what_is_shared_is_found_to_be_right(check):
    assert exchange.outcome(check, Numpy) == "ok"


@pytest.mark.parametrize("check", [exchange.shared_both_ways, exchange.gradients_are_shared])
def test_a_copy_is_found_to_be_wrong(check):
    assert exchange.outcome(check, Copying).startswith("wrong: AssertionError: ")


def test_whoever_is_missing_is_told():
    said = exchange.outcome(exchange.late_argument, Nobody)
    assert said == "missing: ModuleNotFoundError: No module named 'nobody_has_this'"


@pytest.mark.parametrize(("answer", "status"), [("ok", 0), ("missing: all", 0), ("wrong: this", 1)])
def test_only_what_is_wrong_fails(monkeypatch, tmp_path, answer, status):
    monkeypatch.setattr(exchange, "outcome", lambda check, kind: answer)
    assert exchange.main(str(tmp_path / "found.json")) == status
    report = json.loads((tmp_path / "found.json").read_text())
    assert set(report.values()) == {answer}
    assert {name.partition(":")[0] for name in report} == {"torch", "cupy", "jax"}


CHECKS = [(kind, check) for kind in (exchange.Torch, exchange.Cupy) for check in exchange.CHECKS[kind]]


@pytest.mark.parametrize(("kind", "check"), CHECKS, ids=lambda check: check.__name__)
def test_the_checks_say_ok_where_everything_is_in_order(monkeypatch, guests, kind, check):
    orders: list[tuple[Any, Any]] = []
    monkeypatch.setattr(Emulator, "order", lambda self, first, then: orders.append((first, then)))
    assert exchange.outcome(check, kind) == "ok"
    handle = 0x80 if kind is exchange.Torch else 0x90
    if check.__name__.startswith("late"):
        assert guests[kind.module].late >= 3
        assert {(handle, None), (None, handle)} == set(orders)
    else:
        assert orders == []
