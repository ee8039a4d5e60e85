"""Carried values of `for` and `while`, wherever they stand: operands, region arguments, yields, results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from ...ir.opdef import OpDef
from ...ir.ops import FOR, WHILE
from ...ir.structure import Op, Value

__all__ = ["LOOPS", "Carried", "add_carried", "carried", "keep", "keep_carried", "keep_operands"]

T = TypeVar("T")


@dataclass(frozen=True)
class Layout:
    """Positions of the first carried value: among the operands; per region, among its arguments and its yields."""

    operand: int
    regions: tuple[tuple[int, int], ...]


LOOPS: Final[dict[OpDef, Layout]] = {FOR: Layout(2, ((1, 0),)), WHILE: Layout(0, ((0, 1), (0, 0)))}


@dataclass(frozen=True)
class Carried:
    """One carried value: `init` goes in, each region takes one of `args`, gives one of `yields`; `result` comes out."""

    init: Value
    args: tuple[Value, ...]
    yields: tuple[Value, ...]
    result: Value


def carried(op: Op) -> Iterator[Carried]:
    """The carried values of a loop, in order."""
    layout = LOOPS[op.opdef]
    for k, result in enumerate(op.results):
        args = tuple(region.args[at + k] for region, (at, _) in zip(op.regions, layout.regions, strict=True))
        yields = tuple(r.terminator.operands[at + k] for r, (_, at) in zip(op.regions, layout.regions, strict=True))
        yield Carried(op.operands[layout.operand + k], args, yields, result)


def keep(items: list[T], wanted: Sequence[bool], start: int = 0) -> None:
    """Drop the items from `start` on that are not wanted."""
    items[start:] = [item for item, stays in zip(items[start:], wanted, strict=True) if stays]


def keep_operands(op: Op, wanted: Sequence[bool], start: int = 0) -> None:
    """Drop the operands of an op from `start` on that are not wanted."""
    operands = list(op.operands)
    keep(operands, wanted, start)
    op.set_operands(operands)


def keep_carried(op: Op, wanted: Sequence[bool]) -> None:
    """Drop the carried values of a loop that are not wanted."""
    layout = LOOPS[op.opdef]
    keep_operands(op, wanted, layout.operand)
    keep(op.results, wanted)
    for region, (args, yields) in zip(op.regions, layout.regions, strict=True):
        keep(region.args, wanted, args)
        keep_operands(region.terminator, wanted, yields)


def add_carried(op: Op, init: Value, args: Sequence[Value], result: Value) -> None:
    """One more carried value, the last; its yields are the caller's to append."""
    op.append_operands((init,))
    op.define((result,))
    for region, arg in zip(op.regions, args, strict=True):
        region.define((arg,))
