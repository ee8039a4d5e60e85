"""Launches of one tape that are passed the same memory as different arrays: refused where adjoints would be lost."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adstack as qd

Array = qd.types.ndarray(dtype=qd.f64, ndim=1)
"""What the kernels take."""


class World:
    """Kernels that write, and that read, arrays and a field."""

    def __init__(self) -> None:
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        f = self.f = qd.field(qd.f64, shape=4, needs_grad=True)
        f.fill(1.0)

        @qd.kernel
        def triple(a: Array):
            for i in a:
                a[i] = a[i] * 3.0

        @qd.kernel
        def squares(a: Array):
            for i in a:
                loss[None] += a[i] * a[i]

        @qd.kernel
        def triple_field():
            for i in f:
                f[i] = f[i] * 3.0

        @qd.kernel
        def squares_of_field():
            for i in f:
                loss[None] += f[i] * f[i]

        self.triple, self.squares, self.triple_field, self.squares_of_field = (
            *(triple, squares),
            *(triple_field, squares_of_field),
        )


SHARED = pytest.raises(qd.AdstackDataAccessError, match="share memory under one Tape, and the former is written")


@pytest.mark.library("torch")
@pytest.mark.parametrize("second", ["whole", "part", "part before"])
@pytest.mark.filterwarnings("default")
def test_tensors_over_one_memory_with_gradients_of_their_own(arch: str, second: str) -> None:
    torch: Any = import_module("torch")
    world, data = World(), torch.arange(1.0, 7.0, dtype=torch.float64)
    one = data[:4].detach().requires_grad_()
    other = (data[:4] if second == "whole" else data[2:]).detach().requires_grad_()
    if second == "part before":
        one, other = other, one
    for _ in range(2):
        with SHARED, qd.ad.Tape(world.loss):
            world.triple(one)
            world.squares(other)
    data.copy_(torch.arange(1.0, 7.0))
    with qd.ad.Tape(world.loss):
        world.triple(one)
        world.squares(one)
    assert one.grad.tolist() == [18.0 * value for value in ((3, 4, 5, 6) if second == "part before" else (1, 2, 3, 4))]


@pytest.mark.library("torch")
@pytest.mark.filterwarnings("default")
def test_tensors_side_by_side_and_tensors_that_are_read(arch: str) -> None:
    torch: Any = import_module("torch")
    world, data = World(), torch.ones(8, dtype=torch.float64)
    one, other = (part.detach().requires_grad_() for part in (data[:4], data[4:]))
    with qd.ad.Tape(world.loss):
        world.triple(one)
        for tensor in (one, other, other[1:].detach().requires_grad_()):
            world.squares(tensor)
    assert (one.grad.tolist(), other.grad.tolist()) == ([18.0] * 4, [2.0] * 4)


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("written", ["field", "view"])
def test_a_view_of_a_field(written: str) -> None:
    world = World()
    view = world.f.to_numpy(copy=False)
    with SHARED, qd.ad.Tape(world.loss):
        if written == "field":
            world.triple_field()
            world.squares(view)
        else:
            world.triple(view)
            world.squares_of_field()


def test_arrays_without_gradients_are_constants(arch: str) -> None:
    world, data = World(), np.ones(6)
    for _ in range(3):
        world.f.fill(1.0)
        with qd.ad.Tape(world.loss):
            world.triple_field()
            world.triple(data[:4])
            world.squares(data[2:])
            world.squares_of_field()
        assert world.f.grad.to_numpy().tolist() == [18.0] * 4
