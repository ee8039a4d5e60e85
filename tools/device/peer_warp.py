"""The rows of `throughput` in NVIDIA Warp: `python -m adstack.tools.device.peer_warp ARCH FILE`.

Reverse mode there keeps nothing: what a loop carried is right only where the loop was unrolled, so that the number of
iterations of the recurrence is a constant here. Gradients are compared with numpy's, and the distance is reported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .rows import TURNS, Figures, Gather, N, Rows, apart, measured, recurrence_gradient, starts

Foreign: TypeAlias = Any
"""An object of another library, whose types are not at hand."""

__all__ = ["main"]


class Warp:
    """Warp on one device.

    Args:
        wp: the module.
        arch: cuda or cpu.
    """

    def __init__(self, wp: Foreign, arch: str) -> None:
        self.wp = wp
        wp.config.quiet = True
        wp.init()
        wp.set_device("cuda:0" if arch == "cuda" else "cpu")
        self.floats, self.ints = wp.array(dtype=wp.float32), wp.array(dtype=wp.int32)

    def sync(self) -> None:
        """Wait for everything."""
        self.wp.synchronize()

    def _array(self, values: Foreign) -> Foreign:
        return self.wp.array(values, requires_grad=np.asarray(values).dtype.kind == "f")

    def _kernel(self, function: Callable[..., None], *types: Foreign) -> Foreign:
        """A kernel whose parameters are of these types."""
        names = function.__code__.co_varnames
        function.__annotations__ = dict(zip(names, types, strict=False))
        return self.wp.kernel(function)

    def dispatch(self) -> Rows:
        """Stores of one number, without arguments and with."""
        wp = self.wp

        def nop(x: Foreign) -> None:
            x[0] = 1.0

        def args(x: Foreign, v: Foreign) -> None:
            x[0] = v

        first, second = self._kernel(nop, self.floats), self._kernel(args, self.floats, wp.float32)
        x = self._array(np.zeros(16, np.float32))
        return {
            "nop": lambda: wp.launch(first, dim=1, inputs=[x]),
            "args": lambda: wp.launch(second, dim=1, inputs=[x, 1.0]),
        }

    def recurrence(self) -> tuple[Rows, Figures]:
        """The loop unrolled, which is the only way to a right gradient."""
        wp = self.wp
        turns = wp.constant(TURNS)
        wp.set_module_options({"max_unroll": TURNS}, module=sys.modules[__name__])

        def run(x: Foreign, y: Foreign) -> None:
            i = wp.tid()
            v = x[i]
            for _ in range(turns):
                v = wp.sin(v) * 0.9 + 0.1
            wp.atomic_add(y, 0, v)

        kernel = self._kernel(run, self.floats, self.floats)
        x, y = self._array(starts()), self._array(np.zeros(1, np.float32))
        rows = self._both(kernel, [x], [y])
        rows["reverse"]()
        return rows, apart(x.grad.numpy(), recurrence_gradient())

    def gather(self) -> tuple[Rows, Figures]:
        """Sums of products, in a loop as long as memory says."""
        wp = self.wp

        def run(x: Foreign, w: Foreign, degree: Foreign, column: Foreign, y: Foreign) -> None:
            i = wp.tid()
            total = wp.float32(0.0)
            for j in range(degree[i]):
                total += w[column[i, j]] * x[i]
            y[i] = total

        table = wp.array2d(dtype=wp.int32)
        kernel = self._kernel(run, self.floats, self.floats, self.ints, table, self.floats)
        data = Gather()
        inputs = [self._array(part) for part in (data.x, data.w, data.degree, data.column)]
        rows = self._both(kernel, inputs, [self._array(np.zeros(N, np.float32))])
        rows["reverse"]()
        return rows, apart(inputs[0].grad.numpy(), data.gradient())

    def _both(self, kernel: Foreign, inputs: list[Foreign], outputs: list[Foreign]) -> Rows:
        launch = self.wp.launch
        ones = [self.wp.ones_like(y) for y in outputs]
        gradients = [x.grad for x in inputs]

        def forward() -> None:
            launch(kernel, dim=N, inputs=inputs, outputs=outputs)

        def reverse() -> None:
            launch(
                kernel,
                dim=N,
                inputs=inputs,
                outputs=outputs,
                adj_inputs=gradients,
                adj_outputs=ones,
                adjoint=True,
            )

        return {"forward": forward, "reverse": reverse}


def main(arch: str, file: str) -> int:
    """Write the figures, as JSON."""
    wp = importlib.import_module("warp")
    return measured(Warp(wp, arch), "warp", wp.__version__, file)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
