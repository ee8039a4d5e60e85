"""What machine code does with the lock of the device's memory and stream, as LLVM assembly."""

from __future__ import annotations

from typing import Final

from .plan import plan_words

__all__ = ["LOCKING", "locked"]

LOCKING: Final = """
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyObject_CallNoArgs(ptr)
declare void @PyErr_Clear()
declare void @Py_DecRef(ptr)

; drop what a call of Python gave; whether it was a certain object
define internal i1 @gave(ptr %object, ptr %wanted) {
entry:
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %clear, label %drop
clear:
  call void @PyErr_Clear()
  ret i1 false
drop:
  call void @Py_DecRef(ptr %object)
  %same = icmp eq ptr %object, %wanted
  ret i1 %same
}
"""


def locked(body: str, codes: str, *, held: str) -> str:
    """Do something on `%state`, which `%plan` tells, with the lock: 1 if somebody else has it, else what that gives.

    Args:
        body: what is done; it begins at `look`, and jumps to `over`.
        codes: what is given at `over`, by the blocks in front of it.
        held: whether the caller has the lock, an i1.
    """
    return f"""
  br i1 {held}, label %look, label %lock
lock:
{plan_words(acquire="ptr", false="ptr", true="ptr")}
  %tried = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %acquire, ptr %false, ptr null)
  %free = call i1 @gave(ptr %tried, ptr %true)
  br i1 %free, label %look, label %no
{body}
over:
  %code = phi i64 {codes}
  br i1 {held}, label %done, label %unlock
unlock:
{plan_words(release="ptr")}
  %released = call ptr @PyObject_CallNoArgs(ptr %release)
  %ignored = call i1 @gave(ptr %released, ptr null)
  br label %done
done:
  ret i64 %code
no:
  ret i64 1
"""
