"""The rows of `throughput` in JAX: `python -m adstack.tools.device.peer_jax ARCH FILE`.

Reverse mode there needs loops of constant length, so the recurrence is a `lax.scan` and the gather goes over all 16
columns. Nothing is written in place: `nop` and `args` make arrays.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, TypeAlias

import numpy as np

from .rows import TURNS, Figures, Gather, Rows, apart, measured, recurrence_gradient, starts

Foreign: TypeAlias = Any
"""An object of another library, whose types are not at hand."""

__all__ = ["main"]


class Jax:
    """JAX, on the platform that the environment names."""

    def __init__(self, jax: Foreign) -> None:
        self.jax, self.np = jax, jax.numpy
        self._last: Foreign = None

    def sync(self) -> None:
        """Wait for what was asked for last; one device does everything in order."""
        self.jax.block_until_ready(self._last)

    def _row(self, function: Foreign, *args: Foreign) -> Foreign:
        compiled = self.jax.jit(function)

        def call() -> None:
            self._last = compiled(*args)

        return call

    def dispatch(self) -> Rows:
        """Arrays of one number."""
        array = self.np.zeros(16, np.float32)
        return {
            "nop": self._row(lambda: self.np.float32(1.0)),
            "args": self._row(lambda a, v: a.at[0].set(v), array, 2.0),
        }

    def recurrence(self) -> tuple[Rows, Figures]:
        """A scan."""

        def step(v: Foreign, _: Foreign) -> Foreign:
            return self.np.sin(v) * np.float32(0.9) + np.float32(0.1), None

        def run(x: Foreign) -> Foreign:
            return self.np.sum(self.jax.lax.scan(step, x, None, length=TURNS)[0])

        x = self.np.asarray(starts())
        return self._both(run, x, recurrence_gradient())

    def gather(self) -> tuple[Rows, Figures]:
        """A masked sum over all columns; the gradient is by both factors."""
        data = Gather()
        degree, column = self.np.asarray(data.degree), self.np.asarray(data.column)

        def products(both: Foreign) -> Foreign:
            x, w = both
            wanted = self.np.arange(16)[None, :] < degree[:, None]
            return self.np.sum(self.np.where(wanted, w[column], 0), axis=1) * x

        both = self.np.asarray(data.x), self.np.asarray(data.w)
        gradient = self.jax.grad(lambda both: self.np.sum(products(both)))
        rows = {"forward": self._row(products, both), "reverse": self._row(gradient, both)}
        rows["reverse"]()
        return rows, apart(np.asarray(self._last[0]), data.gradient())

    def _both(self, run: Foreign, x: Foreign, wanted: Foreign) -> tuple[Rows, Figures]:
        rows = {"forward": self._row(run, x), "reverse": self._row(self.jax.grad(run), x)}
        rows["reverse"]()
        return rows, apart(np.asarray(self._last), wanted)


def main(arch: str, file: str) -> int:
    """Write the figures, as JSON."""
    os.environ.setdefault("JAX_PLATFORMS", arch)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = importlib.import_module("jax")
    return measured(Jax(jax), "jax", jax.__version__, file)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
