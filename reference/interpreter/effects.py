"""Steps that speak to the outside: `assert` and `print`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..ir import ops
from ..ir.structure import Op
from ..ir.texts import Format, Part, parts_of
from .failures import trapped
from .frame import Frame
from .prepare import Scope, Step, rule


@rule(ops.ASSERT)
def assert_(op: Op, scope: Scope) -> Step | None:
    """In debug mode, an error at the first lane whose condition is false; otherwise nothing."""
    if not scope.debug:
        return None
    condition, *arguments = scope.slots(op.operands)
    parts = parts_of(op.attrs["message"])

    def step(frame: Frame) -> None:
        holds = frame.values[condition]
        if not holds.all():
            at = int(np.argmin(frame.spread(holds)))
            row = [frame.spread(frame.values[slot])[at] for slot in arguments]
            raise trapped(text(parts, row), frame, at, op.loc)

    return step


@rule(ops.PRINT)
def print_(op: Op, scope: Scope) -> Step:
    """Write one text per lane, in lane order."""
    slots, parts = scope.slots(op.operands), op.attrs["parts"]

    def step(frame: Frame) -> None:
        columns = [frame.spread(frame.values[slot]) for slot in slots]
        rows: Iterable[Sequence[np.generic]] = zip(*columns, strict=True) if columns else [()] * frame.count
        frame.launch.write("".join(text(parts, row) for row in rows))

    return step


def text(parts: Iterable[Part], row: Sequence[np.generic]) -> str:
    """The parts, with the numbers of `row` where they stand for values."""
    numbers = iter(row)
    return "".join(part if isinstance(part, str) else _placed(next(numbers), part) for part in parts)


def _placed(number: np.generic, how: Format | None) -> str:
    """A number as Python prints it, or formats it; a specification without digits or notation only places it."""
    if how is None:
        return written(number)
    return format(float(written(number)) if how.keeps_digits and _is_float(number) else number.item(), how.spec)


def written(number: np.generic) -> str:
    """A number as Python prints it.

    A float is the shortest decimal that gives it back in its own precision: 0.1 of f32 is "0.1". u1 is True or False.
    """
    return repr(float(str(number))) if _is_float(number) else str(number)


def _is_float(number: np.generic) -> bool:
    return isinstance(number, np.floating)
