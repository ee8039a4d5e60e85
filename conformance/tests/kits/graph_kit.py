"""What the tests of graphs share: gradients of loops whose bounds are in memory, in a graph and without one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sizing_kit import gated as gated_loop

import adstack as qd

MANY = 40


def repeated(call: Any) -> int:
    """How many graphs the device repeated in a call."""
    before = qd.stats()["graph_launches"]
    call()
    return qd.stats()["graph_launches"] - before


def seeding(x: Any, y: Any) -> Any:
    """A kernel that sets the gradients for a reverse pass from y to x."""

    @qd.kernel
    def seed():
        for i in x:
            x.grad[i], y.grad[i] = 0.0, 1.0

    return seed


def bounding(turns: Any, wanted: Any) -> Any:
    """A kernel that sets the bounds of all iterations."""

    @qd.kernel
    def bound():
        for i in turns:
            turns[i] = wanted[None]

    return bound


def squaring(dtype: Any = qd.f32, size: int = MANY) -> tuple[Any, Any, Any]:
    """Two fields and a kernel between them, which squares each number as often as it is told."""
    x, y = (qd.field(dtype, size, needs_grad=True) for _ in range(2))

    @qd.kernel
    def square(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * s
            y[i] = s

    return x, y, square


def slowly_falling(dtype: Any = qd.f64, size: int = 2) -> tuple[Any, Any, Any]:
    """Two fields and a kernel between them, with a loop so slow that gradients of thousands of turns are not zero."""
    x, y = (qd.field(dtype, size, needs_grad=True) for _ in range(2))

    @qd.kernel
    def run(turns: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(turns):
                v = v - 0.0005 * v * v
            y[i] = v

    x.from_numpy(np.linspace(0.75, 0.5, size).astype(x.to_numpy().dtype))
    return x, y, run


class Loops:
    """Gradients of loops whose trip counts are in memory; with `gated` only iterations that run keep anything."""

    def __init__(self, arch: Any, *, gated: bool = False, **options: Any) -> None:
        qd.init(arch=arch, offline_cache=False, **options)
        self.x, self.y = (qd.field(qd.f32, MANY, needs_grad=True) for _ in range(2))
        self.turns, self.wanted = qd.field(qd.i32, MANY), qd.field(qd.i32, ())
        x, y, turns = self.x, self.y, self.turns

        @qd.kernel
        def run():
            for i in x:
                s = x[i]
                for _ in range(turns[i]):
                    s = 0.5 * s * s + 0.25 * s
                y[i] = s

        self.run = gated_loop(x, y, turns) if gated else run
        self.seed, self.bound = seeding(x, y), bounding(turns, self.wanted)
        x.from_numpy(np.linspace(0.1, 0.9, MANY, dtype=np.float32))

    def graph(self, *, bounding: bool = False) -> Any:
        with qd.graph() as g:
            if bounding:
                self.bound()
            self.run()
            self.seed()
            self.run.grad()
        return g

    def gradient(self, turns: Any) -> bytes:
        """Without a graph."""
        self.turns.from_numpy(np.broadcast_to(np.array(turns, np.int32), MANY))
        self.run()
        self.seed()
        self.run.grad()
        return self.x.grad.to_numpy().tobytes()
