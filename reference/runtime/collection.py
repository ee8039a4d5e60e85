"""Python's collector of cycles, paused while something is compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Within this block no cycles are looked for, unless others ask for it.

    What a compiler makes stays until it is done: to look through it again and again takes a third of its time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
