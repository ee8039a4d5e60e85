"""Loops over what is active: over all elements of a sparse field, those that are inactive left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...data.levels import Cells, Level
from ...ir.ops import LOAD, PLACE_WRITES
from ...ir.structure import Op, Region, Value
from ...ir.types import i32
from ...values.kinds import KernelObject
from ..emission.arrays import touch
from ..emission.context import Context
from ..emission.sparse import Element, is_active

__all__ = ["as_it_was", "for_active"]


def for_active(
    context: Context,
    cells: Sequence[Cells],
    offsets: Sequence[KernelObject],
    indices: Sequence[KernelObject],
    lower: Callable[[], None],
) -> Op:
    """Emit an `if` around what `lower` emits, for an element that may be inactive.

    Args:
        context: of the lowering.
        cells: in which the element lies.
        offsets: of the field.
        indices: of the element, as the program sees them.
        lower: emits what is done for an active one.

    Returns:
        the load of the word that tells whether it is active.
    """
    index = [i - o if o else i for i, o in zip(indices, offsets, strict=True)]
    test = is_active(cells[-1].level, cells[-1].cell(index))
    word = next(op for op in reversed(context.builder.region.ops) if op.opdef is LOAD)
    then, orelse = Region(), Region()
    with context.region(then), context.active.within(Element(cells, index, (tuple(offsets), *indices)).key):
        lower()
        context.builder.yield_()
    with context.builder.into(orelse):
        context.builder.yield_()
    context.builder.if_(test.value, then, orelse)
    return word


def as_it_was(context: Context, level: Level, word: Op, body: Region) -> None:
    """Let a parallel loop run over what is active when it begins, if its body activates or deactivates.

    Args:
        context: of the lowering, outside of the loop.
        level: the sparse level whose words tell what is active.
        word: the load of a word that the loop begins each iteration with.
        body: of the loop.
    """
    words = level.words.place.name
    if not any(op.opdef in PLACE_WRITES and op.attrs["place"].name == words for op in body.walk()):
        return
    before = touch(context, level.before)
    builder = context.builder
    copy = Region([Value(i32) for _ in before.shape])
    with builder.into(copy if before.shape else builder.region):
        builder.store(before, copy.args, builder.load(touch(context, level.words), copy.args))
    if before.shape:
        with builder.into(copy):
            builder.yield_()
        builder.parallel_for([(builder.const(0, i32), builder.const(n, i32)) for n in before.shape], copy)
    word.attrs = {**word.attrs, "place": before}
