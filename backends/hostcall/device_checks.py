"""The check of a tensor in the memory of a device, as LLVM assembly.

A tensor has no record that could be looked at, so it is asked what may differ from call to call. What is asked, and who
is asked for its stream, are functions in C: no handler of a signal comes between.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.protocol.shortcuts import DEVICE_NAMES

from .assembly import rows
from .record import ARGUMENT, word, words

__all__ = ["TAKE_DEVICE"]

_MOST_AXES: Final = 32
"""Axes of the largest rank."""
_EQUAL: Final = 2
"""Py_EQ."""


def _asked(name: str, ask: str, compare: str) -> str:
    """A function of (value, name, wanted): whether what a value answers is what is wanted; an error is a no.

    Args:
        name: of the function.
        ask: calls for `%now`, a reference that it owns, or null.
        compare: sets `%same`.
    """
    return f"""
define internal i1 @{name}(ptr %value, ptr %name, ptr %wanted) {{
entry:
{ask}
  %missing = icmp eq ptr %now, null
  br i1 %missing, label %clear, label %look
clear:
  call void @PyErr_Clear()
  ret i1 false
look:
{compare}
  call void @Py_DecRef(ptr %now)
  ret i1 %same
}}
"""


_ATTRIBUTE: Final = "  %now = call ptr @PyObject_GetAttr(ptr %value, ptr %name)"
_METHOD: Final = "  %now = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %value, ptr %name, ptr null)"
_FUNCTION: Final = "  %now = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %value, ptr %name, ptr null)"
_IDENTITY: Final = "  %same = icmp eq ptr %now, %wanted"
_EQUALITY: Final = f"""
  %code = call i32 @PyObject_RichCompareBool(ptr %now, ptr %wanted, i32 {_EQUAL})
  %same = icmp eq i32 %code, 1
  call void @PyErr_Clear()"""

_EXTENT: Final = """
  %item = call ptr @PyTuple_GetItem(ptr %shape, i64 %each.k)
  %extent = call i64 @PyLong_AsLongLongAndOverflow(ptr %item, ptr %overflow)
  store i64 %extent, ptr %row, align 8
  br label %each.next"""

_SHAPE: Final = f"""
; store the extents of a tensor: false if there are not so many
define internal i1 @shape(ptr %value, ptr %name, i64 %rank, ptr %extents) {{
entry:
  %overflow = alloca i32, align 4
  %shape = call ptr @PyObject_GetAttr(ptr %value, ptr %name)
  %missing = icmp eq ptr %shape, null
  br i1 %missing, label %clear, label %count
clear:
  call void @PyErr_Clear()
  ret i1 false
count:
  %axes = call i64 @PyTuple_Size(ptr %shape)
  %same = icmp eq i64 %axes, %rank
  br i1 %same, label %each, label %drop
drop:
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %shape)
  ret i1 false
{rows("%extents", 1, "%rank", _EXTENT, then="done", before="count")}
done:
  call void @Py_DecRef(ptr %shape)
  ret i1 true
}}
"""

_DEVICE: Final = f"""
; take a tensor on a device: false if it is not of the kind expected, or others may work on it in another stream
define internal i1 @device(ptr %record, ptr %argument, ptr %value, ptr %type) {{
entry:
  %extents = alloca [{_MOST_AXES} x i64], align 8
{words(true="ptr", false="ptr", zero="ptr", modules="ptr", cupy="ptr")}
{words(**{f"ask_{name}": "ptr" for name in DEVICE_NAMES})}
{word("%wanted", "ptr", "%argument", ARGUMENT["tensor"])}
{word("%dtype", "ptr", "%argument", ARGUMENT["low"])}
{word("%rank", "i64", "%argument", ARGUMENT["high"])}
{word("%device", "ptr", "%argument", ARGUMENT["device"])}
{word("%number", "ptr", "%argument", ARGUMENT["number"])}
{word("%stream", "ptr", "%argument", ARGUMENT["stream"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %ask, label %no
ask:
  %plain = call i1 @attribute_is(ptr %value, ptr %ask_requires_grad, ptr %false)
  br i1 %plain, label %typed, label %no
typed:
  %is.typed = call i1 @attribute_is(ptr %value, ptr %ask_dtype, ptr %dtype)
  br i1 %is.typed, label %placed, label %no
placed:
  %is.placed = call i1 @attribute_equals(ptr %value, ptr %ask_device, ptr %device)
  br i1 %is.placed, label %dense, label %no
dense:
  %is.dense = call i1 @method_is(ptr %value, ptr %ask_is_contiguous, ptr %true)
  br i1 %is.dense, label %shaped, label %no
shaped:
  %is.shaped = call i1 @shape(ptr %value, ptr %ask_shape, i64 %rank, ptr %extents)
  br i1 %is.shaped, label %ordered, label %no
ordered:
  %is.ordered = call i1 @function_equals(ptr %stream, ptr %number, ptr %zero)
  br i1 %is.ordered, label %alone, label %no
alone:
  %loaded = call i32 @PyDict_Contains(ptr %modules, ptr %cupy)
  %is.alone = icmp eq i32 %loaded, 0
  br i1 %is.alone, label %address, label %no
address:
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %value, ptr %ask_data_ptr, ptr null)
  %missing = icmp eq ptr %answer, null
  br i1 %missing, label %clear, label %pass
clear:
  call void @PyErr_Clear()
  ret i1 false
pass:
  %data = call ptr @PyLong_AsVoidPtr(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  call void @pass(ptr %argument, ptr %data, ptr %extents)
  ret i1 true
no:
  ret i1 false
}}
"""

TAKE_DEVICE: Final = "\n".join(
    (
        _asked("attribute_is", _ATTRIBUTE, _IDENTITY),
        _asked("attribute_equals", _ATTRIBUTE, _EQUALITY),
        _asked("method_is", _METHOD, _IDENTITY),
        _asked("function_equals", _FUNCTION, _EQUALITY),
        _SHAPE,
        _DEVICE,
    )
)
"""`i1 @device(record, argument, value, type)`: check a tensor, and store its address and extents."""
