"""How many Python functions a launch and its gradient call under a tape: `python -m adstack.tools.python_calls`.

Counts are of whole iterations over tapes of two lengths; their difference, over that of the lengths, is what one more
launch takes with its gradient. They repeat exactly where times do not.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Final, TypeAlias

import click

import adstack as qd

__all__ = ["counted", "per_launch", "taped"]

Functions: TypeAlias = "Counter[CodeType]"

SHORT: Final = 50
WARM: Final = 4
"""Iterations before the one that is counted: the first compile, and later ones may still learn."""


def counted(run: Callable[[], object]) -> Functions:
    """How often each Python function is called by this thread in `run()`."""
    calls: Functions = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    del calls[run.__code__ if hasattr(run, "__code__") else counted.__code__]
    return calls


def taped(length: int) -> Callable[[], None]:
    """An iteration of `length` launches under a tape; the language has been initialised."""
    x = qd.field(qd.f32, shape=length + 1, needs_grad=True)
    y = qd.field(qd.f32, shape=(), needs_grad=True)
    x.fill(0.5)

    @qd.kernel
    def step(t: qd.i32) -> None:
        x[t + 1] = x[t] * x[t]

    @qd.kernel
    def last() -> None:
        y[None] += x[length]

    def iteration() -> None:
        with qd.ad.Tape(loss=y):
            for t in range(length):
                step(t)
            last()

    return iteration


def per_launch(make: Callable[[int], Callable[[], object]], short: int = SHORT) -> Functions:
    """How often each function is called for one launch more, with its gradient, in tapes that have been run before.

    Args:
        make: an iteration with so many launches.
        short: launches of the shorter tape; the other one has twice as many.
    """
    counts = []
    for length in (short, 2 * short):
        iteration = make(length)
        for _ in range(WARM):
            iteration()
        counts.append(counted(iteration))
    fewer, more = counts
    return Counter(
        {code: (count - fewer[code]) // short for code, count in more.items() if count - fewer[code] >= short}
    )


@click.command()
@click.option("--arch", default="cpu", show_default=True)
def main(arch: str) -> None:
    """Print the functions that a launch and its gradient call under a tape, the most frequent first."""
    qd.init(arch=arch)
    calls = per_launch(taped)
    for code, count in calls.most_common():
        click.echo(f"{count:4} {code.co_name} ({code.co_filename}:{code.co_firstlineno})")
    click.echo(f"{sum(calls.values()):4} in all")


if __name__ == "__main__":
    main()
