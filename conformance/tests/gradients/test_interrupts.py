"""Interrupts while what is overwritten is being kept: no gradient is wrong after them, whatever they broke off."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

import adstack as qd


@contextmanager
def interrupted(room: str, lines: list[int]) -> Iterator[None]:
    """Raise KeyboardInterrupt before one of the lines that run in files of a room: how many are left is counted."""

    def line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and lines[0] >= 0:
            lines[0] -= 1
            if lines[0] < 0:
                raise KeyboardInterrupt
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: line if room in frame.f_code.co_filename else None)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        sys.settrace(before)


def test_a_write_that_was_broken_off_and_done_again_is_seen() -> None:
    """Wherever an interrupt comes while what is overwritten is being kept."""
    qd.init(arch=qd.reference)
    x, y = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def square():
        for _ in range(1):
            y[None] += x[1] * x[1]

    for at in range(0, 300, 7):
        square()
        x[1] = 2.0
        square()
        lines = [at]
        with interrupted("/runtime/memory/", lines):
            x[1] = 3.0
        x[1] = 4.0
        with pytest.raises(qd.AdstackDataAccessError, match=r"2\.0; it was changed to 4\.0"):
            square.grad()
        if lines[0] >= 0:
            break
    else:
        raise AssertionError("a write takes more lines than that")
    assert at > 10
