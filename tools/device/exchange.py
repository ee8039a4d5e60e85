"""Memory shared with torch, cupy and JAX: `python -m adstack.tools.device.exchange FILE`.

Every check says "ok", what is wrong, or who is missing. Streams other than the default one are made late by a kernel
that waits, so that whoever does not wait for them is seen to go on without.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

import adstack as qd

Foreign: TypeAlias = Any
"""An object of another library, whose types are not at hand."""

__all__ = ["Guest", "checks", "main", "outcome"]

N: Final = 1000
LATE: Final = 200_000_000
"""Cycles for which a stream is kept busy: about a tenth of a second."""
PRODUCTS: Final = 40
"""So many products of matrices take a device about as long."""


class Guest:
    """Somebody with arrays on the device.

    Attributes:
        module: its name.
    """

    module = ""

    def __init__(self) -> None:
        self.np: Foreign = importlib.import_module(self.module)

    def made(self, values: Foreign) -> Foreign:
        """An array on the device."""
        raise NotImplementedError

    def shared(self, array: Foreign) -> Foreign:
        """A view of a field or ndarray."""
        return self.np.from_dlpack(array)

    def read(self, array: Foreign) -> list[float]:
        """What it holds, once the current stream has come so far."""
        raise NotImplementedError

    def copied(self, array: Foreign) -> Foreign:
        """A copy, made in the current stream."""
        raise NotImplementedError

    def busy(self) -> AbstractContextManager[Foreign]:
        """A current stream that does not wait for the default one."""
        raise NotImplementedError

    def late(self) -> None:
        """Keep the current stream busy."""
        raise NotImplementedError


class Torch(Guest):
    """torch."""

    module = "torch"

    def __init__(self) -> None:
        super().__init__()
        if not self.np.cuda.is_available():
            raise ImportError("torch has no device")

    def made(self, values: Foreign) -> Foreign:
        """See `Guest.made`."""
        return self.np.tensor(values, device="cuda")

    def read(self, array: Foreign) -> list[float]:
        """See `Guest.read`."""
        values: list[float] = array.detach().cpu().numpy().tolist()
        return values

    def copied(self, array: Foreign) -> Foreign:
        """See `Guest.copied`."""
        return array.clone()

    def busy(self) -> AbstractContextManager[Foreign]:
        """See `Guest.busy`."""
        context: AbstractContextManager[Foreign] = self.np.cuda.stream(self.np.cuda.Stream())
        return context

    def late(self) -> None:
        """See `Guest.late`."""
        matrix = self.np.ones((4096, 4096), device="cuda")
        for _ in range(PRODUCTS):
            matrix = matrix @ matrix


class Cupy(Guest):
    """cupy."""

    module = "cupy"
    WAIT = 'extern "C" __global__ void wait(long long n) { long long s = clock64(); while (clock64() - s < n); }'

    def __init__(self) -> None:
        super().__init__()
        self._wait = self.np.RawKernel(self.WAIT, "wait")

    def made(self, values: Foreign) -> Foreign:
        """See `Guest.made`."""
        return self.np.asarray(values)

    def read(self, array: Foreign) -> list[float]:
        """See `Guest.read`."""
        values: list[float] = array.get().tolist()
        return values

    def copied(self, array: Foreign) -> Foreign:
        """See `Guest.copied`."""
        return array.copy()

    def busy(self) -> AbstractContextManager[Foreign]:
        """See `Guest.busy`."""
        stream: AbstractContextManager[Foreign] = self.np.cuda.Stream(non_blocking=True)
        return stream

    def late(self) -> None:
        """See `Guest.late`."""
        self._wait((1,), (1,), (self.np.int64(LATE),))


@qd.kernel
def double(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> None:  # type: ignore[valid-type]
    """Each element times 2."""
    for i in a:
        a[i] = a[i] * 2.0


def numbers() -> Foreign:
    """Small numbers."""
    return np.arange(N, dtype=np.float32)


def same(values: list[float], wanted: Foreign) -> None:
    """AssertionError where they differ."""
    expected = np.broadcast_to(np.asarray(wanted, np.float32), N).tolist()
    wrong = [k for k in range(N) if values[k] != expected[k]]
    assert not wrong, f"{len(wrong)} elements differ, first {wrong[0]}: {values[wrong[0]]}, not {expected[wrong[0]]}"


def argument_in_place(guest: Guest) -> None:
    """A kernel works on the array itself."""
    array = guest.made(numbers())
    double(array)
    double(array)
    same(guest.read(array), 4 * numbers())


def shared_both_ways(guest: Guest) -> None:
    """Fields and ndarrays: who writes is seen by the other."""
    field, array = qd.field(qd.f32, N), qd.ndarray(qd.f32, N)

    @qd.kernel
    def bump() -> None:
        for i in field:
            field[i] += 1.0

    launches: tuple[tuple[Foreign, Callable[[], Foreign]], ...] = ((field, bump), (array, lambda: double(array)))
    for mine, launch in launches:
        mine.fill(1.0)
        view = guest.shared(mine)
        same(guest.read(view), 1)
        view[:] = 4.0
        launch()
        launch()
        wanted = 6.0 if mine is field else 16.0
        same(guest.read(view), wanted)
        same(mine.to_numpy().tolist(), wanted)


def gradients_are_shared(guest: Guest) -> None:
    """Adjoints that a guest writes, and reads."""
    x, y = (qd.field(qd.f32, N, needs_grad=True) for _ in range(2))

    @qd.kernel
    def square() -> None:
        for i in x:
            y[i] = x[i] * x[i]

    x.from_numpy(numbers())
    into, out = guest.shared(y.grad), guest.shared(x.grad)
    square()
    into[:] = 3.0
    square.grad()
    same(guest.read(out), 6 * numbers())


def late_argument(guest: Guest) -> None:
    """What a busy stream writes to an array comes before the kernel, and what it reads after."""
    array = guest.made(numbers())
    for value in (3.0, 5.0, 7.0):
        with guest.busy():
            guest.late()
            array[:] = value
            double(array)
            seen = guest.copied(array)
            same(guest.read(seen), 2 * value)


def late_field(guest: Guest) -> None:
    """The same with a field that is shared, and the host."""
    x = qd.field(qd.f32, N)

    @qd.kernel
    def bump() -> None:
        for i in x:
            x[i] += 1.0

    bump()
    bump()
    view = guest.shared(x)
    for value in (3.0, 5.0):
        with guest.busy():
            guest.late()
            view[:] = value
            bump()
            guest.late()
            view[:] = view * 10.0
            same(x.to_numpy().tolist(), 10 * (value + 1))


def late_graph(guest: Guest) -> None:
    """The same with launches that are repeated as one."""
    array = guest.made(numbers())
    with qd.graph() as g:
        double(array)
        double(array)
    for value in (1.0, 3.0, 5.0):
        with guest.busy():
            guest.late()
            array[:] = value
            g.launch()
            same(guest.read(guest.copied(array)), 4 * value)
    assert g.is_captured


def tensor_with_gradient(guest: Guest) -> None:
    """Reverse mode adds to the .grad of a tensor, in place."""
    tensor = guest.made(numbers()).requires_grad_()
    y = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def squares(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> None:  # type: ignore[valid-type]
        for i in a:
            y[None] += a[i] * a[i]

    y.grad[None] = 1.0
    squares(tensor)
    squares.grad(tensor)
    same(guest.read(tensor.grad), 2 * numbers())
    address = tensor.grad.data_ptr()
    squares.grad(tensor)
    same(guest.read(tensor.grad), 4 * numbers())
    assert tensor.grad.data_ptr() == address


def jax_reads(guest: Guest) -> None:
    """JAX takes a field without a copy, and its arrays are arguments."""
    x, y = qd.field(qd.f32, N), qd.field(qd.f32, N)
    x.from_numpy(numbers())

    @qd.kernel
    def take(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> None:  # type: ignore[valid-type]
        for i in a:
            y[i] = a[i] + 1.0

    view = guest.shared(x)
    assert view.unsafe_buffer_pointer() == x.__cuda_array_interface__["data"][0], "it was copied"
    take(view * 2)
    same(y.to_numpy().tolist(), 2 * numbers() + 1)


class Jax(Guest):
    """JAX, whose arrays are never written."""

    module = "jax"

    def __init__(self) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others need memory, too
        super().__init__()

    def shared(self, array: Foreign) -> Foreign:
        """See `Guest.shared`."""
        return importlib.import_module("jax.dlpack").from_dlpack(array)


Check = Callable[[Foreign], None]
_BOTH: Final[tuple[Check, ...]] = (
    argument_in_place,
    shared_both_ways,
    gradients_are_shared,
    late_argument,
    late_field,
    late_graph,
)
CHECKS: Final[dict[type[Guest], tuple[Check, ...]]] = {
    Torch: (*_BOTH, tensor_with_gradient),
    Cupy: _BOTH,
    Jax: (jax_reads,),
}


def outcome(check: Check, kind: type[Guest]) -> str:
    """Say "ok", what is wrong, or who is missing."""
    qd.init(arch=qd.cuda)
    try:
        guest = kind()
    except Exception as error:  # noqa: BLE001 - whatever keeps it from being there
        return f"missing: {type(error).__name__}: {error}"
    try:
        check(guest)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is wrong
        return f"wrong: {type(error).__name__}: {error}"
    return "ok"


def checks() -> dict[str, str]:
    """All of them, by the guest's name and theirs."""
    return {
        f"{kind.module}: {check.__name__}": outcome(check, kind)
        for kind, several in CHECKS.items()
        for check in several
    }


def main(file: str) -> int:
    """Write what came of them, as JSON; 0 if nothing is wrong."""
    results = checks()
    Path(file).write_text(json.dumps(results, indent=1))
    print(json.dumps(results, indent=1))
    return int(any(said.startswith("wrong") for said in results.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
