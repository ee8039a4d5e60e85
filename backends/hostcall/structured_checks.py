"""Checks of arguments that have parts, as LLVM assembly: vectors, matrices, structs. `@take` checks each part."""

from __future__ import annotations

from typing import Final

from .assembly import rows
from .interpreter import TYPE
from .record import ARGUMENT, word, words

__all__ = ["TAKE_STRUCTURED"]

_ENTRY: Final = """
  %number = call ptr @PyList_GetItem(ptr %list, i64 %each.k)
  %taken = call i1 @take(ptr %record, ptr %row, ptr %number, ptr %overflow)
  br i1 %taken, label %each.next, label %no"""

_MATRIX: Final = f"""
; take the numbers in a list: false if there are not so many, or if one is not as expected
define internal i1 @entries(ptr %record, ptr %argument, ptr %list, ptr %overflow) {{
entry:
{word("%count", "i64", "%argument", ARGUMENT["high"])}
{word("%table", "ptr", "%argument", ARGUMENT["entries"])}
{words(list_type="ptr")}
{word("%type", "ptr", "%list", TYPE)}
  %exact = icmp eq ptr %type, %list_type
  br i1 %exact, label %count.them, label %no
count.them:
  %length = call i64 @PyList_Size(ptr %list)
  %as.many = icmp eq i64 %length, %count
  br i1 %as.many, label %each, label %no
{rows("%table", len(ARGUMENT), "%count", _ENTRY, then="yes", before="count.them")}
yes:
  ret i1 true
no:
  ret i1 false
}}

; take a vector or matrix, or a list for a vector: false if it is not of the kind and shape expected
define internal i1 @matrix(ptr %record, ptr %argument, ptr %value, ptr %type, ptr %overflow) {{
entry:
{word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
{word("%shape", "ptr", "%argument", ARGUMENT["shape"])}
{words(entries_name="ptr", shape_name="ptr")}
  %is.vector = icmp eq ptr %shape, null
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %look, label %plain
plain:
  br i1 %is.vector, label %list, label %no
list:
  %all = call i1 @entries(ptr %record, ptr %argument, ptr %value, ptr %overflow)
  ret i1 %all
look:
  br i1 %is.vector, label %inside, label %compare
compare:
  %alike = call i1 @attribute_equals(ptr %value, ptr %shape_name, ptr %shape)
  br i1 %alike, label %inside, label %no
inside:
  %list.inside = call ptr @PyObject_GetAttr(ptr %value, ptr %entries_name)
  %missing = icmp eq ptr %list.inside, null
  br i1 %missing, label %clear, label %these
clear:
  call void @PyErr_Clear()
  ret i1 false
these:
  %taken = call i1 @entries(ptr %record, ptr %argument, ptr %list.inside, ptr %overflow)
  call void @Py_DecRef(ptr %list.inside) ; the value holds it
  ret i1 %taken
no:
  ret i1 false
}}
"""

_MEMBER: Final = f"""
{word("%name", "ptr", "%row", ARGUMENT["name"])}
{word("%holds", "i64", "%row", ARGUMENT["holds"])}
{word("%before", "ptr", "%row", ARGUMENT["held"])}
  %member = call ptr @PyObject_GetAttr(ptr %value, ptr %name)
  %missing = icmp eq ptr %member, null
  br i1 %missing, label %clear, label %look
look:
  %taken = call i1 @take(ptr %record, ptr %row, ptr %member, ptr %overflow)
  %for.now = icmp eq i64 %holds, 0
  %is.free = icmp eq ptr %before, null ; else another thread is about to drop it
  %fine = and i1 %taken, %is.free
  %kept = xor i1 %for.now, true
  %held = and i1 %fine, %kept
  br i1 %held, label %hold, label %drop
hold:
  store ptr %member, ptr %before.at, align 8
  br label %each.next
drop:
  call void @Py_DecRef(ptr %member) ; the value holds it
  br i1 %fine, label %each.next, label %no"""

_STRUCT: Final = f"""
; take the members of a struct: false if it is not of the kind expected, or one of them is not
define internal i1 @struct(ptr %record, ptr %argument, ptr %value, ptr %type, ptr %overflow) {{
entry:
{word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
{word("%count", "i64", "%argument", ARGUMENT["high"])}
{word("%table", "ptr", "%argument", ARGUMENT["entries"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %each, label %no
{rows("%table", len(ARGUMENT), "%count", _MEMBER, then="yes")}
clear:
  call void @PyErr_Clear()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_HELD: Final = """
  %held.at = load ptr, ptr %row, align 8
  %held = load ptr, ptr %held.at, align 8
  %nothing = icmp eq ptr %held, null
  br i1 %nothing, label %each.next, label %drop
drop:
  store ptr null, ptr %held.at, align 8
  call void @Py_DecRef(ptr %held)
  br label %each.next"""

_LET_GO: Final = f"""
; let members of structs go that were held for a call; without the lock of launches, as objects may end here
define internal void @let_go(ptr %record) {{
entry:
{words(held="ptr", held_count="i64")}
  br label %each
{rows("%held", 1, "%held_count", _HELD.replace("%held", "%one"), then="done")}
done:
  ret void
}}
"""

TAKE_STRUCTURED: Final = "\n".join((_MATRIX, _STRUCT, _LET_GO))
"""`i1 @matrix(record, argument, value, type, overflow)`, and `@struct` alike: check all parts of an argument, and store
them. `@let_go(record)`: what was held of structs for a call is needed no longer.
"""
