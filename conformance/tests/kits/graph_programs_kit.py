"""Programs whose kernels are called in graphs and outside, in any order, with accesses of the host in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import adstack as qd


class Program:
    """Kernels of every kind that is kept, on data of their own."""

    def __init__(self) -> None:
        x, y = qd.field(qd.i64, ()), qd.field(qd.i64, 100)
        self.x, self.y, self.a = x, y, qd.ndarray(qd.i64, 70)

        @qd.kernel
        def step(by: qd.i64):
            x[None] = x[None] * 3 + by

        @qd.kernel
        def spread(a: qd.types.ndarray(dtype=qd.i64, ndim=1), by: qd.i64):
            x[None] += by
            last = x[None]
            for i in a:
                a[i] = a[i] * 5 + last + i
            for i in y:
                y[i] += a[i % 70] - last

        @qd.kernel
        def some(n: qd.i32):
            for i in range(n):
                y[i] -= i * x[None]

        self.step, self.spread, self.some = step, spread, some

    def seen(self) -> list[Any]:
        """All data."""
        return [self.x[None], self.y.to_numpy().tolist(), self.a.to_numpy().tolist()]


def outcome(arch: Any, launches: Callable[[Program], None]) -> list[Any]:
    """What launches leave."""
    qd.init(arch=arch, offline_cache=False)
    program = Program()
    launches(program)
    return program.seen()


def drawn_graph(program: Program, draw: random.Random) -> Any:
    """A graph of calls that were drawn."""
    with qd.graph() as g:
        for _ in range(draw.randint(1, 12)):
            choice = draw.randrange(3)
            if choice == 0:
                program.step(draw.randrange(9))
            elif choice == 1:
                program.spread(program.a, draw.randrange(9))
            else:
                program.some(draw.randrange(100))
    return g


def drawn(program: Program) -> None:
    """Graphs, launches and accesses of the host in any order."""
    draw = random.Random(3)
    graphs = [drawn_graph(program, draw) for _ in range(3)]
    for _ in range(60):
        action = draw.randrange(6)
        if action < 3:
            graphs[action].launch()
        elif action == 3:
            program.step(2)
        elif action == 4:
            program.y[draw.randrange(100)] = draw.randrange(50)
        else:
            assert isinstance(program.x[None], int)
