"""Recording copies of memory, as LLVM assembly: what `Stream.copy` does in Python.

`i64 copies(rows, count)` reads rows of words named in `COPY`.
"""

from __future__ import annotations

from typing import Final

from adstack.backends.hostcall.assembly import load, rows

from .locking import locked
from .plan import plan_words
from .state import BARRIER, LAUNCHES, state_words

__all__ = ["COPIES", "COPY"]

_WORDS: Final = ("plan", "source", "target", "source_mark", "target_mark", "start", "to", "size")
COPY: Final = {name: at for at, name in enumerate(_WORDS)}
"""The words of a copy: a plan, of which the state and the lock are looked at; two buffers, and where their memory notes
the batch; and a VkBufferCopy."""

_COPY: Final = f"""
{load("%source", "ptr", "%row", 8 * COPY["source"])}
{load("%target", "ptr", "%row", 8 * COPY["target"])}
{load("%source.mark", "ptr", "%row", 8 * COPY["source_mark"])}
{load("%target.mark", "ptr", "%row", 8 * COPY["target_mark"])}
  %region = getelementptr i64, ptr %row, i64 {COPY["start"]}
  call void %order(ptr %commands, {BARRIER}, ptr %between, i32 0, ptr null, i32 0, ptr null)
  call void %copy(ptr %commands, ptr %source, ptr %target, i32 1, ptr %region)
  store i64 %batch, ptr %source.mark, align 8
  store i64 %batch, ptr %target.mark, align 8
  br label %each.next"""

COPIES: Final = f"""
; record copies, all or none of them: 0 if it did, 1 if Python has to see to something first
define i64 @copies(ptr %rows, i64 %count) {{
entry:
  %plan = load ptr, ptr %rows, align 8
{plan_words(state="ptr")}
{
    locked(
        f'''look:
{state_words(commands="ptr", dispatches="i64", batch="i64", order="ptr", between="ptr", copy="ptr")}
  %open = icmp ne ptr %commands, null
  %dispatches.more = add i64 %dispatches, %count
  %fits = icmp ule i64 %dispatches.more, {LAUNCHES}
  %ready = and i1 %open, %fits
  br i1 %ready, label %go, label %over
go:
  call void @record(ptr %state)
  store i64 %dispatches.more, ptr %dispatches.at, align 8
  br label %each
{rows("%rows", len(COPY), "%count", _COPY, then="over", before="go")}''',
        "[ 1, %look ], [ 0, %each ]",
        held="false",
    )
}}}
"""
