"""How far a long run is: a bar at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["EVERY", "progress"]

EVERY: Final = 15.0
"""Seconds between two lines where there is no terminal: a log stays short, and nobody thinks that the run hangs."""


@contextmanager
def progress(title: str, total: int, shown_on: Console, every: float = EVERY) -> Iterator[Callable[[str], None]]:
    """A function to call, from any thread, when one of `total` pieces of work is done, with what it belongs to."""
    if not shown_on.is_terminal:
        yield _lines(title, total, shown_on, every)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=shown_on, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda what: bar.update(task, advance=1, description=what)


def _lines(title: str, total: int, shown_on: Console, every: float) -> Callable[[str], None]:
    start = latest = time.monotonic()
    done = 0

    def advance(what: str) -> None:
        nonlocal latest, done
        done += 1
        now = time.monotonic()
        if now - latest >= every and done < total:
            latest = now
            shown_on.print(f"{title}: {done} of {total} ({what}) after {now - start:.0f} s", markup=False)

    return advance
