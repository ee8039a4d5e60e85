"""The way from a call in Python to a kernel's machine code, as LLVM assembly.

`@adstack_call` is a function of the METH_FASTCALL | METH_KEYWORDS kind. Its `self` is a tuple: the address of a
record, what serves the calls that it does not, what raises the error that a launch reported, and what goes on where the
heap must be laid out for a task. The record says what the arguments must be and where they go. Whatever is not as it
says - another type, a number out of range, memory that is gone, a keyword, a launch of another thread - is left to the
second item, which knows every rule and every error.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.threads.guards import ASKING

from .checks import CHECKS
from .follow import FOLLOW
from .lent import LENT_CODE
from .record import RESULTS, word, words
from .run import MOVES, REPEAT, RUN, SETTLE
from .serving import serving

__all__ = ["text"]

_DECLARATIONS: Final = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallMethodObjArgs(ptr, ptr, ...)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyDict_Contains(ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyTuple_Size(ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyThread_get_thread_ident()
"""


_SLOW: Final = """
define internal ptr @slow(ptr %self, ptr %args, i64 %count, ptr %names) {
entry:
  %serves = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %call, label %named
named:
  %dict = call ptr @PyDict_New()
  %failed = icmp eq ptr %dict, null
  br i1 %failed, label %give.up, label %size
give.up:
  ret ptr null
size:
  %named.count = call i64 @PyTuple_Size(ptr %names)
  br label %more
more:
  %k = phi i64 [ 0, %size ], [ %k.next, %put ]
  %left = icmp slt i64 %k, %named.count
  br i1 %left, label %put, label %with
put:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  %position = add i64 %count, %k
  %value.at = getelementptr ptr, ptr %args, i64 %position
  %value = load ptr, ptr %value.at, align 8
  %ignored = call i32 @PyDict_SetItem(ptr %dict, ptr %name, ptr %value)
  %k.next = add i64 %k, 1
  br label %more
with:
  %answer = call ptr @PyObject_VectorcallDict(ptr %serves, ptr %args, i64 %count, ptr %dict)
  call void @Py_DecRef(ptr %dict)
  ret ptr %answer
call:
  %served = call ptr @PyObject_VectorcallDict(ptr %serves, ptr %args, i64 %count, ptr null)
  ret ptr %served
}
"""


_LAUNCH: Final = f"""
; run the kernel; the interpreter's lock is held. Python goes on where it stops to have the heap laid out
define internal void @launch(ptr %self, ptr %record) {{
entry:
{words(written="ptr", written_count="i64")}
{RUN}
  %whole = icmp eq i64 %code, 0
  br i1 %whole, label %over, label %ask
ask:
  %goes.on = call ptr @PyTuple_GetItem(ptr %self, i64 3)
  %task = call ptr @PyLong_FromLongLong(i64 %code)
  %rest = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %goes.on, ptr %task, ptr null)
  call void @Py_DecRef(ptr %task)
  %raised = icmp eq ptr %rest, null
  br i1 %raised, label %over, label %drop
drop:
  call void @Py_DecRef(ptr %rest)
  br label %over
over:
  %complete = phi i1 [ true, %ran ], [ false, %ask ], [ true, %drop ]
  br label %more
more:
  %k = phi i64 [ 0, %over ], [ %k.next, %next ]
  %left = icmp slt i64 %k, %written_count
  br i1 %left, label %next, label %done
next:
  %word.at = getelementptr ptr, ptr %written, i64 %k
  %word = load ptr, ptr %word.at, align 8
  %times = load i64, ptr %word, align 8
  %once.more = add i64 %times, 1
  store i64 %once.more, ptr %word, align 8
  %k.next = add i64 %k, 1
  br label %more
done:
{SETTLE}
  ret void
}}
"""


def _integer(name: str) -> str:
    """Make an integer of Python of a result of an integer type."""
    bits, signed = int(name[1:]), name[0] == "i"
    wide = "%v." + name if bits == 64 else f"%w.{name}"
    widen = "" if bits == 64 else f"  {wide} = {'sext' if signed else 'zext'} i{bits} %v.{name} to i64\n"
    make = "PyLong_FromLongLong" if signed else "PyLong_FromUnsignedLongLong"
    return (
        f"{name}:\n  %v.{name} = load i{bits}, ptr %result, align 1\n{widen}"
        f"  %o.{name} = call ptr @{make}(i64 {wide})\n  ret ptr %o.{name}\n"
    )


_INTEGERS: Final = [name for name in RESULTS if name[0] in "iu" and name != "u1"]
_CASES: Final = "\n".join(f"    i64 {number}, label %{name}" for name, number in RESULTS.items() if number)

_RESULT: Final = f"""
define internal ptr @result(ptr %record) {{
entry:
{words(result_kind="i64", result="ptr", none="ptr")}
  switch i64 %result_kind, label %nothing [
{_CASES}
  ]
nothing:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
{"".join(map(_integer, _INTEGERS))}
f32:
  %single = load float, ptr %result, align 1
  %wide = fpext float %single to double
  %from.single = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %from.single
f64:
  %double = load double, ptr %result, align 1
  %from.double = call ptr @PyFloat_FromDouble(double %double)
  ret ptr %from.double
u1:
  %byte = load i8, ptr %result, align 1
  %set = icmp ne i8 %byte, 0
  %bit = zext i1 %set to i64
  %truth = call ptr @PyBool_FromLong(i64 %bit)
  ret ptr %truth
}}
"""


_CALL: Final = serving(
    "adstack_call",
    look=f"""
{word("%asks", "i64", "%guard", ASKING)}
  %idle = icmp eq i64 %asks, 0
  br i1 %idle, label %conditions, label %other""",
    still="""
  %asks.locked = load i64, ptr %asks.at, align 8
  %still.serves = icmp eq i64 %asks.locked, 0""",
    compare="""
  %apart = call i1 @apart(ptr %record)
  br i1 %apart, label %go, label %unlock""",
)


_LOCK: Final = """
; take the lock of launches: 0 if it was free, else who holds it
define i64 @adstack_begin(ptr %lock) {
  %me = call i64 @PyThread_get_thread_ident()
  %tried = cmpxchg ptr %lock, i64 0, i64 %me acquire monotonic
  %holder = extractvalue { i64, i1 } %tried, 0
  ret i64 %holder
}

; give the lock of launches back, if this thread has it
define void @adstack_end(ptr %lock) {
  %me = call i64 @PyThread_get_thread_ident()
  %tried = cmpxchg ptr %lock, i64 %me, i64 0 release monotonic
  ret void
}

; run a kernel without the interpreter's lock, from a task on
define i64 @adstack_run(ptr %run, ptr %ctx, i64 %from) {
  %saved = call ptr @PyEval_SaveThread()
  %code = call i64 %run(ptr %ctx, i64 %from)
  call void @PyEval_RestoreThread(ptr %saved)
  ret i64 %code
}
"""


def text() -> str:
    """The module."""
    return "\n".join((_DECLARATIONS, _SLOW, CHECKS, _LAUNCH, _RESULT, _CALL, _LOCK, MOVES, REPEAT, LENT_CODE, FOLLOW))
