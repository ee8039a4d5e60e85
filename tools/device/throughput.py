"""What launches cost and what kernels do: `python -m adstack.tools.device.throughput ARCH FILE [MODULE]`.

MODULE is an implementation of the language that this interpreter has: adstack, or a peer. Without it, it is adstack,
with other sizes of blocks, too.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Final

import adstack as qd
from adstack.conformance.harness.records import Record

from .rows import TURNS, Figures, Gather, N, Rows, apart, measured, recurrence_gradient, starts, timed

__all__ = ["main"]

_PEER_OPTIONS: Final = {"ad_stack_experimental_enabled": True, "ad_stack_size": 128}
"""What a peer needs for gradients of loops; adstack knows how deep its adstacks must be."""
LAUNCHES: Final = 100
"""In the graph that is measured."""


class Language:
    """An implementation of the language, started anew for each group of rows."""

    def __init__(self, arch: str, options: Record) -> None:
        self.arch, self.options = arch, options

    def sync(self) -> None:
        """Wait for everything."""
        qd.sync()

    def _start(self) -> None:
        qd.init(arch=getattr(qd, self.arch), **self.options)

    def dispatch(self) -> Rows:
        """Stores of one number, without arguments and with; a graph of launches, which only adstack records."""
        self._start()
        x, a = qd.field(qd.f32, shape=()), qd.ndarray(qd.f32, (16,))

        @qd.kernel
        def nop() -> None:
            x[None] = 1.0

        @qd.kernel
        def args(a: qd.types.ndarray(dtype=qd.f32, ndim=1), v: qd.f32) -> None:  # type: ignore[valid-type]
            a[0] = v

        rows: Rows = {"nop": nop, "args": lambda: args(a, 1.0)}
        if not self.options:
            with qd.graph() as graph:
                for _ in range(LAUNCHES):
                    nop()
            rows[f"a graph of {LAUNCHES} nop"] = graph.launch
        return rows

    def recurrence(self) -> tuple[Rows, Figures]:
        """A million threads of 64 steps."""
        self._start()
        x, y = qd.field(qd.f32, shape=N, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
        turns = qd.field(qd.i32, shape=())

        @qd.kernel
        def run() -> None:
            for i in x:
                v = x[i]
                for _ in range(turns[None]):
                    v = qd.sin(v) * 0.9 + 0.1
                y[None] += v

        x.from_numpy(starts())
        turns[None] = TURNS
        y.grad[None] = 1
        run()
        run.grad()
        return {"forward": run, "reverse": run.grad}, apart(x.grad.to_numpy(), recurrence_gradient())

    def gather(self) -> tuple[Rows, Figures]:
        """Rows of up to 16 products of gathered elements."""
        self._start()
        data = Gather()
        x, w = (qd.field(qd.f32, shape=N, needs_grad=True) for _ in range(2))
        y = qd.field(qd.f32, shape=N, needs_grad=True)
        degree, column = qd.field(qd.i32, shape=N), qd.field(qd.i32, shape=(N, 16))

        @qd.kernel
        def run() -> None:
            for i in x:
                total = 0.0
                for j in range(degree[i]):
                    total += w[column[i, j]] * x[i]
                y[i] = total

        for field, values in ((x, data.x), (w, data.w), (degree, data.degree), (column, data.column)):
            field.from_numpy(values)

        def reverse() -> None:
            y.grad.fill(1.0)  # what is overwritten has no gradient after a reverse pass
            run.grad()

        run()
        reverse()
        return {"forward": run, "reverse": reverse}, apart(x.grad.to_numpy(), data.gradient())


def blocks(arch: str) -> Record:
    """The recurrence with other numbers of threads in a block, where the arch has such a number."""
    if arch != "cuda":
        return {}
    from adstack.backends.cuda import building

    milliseconds, usual = {}, building.THREADS
    for threads in (64, 256):
        building.THREADS = threads  # type: ignore[misc]
        rows, _ = Language(arch, {}).recurrence()
        milliseconds[str(threads)] = {row: 1e3 * timed(call, qd.sync, 20) for row, call in rows.items()}
    building.THREADS = usual  # type: ignore[misc]
    return milliseconds


def main(arch: str, file: str, module: str = "") -> int:
    """Write the figures, as JSON, after each group of them."""
    name = module or "adstack"
    globals()["qd"] = importlib.import_module(name)
    measured(Language(arch, {} if name == "adstack" else _PEER_OPTIONS), name, _version(), file)
    if not module:
        figures = json.loads(Path(file).read_text())
        figures["blocks"] = blocks(arch)
        Path(file).write_text(json.dumps(figures, indent=1))
    return 0


def _version() -> str:
    version = qd.__version__
    return version if isinstance(version, str) else ".".join(map(str, version))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
