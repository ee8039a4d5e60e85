"""Arrays of the host among the arguments of a sequence's calls, as LLVM assembly: what they hold is noted.

Others may write them between two calls without a word. So what one holds is compared with what was noted before, and
copied where it differs; the reverse mode of the call reads that. The arrays themselves go to a list of Python's.
"""

from __future__ import annotations

from typing import Final

from .assembly import rows
from .record import word

__all__ = ["LENT", "LENT_CODE"]

_LENT: Final = ("argument", "slot", "bytes", "latest", "own", "where")
LENT: Final = {name: at for at, name in enumerate(_LENT)}
"""The words of an array.

argument: which argument of the call it is.
slot: the address of the word of the context that has its address.
bytes: how many it holds.
latest: the address of a word with the address of what it is compared with.
own: the address of memory that it is copied to where it differs; 0 if the call is not served then.
where: the address of the word that gets the address of what was noted: one that is written before the reverse mode.
"""

_NOTE: Final = f"""
{word("%slot", "ptr", "%row", LENT["slot"])}
{word("%bytes", "i64", "%row", LENT["bytes"])}
{word("%latest", "ptr", "%row", LENT["latest"])}
{word("%own", "ptr", "%row", LENT["own"])}
{word("%where", "ptr", "%row", LENT["where"])}
  %nothing = icmp eq i64 %bytes, 0
  br i1 %nothing, label %each.next, label %look
look:
  %data = load ptr, ptr %slot, align 8
  %before = load ptr, ptr %latest, align 8
  %difference = call i32 @memcmp(ptr %before, ptr %data, i64 %bytes)
  %same = icmp eq i32 %difference, 0
  br i1 %same, label %point, label %differs
differs:
  %none = icmp eq ptr %own, null
  br i1 %none, label %no, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %data, i64 %bytes, i1 false)
  br label %point
point:
  %noted = phi ptr [ %before, %look ], [ %own, %copy ]
  store ptr %noted, ptr %where, align 8
  br label %each.next"""

_KEEP: Final = f"""
{word("%argument", "i64", "%row", LENT["argument"])}
  %array.at = getelementptr ptr, ptr %args, i64 %argument
  %array = load ptr, ptr %array.at, align 8
  %failed = call i32 @PyList_Append(ptr %passed, ptr %array)
  %kept = icmp eq i32 %failed, 0
  br i1 %kept, label %each.next, label %clear"""

LENT_CODE: Final = f"""
declare i32 @memcmp(ptr, ptr, i64)

; note what arrays of the host hold; whether there is memory for that
define internal i1 @note_lent(ptr %lent, i64 %count) {{
entry:
  br label %each
{rows("%lent", len(LENT), "%count", _NOTE, then="yes")}
yes:
  ret i1 true
no:
  ret i1 false
}}

; the same, and put the arrays into a list; a list that could not grow has some too many, and gets none any more
define internal i1 @borrow(ptr %lent, i64 %count, ptr %passed, ptr %args) {{
entry:
  %noted = call i1 @note_lent(ptr %lent, i64 %count)
  br i1 %noted, label %each, label %no
{rows("%lent", len(LENT), "%count", _KEEP, then="yes")}
yes:
  ret i1 true
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}}
"""
"""`i1 @borrow(lent, count, passed, args)`: note what the arrays hold that are passed, and keep these in a list."""
