"""Commands noted in the rows of a list, as LLVM assembly."""

from __future__ import annotations

from typing import Final

from .layout import KERNEL, LIST, PROGRAM, ROW, loaded

__all__ = ["NOTE"]

NOTE: Final = f"""
; note a command in the next row of a list, if there is room
define internal void @note(ptr %list, i64 %kind, i64 %a, i64 %b, i64 %c, ptr %ctx) {{
entry:
{loaded("count", "%list", LIST)}{loaded("room", "%list", LIST)}{loaded("rows", "%list", LIST, "ptr")}
{loaded("programs", "%list", LIST, "ptr")}{loaded("program_count", "%list", LIST)}
  %notes.at = getelementptr i64, ptr %list, i64 {LIST["notes"]}
  %row = getelementptr [{len(ROW)} x i64], ptr %rows, i64 %count
  %fits = icmp slt i64 %count, %room
  br i1 %fits, label %kinds, label %full
kinds:
  %is.kernel = icmp eq i64 %kind, {KERNEL}
  br i1 %is.kernel, label %search, label %write
search:
  %k = phi i64 [ 0, %kinds ], [ %k.next, %other ]
  %left = icmp slt i64 %k, %program_count
  br i1 %left, label %look, label %full
look:
  %program = getelementptr [{len(PROGRAM)} x i64], ptr %programs, i64 %k
{loaded("function", "%program", PROGRAM)}
  %is.it = icmp eq i64 %function, %a
  br i1 %is.it, label %keep, label %other
other:
  %k.next = add i64 %k, 1
  br label %search
keep:
{loaded("size", "%program", PROGRAM)}{loaded("skip", "%program", PROGRAM)}
{loaded("words", "%list", LIST, "ptr")}{loaded("words_room", "%list", LIST)}
  %words.left = sub i64 %words_room, %size
  %words.fit = icmp sge i64 %words.left, 0
  br i1 %words.fit, label %copy, label %full
copy:
  %bytes = mul i64 %size, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %ctx, i64 %bytes, i1 false)
  %words.after = getelementptr i64, ptr %words, i64 %size
  store ptr %words.after, ptr %words.at, align 8
  store i64 %words.left, ptr %words_room.at, align 8
  br label %write
write:
  %its.words = phi ptr [ null, %kinds ], [ %words, %copy ]
  %its.size = phi i64 [ 0, %kinds ], [ %size, %copy ]
  %its.skip = phi i64 [ -1, %kinds ], [ %skip, %copy ]
{
    "".join(
        f"  %to{at} = getelementptr i64, ptr %row, i64 {at}{chr(10)}  store {value}, ptr %to{at}, align 8{chr(10)}"
        for at, value in (
            (ROW["kind"], "i64 %kind"),
            (ROW["a"], "i64 %a"),
            (ROW["b"], "i64 %b"),
            (ROW["c"], "i64 %c"),
            (ROW["words"], "ptr %its.words"),
            (ROW["size"], "i64 %its.size"),
            (ROW["skip"], "i64 %its.skip"),
        )
    )
}
  %count.next = add i64 %count, 1
  store i64 %count.next, ptr %count.at, align 8
  ret void
full:
  store i64 -1, ptr %notes.at, align 8
  ret void
}}
"""
