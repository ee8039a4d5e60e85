"""Code that finds the rows of a task's adstacks in the heap: words of the table, or constants where they are known."""

from __future__ import annotations

from ..function.adstack_state import Rows
from ..function.values import FunctionWriter

__all__ = ["base_of", "capacity_of", "product", "word"]


def base_of(e: FunctionWriter, rows: Rows, part: int) -> str:
    """The bytes of one lane before a part of the heap (i64)."""
    if rows.words is None:
        assert rows.placement is not None
        return str(rows.placement.bases[part])
    return word(e, rows.words.bases + part)


def capacity_of(e: FunctionWriter, rows: Rows, group: int) -> str:
    """How many slots the stacks of a group have (i64)."""
    layout = rows.heap.groups[group]
    if layout.depth is None:
        return str(max(0, layout.constant))
    assert rows.words is not None
    return word(e, rows.words.capacities + group)


def word(e: FunctionWriter, at: int) -> str:
    """A word of the table (i64)."""
    return e.w.let(f"load i64, ptr {e.w.let(f'getelementptr i64, ptr %rows, i64 {at}')}, align 8")


def product(e: FunctionWriter, a: str, b: str) -> str:
    """The product of two i64, folded if both are literals."""
    if a.isdigit() and b.isdigit():
        return str(int(a) * int(b))
    if a == "1" or b == "1":
        return b if a == "1" else a
    return e.w.let(f"mul i64 {a}, {b}")
