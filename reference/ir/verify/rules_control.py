"""The verifier's rules for structured control flow, terminators, `assert` and `print`."""

from __future__ import annotations

from ..structure import Op, Place
from ..texts import Format, count, parts_of
from ..types import DType, Type, u1
from . import expect

Places = dict[str, Place]


def if_(op: Op, places: Places) -> None:
    """A u1; regions without arguments that yield the results."""
    expect.count(op, 1, "condition")
    expect.typed(op, 0, u1)
    types = _scalars(op, [v.type for v in op.results])
    for number in (0, 1):
        expect.takes(op, number, ())
        expect.yields(op, number, types)


def for_(op: Op, places: Places) -> None:
    """Bounds of one integer type; the region takes the index and the carried values and yields those."""
    if len(op.operands) < 2:
        expect.fail(op, f"expected at least 2 operands (lo, hi, initial carried values), got {len(op.operands)}")
    index = _range(op, 0)
    carried = _scalars(op, [v.type for v in op.operands[2:]])
    expect.takes(op, 0, [index, *carried])
    expect.yields(op, 0, carried)
    expect.results(op, carried)


def while_(op: Op, places: Places) -> None:
    """The condition region yields u1 and the carried values; the body takes and yields those."""
    carried = _scalars(op, [v.type for v in op.operands])
    for number in (0, 1):
        expect.takes(op, number, carried)
    expect.yields(op, 0, [u1, *carried])
    expect.yields(op, 1, carried)
    expect.results(op, carried)


def parallel_for(op: Op, places: Places) -> None:
    """Bounds per axis; the region takes the indices and yields nothing."""
    if not op.operands or len(op.operands) % 2:
        expect.fail(op, f"expected operands in pairs (lo, hi per axis), at least one, got {len(op.operands)}")
    expect.takes(op, 0, [_range(op, start) for start in range(0, len(op.operands), 2)])
    expect.yields(op, 0, ())
    expect.results(op, ())


def terminator(op: Op, places: Places) -> None:
    """What it passes on is compared with what is wanted by the rule of the op around it."""
    expect.scalar(op, 0, "a value passed on")
    expect.results(op, ())


def assert_(op: Op, places: Places) -> None:
    """A u1, then one argument per {} or {:spec} of the message."""
    message = op.attrs["message"]
    if not isinstance(message, str):
        expect.fail(op, f"attribute 'message' must be a str, got {message!r}")
    wanted = 1 + count(parts_of(message))
    expect.count(op, wanted, "condition, then one per {} of the message")
    expect.typed(op, 0, u1)
    expect.scalar(op, 1, "an argument of the message")
    expect.results(op, ())


def print_(op: Op, places: Places) -> None:
    """One operand per None or Format among the parts."""
    parts = op.attrs["parts"]
    if not isinstance(parts, tuple) or not all(part is None or isinstance(part, (str, Format)) for part in parts):
        expect.fail(op, f"attribute 'parts' must be a tuple of str, Format and None, got {parts!r}")
    expect.count(op, count(parts), "one per value among the parts")
    expect.scalar(op, 0, "a value printed")
    expect.results(op, ())


def _range(op: Op, start: int) -> Type:
    """The common integer type of the bounds at `start` and after it."""
    expect.index(op, start)
    expect.typed(op, start + 1, op.operands[start].type)
    return op.operands[start].type


def _scalars(op: Op, types: list[Type]) -> list[Type]:
    for t in types:
        if not isinstance(t, DType):
            expect.fail(op, f"carried values and results must be scalars, got {t}")
    return types
