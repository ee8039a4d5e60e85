"""Pieces of LLVM assembly that recur: loads of words, loops."""

from __future__ import annotations

__all__ = ["load", "loop", "rows"]


def load(result: str, kind: str, base: str, byte: int) -> str:
    """LLVM's assembly that loads a word of the type `kind` from `byte` bytes behind the address `base`, as `result`."""
    at = f"  {result}.at = getelementptr i8, ptr {base}, i64 {byte}\n"
    return f"{at}  {result} = load {kind}, ptr {result}.at, align {4 if kind == 'i32' else 8}"


def loop(name: str, count: str, body: str, then: str, before: str) -> str:
    """LLVM's assembly that does something for `%name.k` from 0 to a count; `body` ends in a jump to `name.next`.

    It begins at the label `name`, comes from the label `before`, and goes on at the label `then`.
    """
    return f"""{name}:
  %{name}.k = phi i64 [ 0, %{before} ], [ %{name}.more, %{name}.next ]
  %{name}.left = icmp slt i64 %{name}.k, {count}
  br i1 %{name}.left, label %{name}.body, label %{then}
{name}.body:
{body}
{name}.next:
  %{name}.more = add i64 %{name}.k, 1
  br label %{name}"""


def rows(table: str, width: int, count: str, row: str, *, then: str, before: str = "entry") -> str:
    """Go through a table from the block `before` on, which jumps to `each`, and on to `then` at its end.

    Args:
        table: the address of the rows.
        width: words of a row.
        count: how many rows there are.
        row: looks at `%row`, the `%each.k`th one, and jumps to `each.next`, or out of the loop.
        then: the block behind the loop.
        before: the block in front of it.
    """
    at = f"  %row = getelementptr [{width} x i64], ptr {table}, i64 %each.k\n"
    return loop("each", count, at + row, then, before)
