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


def helpers(x: Any, y: Any, turns: Any, wanted: Any) -> tuple[Any, Any]:
    """Kernels that set the gradients for a reverse pass, and the bounds."""

    @qd.kernel
    def seed():
        for i in x:
            x.grad[i], y.grad[i] = 0.0, 1.0

    @qd.kernel
    def bound():
        for i in turns:
            turns[i] = wanted[None]

    return seed, bound


def slowly_falling() -> tuple[Any, Any, Any]:
    """Two fields and a kernel between them, with a loop so slow that gradients of thousands of turns are not zero."""
    x, y = (qd.field(qd.f64, 2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def run(turns: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(turns):
                v = v - 0.0005 * v * v
            y[i] = v

    x.from_numpy(np.array([0.75, 0.5]))
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
        self.seed, self.bound = helpers(x, y, turns, self.wanted)
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
