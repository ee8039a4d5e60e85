"""Runs of a kernel before and after something has changed that it was compiled with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Run

__all__ = ["scaled_runs"]


def scaled_runs(qd: Any, rate: Callable[[], Any], become_seven: Callable[[], object]) -> list[Run]:
    """Two runs of a kernel that scales by `rate()`, and of its gradient, each time until machine code serves it.

    Args:
        qd: the language.
        rate: what the kernel calls; a func, or a plain function. It gives 2.
        become_seven: lets it give 7.
    """
    x, y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def scale():  # type: ignore[no-untyped-def]
        for i in x:
            y[i] = x[i] * rate()

    def both() -> None:
        for _ in range(3):
            scale()
        scale.grad()

    def changed() -> None:
        become_seven()
        both()

    values = {x: [1, -3], x.grad: 0, y.grad: 1}
    return [
        Run(both, given=values, expect={y: [2, -6], x.grad: 2}),
        Run(changed, given=values, expect={y: [7, -21], x.grad: 7}),
    ]
