"""Calls served while the next call of a sequence is known, as LLVM assembly.

A tape has learned which calls come, in which order. As long as each call is the next one, on the same memory and with
the same integers, `@adstack_follow` keeps what the sequence says must be kept, launches, and notes the floats of the
call: that is all the record that reverse mode needs. Every other call is left to Python, which finds how far the
sequence came.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.threads.guards import ASKING, FOLLOWED, REWIRED

from .record import RECORD, word, words

__all__ = ["CALL", "FOLLOW", "SEQUENCE"]

_SEQUENCE: Final = ("thread", "asks", "rewired", "position", "calls", "count", "torn")
SEQUENCE: Final = {name: at for at, name in enumerate(_SEQUENCE)}
"""The words of a sequence that is followed: by which thread, how many contexts may be in force that have calls ask
Python, what `REWIRED` must be; how many of the calls have been, where the rows of all are and how many, and whether the
last one has not come to its end."""

_CALL: Final = ("record", "same", "same_count", "floats", "float_count", "moves", "move_count")
CALL: Final = {name: at for at, name in enumerate(_CALL)}
"""The words of a call of a sequence: the record of what serves it; (address, value) of the words of the context that
must be as they were; (address, target) of those that are noted; the memory that is moved before the launch."""

_PAIRS: Final = """
; whether the words at some addresses have some values
define internal i1 @as_learned(ptr %pairs, i64 %count) {
entry:
  br label %more
more:
  %k = phi i64 [ 0, %entry ], [ %k.next, %fine ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %next, label %yes
next:
  %pair = getelementptr [2 x i64], ptr %pairs, i64 %k
  %address = load ptr, ptr %pair, align 8
  %value.at = getelementptr i64, ptr %pair, i64 1
  %value = load i64, ptr %value.at, align 8
  %now = load i64, ptr %address, align 8
  %same = icmp eq i64 %now, %value
  br i1 %same, label %fine, label %no
fine:
  %k.next = add i64 %k, 1
  br label %more
yes:
  ret i1 true
no:
  ret i1 false
}

; copy the words at some addresses to others
define internal void @note_words(ptr %pairs, i64 %count) {
entry:
  br label %more
more:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %next, label %done
next:
  %pair = getelementptr [2 x i64], ptr %pairs, i64 %k
  %address = load ptr, ptr %pair, align 8
  %target.at = getelementptr i64, ptr %pair, i64 1
  %target = load ptr, ptr %target.at, align 8
  %now = load i64, ptr %address, align 8
  store i64 %now, ptr %target, align 8
  %k.next = add i64 %k, 1
  br label %more
done:
  ret void
}
"""

FOLLOW: Final = f"""
{_PAIRS}
define ptr @adstack_follow(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %record = call ptr @PyLong_AsVoidPtr(ptr %address)
{words(guard="ptr", epoch="i64", count="i64", lock="ptr")}
{word("%sequence", "ptr", "%guard", FOLLOWED)}
  %nobody = icmp eq ptr %sequence, null
  br i1 %nobody, label %other, label %look
look:
{word("%thread", "i64", "%sequence", SEQUENCE["thread"])}
{word("%asks", "i64", "%sequence", SEQUENCE["asks"])}
{word("%position", "i64", "%sequence", SEQUENCE["position"])}
{word("%calls", "ptr", "%sequence", SEQUENCE["calls"])}
{word("%calls.count", "i64", "%sequence", SEQUENCE["count"])}
{word("%asking", "i64", "%guard", ASKING)}
{word("%rewired", "i64", "%sequence", SEQUENCE["rewired"])}
{word("%rewired.now", "i64", "%guard", REWIRED)}
  %epoch.now = load i64, ptr %guard, align 8
  %me = call i64 @PyThread_get_thread_ident()
  %ok.thread = icmp eq i64 %thread, %me
  %ok.asks = icmp eq i64 %asks, %asking
  %ok.epoch = icmp eq i64 %epoch, %epoch.now
  %ok.count = icmp eq i64 %given, %count
  %ok.names = icmp eq ptr %names, null
  %ok.left = icmp slt i64 %position, %calls.count
  %ok.1 = and i1 %ok.thread, %ok.asks
  %ok.2 = and i1 %ok.epoch, %ok.count
  %ok.3 = and i1 %ok.names, %ok.left
  %ok.wires = icmp eq i64 %rewired, %rewired.now
  %ok.4 = and i1 %ok.1, %ok.2
  %ok.5 = and i1 %ok.3, %ok.wires
  %ok = and i1 %ok.4, %ok.5
  br i1 %ok, label %expect, label %other
expect:
  %row = getelementptr [{len(CALL)} x i64], ptr %calls, i64 %position
{word("%expected", "ptr", "%row", CALL["record"])}
  %is.next = icmp eq ptr %expected, %record
  br i1 %is.next, label %conditions, label %other
conditions:
  %hold = call i1 @hold(ptr %record) ; first: they say whether the owners of attributes are there
  br i1 %hold, label %attributes, label %other
attributes:
  %unchanged = call i1 @unchanged(ptr %record)
  br i1 %unchanged, label %lock.it, label %other
lock.it:
  %tried = cmpxchg ptr %lock, i64 0, i64 %me acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %mine, label %take, label %other
take:
  ; what was looked at before this thread had the lock may have let others run
  %epoch.locked = load i64, ptr %guard, align 8
  %asking.locked = load i64, ptr %asking.at, align 8
  %sequence.locked = load ptr, ptr %sequence.at, align 8
  %still.epoch = icmp eq i64 %epoch, %epoch.locked
  %still.asks = icmp eq i64 %asks, %asking.locked
  %still.followed = icmp eq ptr %sequence, %sequence.locked
  %still.1 = and i1 %still.epoch, %still.asks
  %still = and i1 %still.1, %still.followed
  br i1 %still, label %serve, label %unlock
serve:
  %given.at = getelementptr i64, ptr %record, i64 {RECORD["given"]}
  store ptr %args, ptr %given.at, align 8
  %taken = call i1 @arguments(ptr %record, ptr %args)
  br i1 %taken, label %compare, label %unlock
compare:
{word("%same", "ptr", "%row", CALL["same"])}
{word("%same.count", "i64", "%row", CALL["same_count"])}
  %learned = call i1 @as_learned(ptr %same, i64 %same.count)
  br i1 %learned, label %go, label %unlock
unlock:
  store atomic i64 0, ptr %lock release, align 8
  br label %other
other:
  %served = call ptr @slow(ptr %self, ptr %args, i64 %given, ptr %names)
  ret ptr %served
go:
{word("%floats", "ptr", "%row", CALL["floats"])}
{word("%float.count", "i64", "%row", CALL["float_count"])}
{word("%moves", "ptr", "%row", CALL["moves"])}
{word("%move.count", "i64", "%row", CALL["move_count"])}
  call void @note_words(ptr %floats, i64 %float.count)
  call void @adstack_move(ptr %moves, i64 %move.count)
  %torn.at = getelementptr i64, ptr %sequence, i64 {SEQUENCE["torn"]}
  store i64 1, ptr %torn.at, align 8
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
  ret ptr null
check:
  br i1 %failed, label %fail, label %answer
fail:
  %raises = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %nothing = call ptr @PyObject_CallNoArgs(ptr %raises)
  store atomic i64 0, ptr %lock release, align 8
  ret ptr %nothing
answer:
  store i64 0, ptr %torn.at, align 8
  %position.next = add i64 %position, 1
  store i64 %position.next, ptr %position.at, align 8
  %value = call ptr @result(ptr %record)
  store atomic i64 0, ptr %lock release, align 8
  ret ptr %value
}}
"""
"""`adstack_follow`, a function of Python's like `adstack_call`, with the same `self`."""
