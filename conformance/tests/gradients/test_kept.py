"""`.grad()` outside a Tape: what launches keep of what they and later ones overwrite, in one piece and in several."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.gradients.launches import kept
from adstack.gradients.launches.records import records_of


@pytest.fixture(params=["reference", "cpu"])
def arch(request: Any) -> str:
    name: str = request.param
    return name


X, Y = np.array([0.5, 0.75, -1.25]), np.array([1.5, -0.5, 0.25])


class Weaving:
    """Three loops, each of which overwrites what the one before has read: x = x y, y = y x, x = x y."""

    def __init__(self, arch: str, takes_arguments: bool) -> None:
        qd.init(arch=arch, default_fp=qd.f64)
        self.x, self.y = x, y = [qd.field(qd.f64, shape=3, needs_grad=True, name=name) for name in "xy"]
        self.kernel = _scaled(x, y) if takes_arguments else _plain(x, y)
        self.args = (1.0,) if takes_arguments else ()

    def run(self) -> None:
        self.x.from_numpy(X)
        self.y.from_numpy(Y)
        self.kernel(*self.args)

    def check(self) -> None:
        """The launch leaves x y (x y y) and x y y: their sum is differentiated."""
        self.x.grad.fill(1.0)
        self.y.grad.fill(1.0)
        self.kernel.grad(*self.args)
        assert np.allclose(self.x.grad.to_numpy(), 2 * X * Y**3 + Y**2, rtol=1e-14)
        assert np.allclose(self.y.grad.to_numpy(), 3 * X**2 * Y**2 + 2 * X * Y, rtol=1e-14)


def _plain(x: Any, y: Any) -> Any:
    @qd.kernel
    def plain():
        for i in x:
            x[i] = x[i] * y[i]
        for i in x:
            y[i] = y[i] * x[i]
        for i in x:
            x[i] = x[i] * y[i]

    return plain


def _scaled(x: Any, y: Any) -> Any:
    @qd.kernel
    def scaled(by: qd.f64):
        for i in x:
            x[i] = x[i] * y[i] * by
        for i in x:
            y[i] = y[i] * x[i]
        for i in x:
            x[i] = x[i] * y[i]

    return scaled


@pytest.mark.parametrize("takes_arguments", [False, True])
def test_a_piece_reads_what_a_later_one_overwrites(arch: str, takes_arguments: bool) -> None:
    weaving = Weaving(arch, takes_arguments)
    weaving.run()
    weaving.check()


@pytest.mark.parametrize("takes_arguments", [False, True])
def test_what_a_piece_has_read_is_kept_through_many_writes(arch: str, takes_arguments: bool) -> None:
    """Each turn another launch reads, so that memory keeps one state more, until it drops those that nobody needs."""
    weaving = Weaving(arch, takes_arguments)
    x, y, total = weaving.x, weaving.y, qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def read():
        for i in x:
            total[None] += x[i] * y[i]

    weaving.run()
    for turn in range(12):
        read()
        y.fill(float(turn))
        x.fill(float(-turn))
    weaving.check()


def test_a_launch_keeps_in_the_memory_in_which_the_one_before_has_kept(arch: str, monkeypatch: Any) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    x = qd.field(qd.f64, shape=4, needs_grad=True)

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    x.fill(1.0)
    square()
    square()
    monkeypatch.setattr(kept, "Buffer", None)  # no more is taken
    for _ in range(3):
        x.fill(3.0)
        square()
    monkeypatch.undo()
    x.grad.fill(1.0)
    square.grad()
    assert x.grad[0] == 6.0


def test_a_write_to_an_argument_leaves_calls_to_machine_code() -> None:
    """What is not the same memory in every call is looked at when the gradient is asked for."""
    qd.init(arch=qd.cpu, default_fp=qd.f64)
    x, y = (qd.ndarray(qd.f64, shape=4, needs_grad=True) for _ in range(2))
    z = qd.field(qd.f64, shape=4, needs_grad=True)

    @qd.kernel
    def square(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = x[i] * x[i] + z[i]

    for turn in range(4):
        x.fill(float(turn))
        square(x, y)
    (specialisation,) = (one for several in square._compiled.values() for one in several)
    assert not records_of(specialisation).notes


@pytest.mark.parametrize("takes_arguments", [False, True])
def test_a_launch_after_a_tape_is_known_again(arch: str, takes_arguments: bool) -> None:
    """The tape keeps for itself what its launches need; the later launch found what is overwritten afterwards."""
    qd.init(arch=arch, default_fp=qd.f64, ad_snapshot=True)
    x, y = (qd.field(qd.f64, shape=shape, needs_grad=True) for shape in (4, ()))

    @qd.kernel
    def plain():
        for i in x:
            y[None] += x[i] * x[i]

    @qd.kernel
    def scaled(by: qd.f64):
        for i in x:
            y[None] += x[i] * x[i] * by

    kernel, args = (scaled, (1.0,)) if takes_arguments else (plain, ())
    x.fill(2.0)
    with qd.ad.Tape(y):
        kernel(*args)
    kernel(*args)
    x.fill(5.0)
    x.grad.fill(0.0)
    y.grad[None] = 1.0
    kernel.grad(*args)
    assert x.grad.to_numpy().tolist() == [4.0] * 4


@pytest.mark.parametrize("memory", ["field", "ndarray"])
def test_a_launch_before_a_tape_is_not_taken_for_one_that_found_what_the_tape_found(arch: str, memory: str) -> None:
    """What it found has been overwritten since, and nothing was kept of it."""
    qd.init(arch=arch, default_fp=qd.f64)
    make = qd.field if memory == "field" else qd.ndarray
    x, y = make(qd.f64, 4, needs_grad=True), qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def squares(x: qd.template(), by: qd.f64):
        for i in range(4):
            y[None] += x[i] * x[i] * by

    x.fill(2.0)
    squares(x, 1.0)
    x.fill(5.0)
    with qd.ad.Tape(y):
        squares(x, 2.0)
    with pytest.raises(qd.AdstackDataAccessError):
        squares.grad(x, 1.0)


def test_records_of_arrays_that_are_gone_go_with_them(arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    y = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def squares(x: qd.types.ndarray(), by: qd.f64):
        for i in range(4):
            y[None] += x[i] * x[i] * by
            x[i] = 0.0

    arrays = [qd.ndarray(qd.f64, 4, needs_grad=True) for _ in range(8)]
    for array in arrays:
        squares(array, 1.0)
    del array
    arrays.clear()
    gc.collect()
    squares(qd.ndarray(qd.f64, 4, needs_grad=True), 1.0)
    (specialisation,) = (one for several in squares._compiled.values() for one in several)
    assert len(records_of(specialisation).numbers()) <= 2
