"""Gradients of ndarrays that calls which are followed use: for everybody who looks they start from zero with these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from follow_kit import ARCHES, begin, begin_in_test, recorded_only, served

import adstack as qd

Array = qd.types.ndarray(qd.f64, 1)


@qd.kernel
def square(x: Array, y: Array):
    for i in x:
        y[i] = x[i] * x[i]


@qd.kernel
def total(y: Array, loss: Array):
    for i in y:
        loss[0] += y[i]


class World:
    """Two arrays of a chain, one beside it, and what was seen."""

    def __init__(self) -> None:
        self.x, self.y, self.beside = (qd.ndarray(qd.f64, 3, needs_grad=True) for _ in range(3))
        self.loss, self.seen = qd.ndarray(qd.f64, 1, needs_grad=True), list[Any]()
        self.x.fill(1.5)

    def tapes(self, between: Callable[[World], object]) -> list[Any]:
        """What is seen by several tapes that are alike; `between` the calls something else is done."""
        for _ in range(4):
            with qd.ad.Tape(self.loss) as tape:
                square(self.x, self.y)
                between(self)
                total(self.y, self.loss)
            self.seen.append([one.grad.to_numpy().tolist() for one in (self.x, self.y, self.beside)])
        assert served(tape) > 0 or not self.follows
        return self.seen

    follows = True


DEEDS: dict[str, Callable[[World], object]] = {
    "an element is read": lambda world: world.seen.append((world.x.grad[0], world.y.grad[1])),
    "all is read": lambda world: world.seen.append(world.x.grad.to_numpy().tolist()),
    "it is copied": lambda world: world.beside.copy_from(world.x.grad),
    "an element is written": lambda world: world.y.grad.__setitem__(0, 5.0),
    "all is written": lambda world: world.y.grad.from_numpy(np.arange(3.0)),
    "a kernel reads it": lambda world: square(world.x.grad, world.beside),
    "a kernel writes it": lambda world: square(world.beside, world.y.grad),
}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("deed", DEEDS)
def test_who_looks_between_calls_sees_what_recording_shows(
    deed: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_in_test(arch, monkeypatch)
    followed = World().tapes(DEEDS[deed])
    begin(arch)
    world = World()
    world.follows = False
    with recorded_only():
        assert world.tapes(DEEDS[deed]) == followed
