"""Tapes that are followed on a device whose copies may fail."""

from __future__ import annotations

import ctypes

import pytest

import adstack as qd
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.interface.errors import DriverError
from adstack.errors import AdstackRuntimeError

N = 4
_COPY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_REFUSED = 1


class Copies:
    """Copies on the device; after some of them, one fails."""

    def __init__(self) -> None:
        self.left, self.done = 1 << 30, 0
        self.function = _COPY(self.copy)

    def copy(self, to: int, source: int, size: int, _: int | None) -> int:
        self.left -= 1
        if self.left < 0:
            return _REFUSED
        self.done += 1
        ctypes.memmove(to, source, size)
        return 0


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    stand_in, usual = Copies(), Emulator.copier

    def copier(emulator: Emulator) -> list[int]:
        return [ctypes.cast(stand_in.function, ctypes.c_void_p).value or 0, *usual(emulator)[1:]]

    def check(_: Emulator, code: int) -> None:
        if code:
            raise DriverError("cuMemcpyDtoDAsync", code, "refused")

    def counted(_: Emulator, source: int, target: int, size: int) -> None:
        stand_in.copy(target, source, size, None)  # of a graph

    monkeypatch.setattr(Emulator, "copier", copier)
    monkeypatch.setattr(Emulator, "copy", counted)
    monkeypatch.setattr(Emulator, "check", check)
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda, offline_cache=False)
    return stand_in


class Bending:
    """A field that is overwritten in place."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f32, shape=N, needs_grad=True)
        loss = self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

        @qd.kernel
        def bend():
            for i in x:
                x[i] = x[i] * x[i]

        @qd.kernel
        def total():
            for i in x:
                loss[None] += x[i]

        self.bend, self.total = bend, total

    def tape(self) -> list[float]:
        self.x.fill(1.0)
        with qd.ad.Tape(self.loss):
            for _ in range(3):
                self.bend()
            self.total()
        gradient: list[float] = self.x.grad.to_numpy().tolist()
        return gradient


def test_what_is_overwritten_is_copied_by_machine_code(copies: Copies) -> None:
    bending = Bending()
    assert [bending.tape() for _ in range(3)] == [[8.0] * N] * 3
    assert copies.done == 2 * 3 * (1 + 3 + 1)  # kept, where the reverse mode finds it; exchanged; and put back


@pytest.mark.parametrize("allowed", range(15))
def test_a_copy_that_fails_is_an_error_and_the_next_tape_is_right(copies: Copies, allowed: int) -> None:
    bending = Bending()
    bending.tape()
    copies.left = allowed
    with pytest.raises(AdstackRuntimeError, match="copying memory of the device"):
        bending.tape()
    copies.left = 1 << 30
    assert [bending.tape() for _ in range(2)] == [[8.0] * N] * 2
