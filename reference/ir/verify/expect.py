"""Small checks that the verifier's rules are made of; each failure names the op, what came, and what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...errors import IRError
from ..location import UNKNOWN, Loc
from ..structure import Op, Place, Region, Value
from ..types import INTS, DType, Type

__all__ = ["count", "fail", "index", "known", "owned_place", "results", "scalar", "spell", "typed", "yields"]


def known(loc: Loc) -> Loc | None:
    """`loc`, or None if it says nothing."""
    return None if loc is UNKNOWN or not loc.line else loc


def fail(op: Op, problem: str) -> NoReturn:
    """Raise IRError for `op`, at its source line."""
    raise IRError(f"{op.name}: {problem}", loc=known(op.loc))


def spell(types: Sequence[Type]) -> str:
    """Types as a message shows them."""
    return "(" + ", ".join(str(t) for t in types) + ")"


def count(op: Op, expected: int, what: str) -> None:
    """The op has `expected` operands; `what` says which."""
    if len(op.operands) != expected:
        fail(op, f"expected {expected} operands ({what}), got {len(op.operands)}")


def typed(op: Op, position: int, expected: Type) -> None:
    """The operand at `position` has the type `expected`."""
    got = op.operands[position].type
    if got != expected:
        fail(op, f"operand {position} must be {expected}, got {got}")


def index(op: Op, position: int) -> None:
    """The operand at `position` is an integer that can count (u1 can't)."""
    got = op.operands[position].type
    if got not in INTS:
        fail(op, f"operand {position} must be an integer (not u1), got {got}")


def scalar(op: Op, start: int, what: str) -> None:
    """The operands from `start` on are scalars: handles can't be passed on."""
    for position in range(start, len(op.operands)):
        got = op.operands[position].type
        if not isinstance(got, DType):
            fail(op, f"operand {position} ({what}) must be a scalar, got {got}")


def results(op: Op, expected: Sequence[Type]) -> None:
    """The op's results have exactly these types."""
    values = op.results
    if len(values) == len(expected) and all(v.type == t for v, t in zip(values, expected, strict=True)):
        return
    fail(op, f"expected results of types {spell(expected)}, got {spell([v.type for v in values])}")


def takes(op: Op, number: int, expected: Sequence[Type]) -> None:
    """Region `number` has arguments of exactly these types."""
    _match(op, f"region {number} must take", op.regions[number].args, expected)


def yields(op: Op, number: int, expected: Sequence[Type]) -> None:
    """Region `number` yields exactly these types."""
    _match(op, f"region {number} must yield", _end(op, op.regions[number]).operands, expected)


def _match(op: Op, what: str, values: Sequence[Value], expected: Sequence[Type]) -> None:
    got = [v.type for v in values]
    if got != list(expected):
        fail(op, f"{what} {spell(expected)}, got {spell(got)}")


def _end(op: Op, region: Region) -> Op:
    if not region.ops:
        fail(op, "a region is empty: expected it to end with yield")
    return region.ops[-1]


def owned_place(op: Op, places: dict[str, Place]) -> Place:
    """The op's place, which must be the one that the kernel lists under its name."""
    place = op.attrs["place"]
    if not isinstance(place, Place):
        fail(op, f"attribute 'place' must be a Place, got {place!r}")
    listed = places.get(place.name)
    if listed is not place and listed != place:
        got = "no place of that name" if listed is None else repr(listed)
        fail(op, f"@{place.name} must be listed among the kernel's places as {place!r}, got {got}")
    return place
