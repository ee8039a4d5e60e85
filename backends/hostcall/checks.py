"""Checks of a call's arguments, and of what a kernel was compiled with, as LLVM assembly.

They are exact: what they let pass is what Python would have passed on as it is. All else is the business of Python.
"""

from __future__ import annotations

from typing import Final

from .argument_checks import TAKE_ARGUMENT
from .assembly import rows
from .record import ARGUMENT, ATTRIBUTE, CONDITION, MEMO, word, words

__all__ = ["CHECKS"]


def _every(name: str, table: str, count: str, width: int, row: str, more: str = "") -> str:
    """A function of a record: whether something is true of every row of a table.

    Args:
        name: of the function.
        table: the record's word with the address of the rows.
        count: the one with their number.
        width: words of a row.
        row: looks at `%row`, the `%each.k`th one, and branches to `%each.next` or `%no`.
        more: what else the function takes.
    """
    return f"""
define internal i1 @{name}(ptr %record{more}) {{
entry:
  %overflow = alloca i32, align 4
{words(**{table: "ptr", count: "i64"})}
  br label %each
{rows(f"%{table}", width, f"%{count}", row, then="yes")}
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


_ARGUMENTS: Final = """
  %value.at = getelementptr ptr, ptr %args, i64 %each.k
  %value = load ptr, ptr %value.at, align 8
  %taken = call i1 @take(ptr %record, ptr %row, ptr %value, ptr %overflow)
  br i1 %taken, label %each.next, label %no
"""

_ATTRIBUTES: Final = f"""
{word("%owner", "ptr", "%row", ATTRIBUTE["owner"])}
{word("%name", "ptr", "%row", ATTRIBUTE["name"])}
{word("%was", "ptr", "%row", ATTRIBUTE["value"])}
{word("%is.key", "i64", "%row", ATTRIBUTE["is_key"])}
  %in.dict = icmp ne i64 %is.key, 0
  br i1 %in.dict, label %key, label %attribute
key:
  %held = call ptr @PyDict_GetItemWithError(ptr %owner, ptr %name)
  %same.key = icmp eq ptr %held, %was
  br i1 %same.key, label %each.next, label %no.key
no.key:
  call void @PyErr_Clear()
  ret i1 false
attribute:
  %now = call ptr @PyObject_GetAttr(ptr %owner, ptr %name)
  %missing = icmp eq ptr %now, null
  br i1 %missing, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
  call void @Py_DecRef(ptr %now)
  %same = icmp eq ptr %now, %was
  br i1 %same, label %each.next, label %no
"""

_CONDITIONS: Final = f"""
{word("%address", "ptr", "%row", CONDITION["address"])}
{word("%other", "ptr", "%row", CONDITION["other"])}
{word("%value", "i64", "%row", CONDITION["value"])}
  %now = load i64, ptr %address, align 8
  %fixed = icmp eq ptr %other, null
  br i1 %fixed, label %same, label %less
same:
  %is.same = icmp eq i64 %now, %value
  br i1 %is.same, label %each.next, label %no
less:
  %then = load i64, ptr %other, align 8
  %is.less = icmp slt i64 %now, %then
  br i1 %is.less, label %each.next, label %no
"""

_DISTINCT: Final = f"""
{word("%one", "ptr", "%row", 0)}
{word("%other", "ptr", "%row", 1)}
  %first = load i64, ptr %one, align 8
  %second = load i64, ptr %other, align 8
  %equal = icmp eq i64 %first, %second
  br i1 %equal, label %no, label %each.next
"""

_MEMO: Final = f"""
{word("%address", "ptr", "%row", MEMO["address"])}
{word("%value", "i64", "%row", MEMO["value"])}
  %now = load i64, ptr %address, align 8
  %is.same = icmp eq i64 %now, %value
  br i1 %is.same, label %each.next, label %no
"""

_NOTE: Final = f"""
{word("%address", "ptr", "%row", MEMO["address"])}
  %now = load i64, ptr %address, align 8
  %value.at = getelementptr i64, ptr %row, i64 {MEMO["value"]}
  store i64 %now, ptr %value.at, align 8
  br i1 true, label %each.next, label %no
"""


def _add(counter: int, number: str) -> str:
    """Add to one of the counters."""
    return f"""
  %counter.{counter} = getelementptr i64, ptr %sizings, i64 {counter}
  %count.{counter} = load i64, ptr %counter.{counter}, align 8
  %sum.{counter} = add i64 %count.{counter}, {number}
  store i64 %sum.{counter}, ptr %counter.{counter}, align 8
"""


_SIZES: Final = f"""
; whether the depths stand that a launch would compute; if not, note what they depend on now
define internal i64 @stand(ptr %record) {{
entry:
{words(depths="ptr", memo="i64", sizings="ptr", reductions="i64")}
  %whose = load i64, ptr %depths, align 8
  %own = icmp eq i64 %whose, %memo
  br i1 %own, label %look, label %no
look:
  %same = call i1 @unmoved(ptr %record)
  br i1 %same, label %yes, label %no
no:
  %noted = call i1 @note(ptr %record)
{_add(1, "1")}
{_add(2, "%reductions")}
  ret i64 0
yes:
{_add(0, "1")}
  ret i64 1
}}
"""

CHECKS: Final = "\n".join(
    (
        TAKE_ARGUMENT,
        _every("arguments", "arguments", "count", len(ARGUMENT), _ARGUMENTS, ", ptr %args"),
        _every("unchanged", "attributes", "attribute_count", len(ATTRIBUTE), _ATTRIBUTES),
        _every("hold", "conditions", "condition_count", len(CONDITION), _CONDITIONS),
        _every("apart", "distinct", "distinct_count", 2, _DISTINCT),
        _every("unmoved", "memo", "memo_count", len(MEMO), _MEMO),
        _every("note", "memo", "memo_count", len(MEMO), _NOTE),
        _SIZES,
    )
)
"""`i1 @arguments(record, args)` takes a call's arguments. `@unchanged(record)`: attributes that the kernel was compiled
with are the objects that they were; `@hold(record)`: all conditions do; `@apart(record)`: words that must differ do.
`i64 @stand(record)`: whether depths of adstacks need not be computed.
"""
