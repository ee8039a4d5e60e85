"""Calls served while the next call of a sequence is known, as LLVM assembly.

A tape has learned which calls come, in which order. As long as each call is the next one, on the same memory and with
the same integers, `@adstack_follow` keeps what the sequence says must be kept, launches, and notes the floats of the
call: that is all the record that reverse mode needs. Every other call is left to Python, which finds how far the
sequence came.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.threads.guards import ASKING, FOLLOWED, REWIRED

from .assembly import rows
from .record import word
from .serving import serving

__all__ = ["CALL", "FOLLOW", "SEQUENCE"]

_SEQUENCE: Final = ("thread", "asks", "rewired", "position", "calls", "count", "torn", "passed")
SEQUENCE: Final = {name: at for at, name in enumerate(_SEQUENCE)}
"""The words of a sequence that is followed.

thread: the identifier of the thread that follows it.
asks: how many contexts (tapes, graphs, ...) may be active that make calls ask Python.
rewired: the value that the word `REWIRED` must have.
position: how many calls of the sequence have been served.
calls, count: the address of the table of its calls (`CALL`), and how many there are.
torn: 1 if the last call did not finish.
passed: the address of the list of Python's that gets the arrays of the host that are passed.
"""

_CALL: Final = (
    *("record", "same", "same_count", "floats", "float_count"),
    *("mover", "moves", "move_count", "unmoved", "lent", "lent_count"),
)
CALL: Final = {name: at for at, name in enumerate(_CALL)}
"""The words of a call of a sequence; each table has its number of rows in the word `..._count`.

record: the address of the record of the builtin that serves it.
same: the table of (address, value) pairs: words of the context that must have the values that were learned.
floats: the table of (address, target) pairs: words of the context that are copied to a target.
mover, moves: what moves memory before the launch, and its table, as in a step (see `run.STEP`); 0 if nothing does.
unmoved: the callable of Python's that is called with what the mover gave where it has not moved the memory: it does
    so, or raises.
lent: the table of arrays of the host among the arguments, see `lent.LENT`.
"""

_SAME: Final = """  %address = load ptr, ptr %row, align 8
  %value.at = getelementptr i64, ptr %row, i64 1
  %value = load i64, ptr %value.at, align 8
  %now = load i64, ptr %address, align 8
  %same = icmp eq i64 %now, %value
  br i1 %same, label %each.next, label %no"""

_NOTED: Final = """  %address = load ptr, ptr %row, align 8
  %target.at = getelementptr i64, ptr %row, i64 1
  %target = load ptr, ptr %target.at, align 8
  %now = load i64, ptr %address, align 8
  store i64 %now, ptr %target, align 8
  br label %each.next"""

_PAIRS: Final = f"""
; whether the words at some addresses have some values
define internal i1 @as_learned(ptr %pairs, i64 %count) {{
entry:
  br label %each
{rows("%pairs", 2, "%count", _SAME, then="yes")}
yes:
  ret i1 true
no:
  ret i1 false
}}

; copy the words at some addresses to others
define internal void @note_words(ptr %pairs, i64 %count) {{
entry:
  br label %each
{rows("%pairs", 2, "%count", _NOTED, then="done")}
done:
  ret void
}}
"""

_LOOK: Final = f"""
{word("%sequence", "ptr", "%guard", FOLLOWED)}
  %nobody = icmp eq ptr %sequence, null
  br i1 %nobody, label %other, label %read
read:
{word("%thread", "i64", "%sequence", SEQUENCE["thread"])}
{word("%asks", "i64", "%sequence", SEQUENCE["asks"])}
{word("%position", "i64", "%sequence", SEQUENCE["position"])}
{word("%calls", "ptr", "%sequence", SEQUENCE["calls"])}
{word("%calls.count", "i64", "%sequence", SEQUENCE["count"])}
{word("%asking", "i64", "%guard", ASKING)}
{word("%rewired", "i64", "%sequence", SEQUENCE["rewired"])}
{word("%rewired.now", "i64", "%guard", REWIRED)}
  %ok.thread = icmp eq i64 %thread, %me
  %ok.asks = icmp eq i64 %asks, %asking
  %ok.left = icmp slt i64 %position, %calls.count
  %ok.wires = icmp eq i64 %rewired, %rewired.now
  %ok.1 = and i1 %ok.thread, %ok.asks
  %ok.2 = and i1 %ok.left, %ok.wires
  %ok = and i1 %ok.1, %ok.2
  br i1 %ok, label %expect, label %other
expect:
  %row = getelementptr [{len(CALL)} x i64], ptr %calls, i64 %position
{word("%expected", "ptr", "%row", CALL["record"])}
  %is.next = icmp eq ptr %expected, %record
  br i1 %is.next, label %conditions, label %other"""

_COMPARE: Final = f"""
{word("%same", "ptr", "%row", CALL["same"])}
{word("%same.count", "i64", "%row", CALL["same_count"])}
  %learned = call i1 @as_learned(ptr %same, i64 %same.count)
  br i1 %learned, label %borrow, label %unlock
borrow:
{word("%lent", "ptr", "%row", CALL["lent"])}
{word("%lent.count", "i64", "%row", CALL["lent_count"])}
{word("%passed", "ptr", "%sequence", SEQUENCE["passed"])}
  %borrowed = call i1 @borrow(ptr %lent, i64 %lent.count, ptr %passed, ptr %args)
  br i1 %borrowed, label %go, label %unlock"""

_AHEAD: Final = f"""
{word("%floats", "ptr", "%row", CALL["floats"])}
{word("%float.count", "i64", "%row", CALL["float_count"])}
{word("%mover", "ptr", "%row", CALL["mover"])}
  call void @note_words(ptr %floats, i64 %float.count)
  %torn.at = getelementptr i64, ptr %sequence, i64 {SEQUENCE["torn"]}
  store i64 1, ptr %torn.at, align 8
  %still.there = icmp eq ptr %mover, null
  br i1 %still.there, label %moved, label %move
move:
{word("%moves", "ptr", "%row", CALL["moves"])}
{word("%move.count", "i64", "%row", CALL["move_count"])}
  %move.code = call i64 %mover(ptr %moves, i64 %move.count)
  %is.moved = icmp eq i64 %move.code, 0
  br i1 %is.moved, label %moved, label %move.otherwise
move.otherwise:
{word("%unmoved", "ptr", "%row", CALL["unmoved"])}
  %move.told = call ptr @PyLong_FromLongLong(i64 %move.code)
  %moved.late = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %unmoved, ptr %move.told, ptr null)
  call void @Py_DecRef(ptr %move.told)
  %move.failed = icmp eq ptr %moved.late, null
  br i1 %move.failed, label %stop, label %move.drop
move.drop:
  call void @Py_DecRef(ptr %moved.late)
  br label %moved
moved:"""

FOLLOW: Final = _PAIRS + serving(
    "adstack_follow",
    look=_LOOK,
    still="""
  %asking.locked = load i64, ptr %asking.at, align 8
  %sequence.locked = load ptr, ptr %sequence.at, align 8
  %still.asks = icmp eq i64 %asks, %asking.locked
  %still.followed = icmp eq ptr %sequence, %sequence.locked
  %still.serves = and i1 %still.asks, %still.followed""",
    compare=_COMPARE,
    ahead=_AHEAD,
    done="""
  store i64 0, ptr %torn.at, align 8
  %position.next = add i64 %position, 1
  store i64 %position.next, ptr %position.at, align 8""",
)
"""`adstack_follow`, a function of Python's like `adstack_call`, with the same `self`."""
