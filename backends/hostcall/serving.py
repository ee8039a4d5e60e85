"""The function of Python's by which machine code serves calls, as LLVM assembly: checks, launch, result."""

from __future__ import annotations

from .record import RECORD, words

__all__ = ["serving"]


def serving(name: str, *, look: str, still: str, compare: str, ahead: str = "", done: str = "") -> str:
    """A function of the METH_FASTCALL | METH_KEYWORDS kind that serves the calls which its record describes.

    It takes the lock of launches, and looks again at what may have changed until it had the lock: whatever runs
    Python's code may let other threads run, which may end the runtime.

    Args:
        name: of the function.
        look: whether such calls are served now: jumps to `conditions`, or to `other`, which leaves the call to Python.
            There are `%guard`, `%epoch`, the thread `%me`, how many arguments are `%given`, and `%names` of keywords.
        still: whether that holds with the lock: sets `%still.serves`.
        compare: whether the arguments, which have been taken, will do: jumps to `go`, or to `unlock`.
        ahead: what comes before the launch.
        done: what comes after the launch if it went well.
    """
    return _checks(name, look) + _locked(still, compare) + _launch(ahead, done)


def _checks(name: str, look: str) -> str:
    """The function as far as the lock: jumps to `other`, which leaves the call to Python, if it is of another kind."""
    return f"""
define ptr @{name}(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %record = call ptr @PyLong_AsVoidPtr(ptr %address)
{words(guard="ptr", epoch="i64", count="i64", lock="ptr")}
  %epoch.now = load i64, ptr %guard, align 8
  %me = call i64 @PyThread_get_thread_ident()
  %ok.epoch = icmp eq i64 %epoch, %epoch.now
  %ok.count = icmp eq i64 %given, %count
  %ok.names = icmp eq ptr %names, null
  %ok.now = and i1 %ok.epoch, %ok.count
  %ok.call = and i1 %ok.now, %ok.names
  br i1 %ok.call, label %look, label %other
look:
{look}
conditions:
  %hold = call i1 @hold(ptr %record) ; first: they say whether the owners of attributes are there
  br i1 %hold, label %attributes, label %other
attributes:
  %unchanged = call i1 @unchanged(ptr %record)
  br i1 %unchanged, label %lock.it, label %other
"""


def _locked(still: str, compare: str) -> str:
    """With the lock: jumps to `go` if the call may still be served, and its arguments are those of the record."""
    return f"""lock.it:
  %tried = cmpxchg ptr %lock, i64 0, i64 %me acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %mine, label %take, label %other
take:
  %epoch.locked = load i64, ptr %guard, align 8
  %still.epoch = icmp eq i64 %epoch, %epoch.locked
{still}
  %still = and i1 %still.epoch, %still.serves
  br i1 %still, label %serve, label %unlock
serve:
  %given.at = getelementptr i64, ptr %record, i64 {RECORD["given"]}
  store ptr %args, ptr %given.at, align 8
  %taken = call i1 @arguments(ptr %record, ptr %args)
  br i1 %taken, label %compare, label %unlock
compare:
{compare}
unlock:
  store atomic i64 0, ptr %lock release, align 8
  call void @let_go(ptr %record)
  br label %other
other:
  %served = call ptr @slow(ptr %self, ptr %args, i64 %given, ptr %names)
  ret ptr %served
"""


def _launch(ahead: str, done: str) -> str:
    """The rest of the function: launch, then raise what was reported, or return what the kernel returns."""
    return f"""go:
{ahead}
  call void @launch(ptr %self, ptr %record)
{words(errors="ptr", overflow="ptr")}
  %raised = call ptr @PyErr_Occurred()
  %stopped = icmp ne ptr %raised, null
  %error = load i64, ptr %errors, align 8
  %deep = load i64, ptr %overflow, align 8
  %reported = or i64 %error, %deep
  %failed = icmp ne i64 %reported, 0
  br i1 %stopped, label %stop, label %check
stop:
  store atomic i64 0, ptr %lock release, align 8
  call void @let_go(ptr %record)
  ret ptr null
check:
  br i1 %failed, label %fail, label %answer
fail:
  %raises = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %nothing = call ptr @PyObject_CallNoArgs(ptr %raises)
  store atomic i64 0, ptr %lock release, align 8
  call void @let_go(ptr %record)
  ret ptr %nothing
answer:
{done}
  %value = call ptr @result(ptr %record)
  store atomic i64 0, ptr %lock release, align 8
  call void @let_go(ptr %record)
  ret ptr %value
}}
"""
