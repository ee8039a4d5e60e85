"""Launches, one and several in a row, as LLVM assembly."""

from __future__ import annotations

from typing import Final

from .assembly import rows
from .record import word, words

__all__ = ["COPIER", "MOVE", "MOVES", "REPEAT", "RUN", "SETTLE", "STEP"]

RUN: Final = f"""
{words(run="ptr", ctx="ptr", launches="ptr", launch_slot="ptr", release="i64")}
{words(errors="ptr", overflow="ptr", depths="ptr", sized_slot="ptr", memo="i64")}
  %sizes = icmp ne ptr %depths, null
  br i1 %sizes, label %size, label %begin
size:
  %stands = call i64 @stand(ptr %record)
  store i64 %stands, ptr %sized_slot, align 8
  store i64 0, ptr %depths, align 8
  br label %begin
begin:
  %before = load i64, ptr %launches, align 8
  %number = add i64 %before, 1
  store i64 %number, ptr %launches, align 8
  store i64 %number, ptr %launch_slot, align 8
  %long = icmp ne i64 %release, 0
  br i1 %long, label %apart, label %here
apart:
  %saved = call ptr @PyEval_SaveThread()
  %code.apart = call i64 %run(ptr %ctx, i64 0)
  call void @PyEval_RestoreThread(ptr %saved)
  br label %ran
here:
  %code.here = call i64 %run(ptr %ctx, i64 0)
  br label %ran
ran:
  %code = phi i64 [ %code.apart, %apart ], [ %code.here, %here ]
"""
"""Launch what `%record` describes, the interpreter's lock held: look whether depths of adstacks stand, if it has any,
count it, and note its number. `%code` is what its entry gives."""

SETTLE: Final = """
  br i1 %sizes, label %settle, label %end
settle:
  %error = load i64, ptr %errors, align 8
  %deep = load i64, ptr %overflow, align 8
  %reported = or i64 %error, %deep
  %unreported = icmp eq i64 %reported, 0
  %smooth = and i1 %unreported, %complete
  br i1 %smooth, label %keep, label %end
keep:
  store i64 %memo, ptr %depths, align 8
  br label %end
end:
"""
"""Later: the depths stand from now on that the launch computed, if it came to its end, which is `%complete`."""

_STEP: Final = ("record", "words", "word_count", "mover", "moves", "move_count", "code")
STEP: Final = {name: at for at, name in enumerate(_STEP)}
"""The words of a step. After (address, value) pairs of words have been written it launches what a record describes; or,
where there is none, memory is moved: `i64 mover(moves, move_count)` gives 0 if it has done so, and else has not. `code`
is what the launch or the mover gave."""

MOVE: Final = {name: at for at, name in enumerate(("source", "target", "bytes"))}
"""The words of a move of memory: it is copied to other memory that it does not overlap with."""

COPIER: Final = {name: at for at, name in enumerate(("copy", "use", "context", "stream"))}
"""The words in front of moves that a device makes: `i32 copy(target, source, bytes, stream)`, after `i32 use(context)`,
each of which gives 0 if all goes well."""

_ROW: Final = f"""
{word("%source", "ptr", "%row", MOVE["source"])}
{word("%target", "ptr", "%row", MOVE["target"])}
{word("%bytes", "i64", "%row", MOVE["bytes"])}
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  br label %each.next"""

_QUEUED: Final = f"""
{word("%source", "i64", "%row", MOVE["source"])}
{word("%target", "i64", "%row", MOVE["target"])}
{word("%bytes", "i64", "%row", MOVE["bytes"])}
  %code = call i32 %copy(i64 %target, i64 %source, i64 %bytes, ptr %stream)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %each.next, label %failed"""

MOVES: Final = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; a mover of memory of the host
define i64 @adstack_move(ptr %table, i64 %count) {{
entry:
  br label %each
{rows("%table", len(MOVE), "%count", _ROW, then="done")}
done:
  ret i64 0
}}

; a mover of memory of a device: it gives the first code that is not 0
define i64 @adstack_copy(ptr %head, i64 %count) {{
entry:
{"".join(word(f"%{name}", "ptr", "%head", at) for name, at in COPIER.items())}
  %table = getelementptr i64, ptr %head, i64 {len(COPIER)}
  %used = call i32 %use(ptr %context)
  %ready = icmp eq i32 %used, 0
  br i1 %ready, label %each, label %failed
{rows("%table", len(MOVE), "%count", _QUEUED, then="done")}
failed:
  %first = phi i32 [ %used, %entry ], [ %code, %each.body ]
  %wide = zext i32 %first to i64
  ret i64 %wide
done:
  ret i64 0
}}
"""

_PAIR: Final = """  %address = load ptr, ptr %row, align 8
  %value.at = getelementptr i64, ptr %row, i64 1
  %value = load i64, ptr %value.at, align 8
  store i64 %value, ptr %address, align 8
  br label %each.next"""

_WRITE: Final = f"""
; write words, as (address, value) pairs say
define internal void @write_words(ptr %pairs, i64 %count) {{
entry:
  br label %each
{rows("%pairs", 2, "%count", _PAIR, then="done")}
done:
  ret void
}}
"""

_LAUNCH: Final = f"""
; launch what a record describes; gives what its entry does
define internal i64 @launch_again(ptr %record) {{
entry:
{RUN}
  %complete = icmp eq i64 %code, 0
{SETTLE}
  ret i64 %code
}}

; whether the last launch has reported something
define internal i1 @has_reported(ptr %record) {{
{words(errors="ptr", overflow="ptr")}
  %error = load i64, ptr %errors, align 8
  %deep = load i64, ptr %overflow, align 8
  %reported = or i64 %error, %deep
  %some = icmp ne i64 %reported, 0
  ret i1 %some
}}
"""


def _step(**wanted: str) -> str:
    """Load words of `%step`: name -> type; the values are named alike."""
    return "".join(word(f"%{name}", kind, "%step", STEP[name]) for name, kind in wanted.items())


REPEAT: Final = f"""
{_WRITE}
{_LAUNCH}
; do steps from one on, whose number is at an address; the interpreter's lock is held. The number that is left there is
; that of the first step that stopped, reported or raised, or `count`
define void @adstack_repeat(ptr %steps, ptr %position, i64 %count) {{
entry:
  %first = load i64, ptr %position, align 8
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %k.next, %fine ]
  store i64 %k, ptr %position, align 8
  %left = icmp slt i64 %k, %count
  br i1 %left, label %begin, label %over
over:
  ret void
begin:
  %step = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %k
{_step(record="ptr", words="ptr", word_count="i64")}
  call void @write_words(ptr %words, i64 %word_count)
  %moves.only = icmp eq ptr %record, null
  br i1 %moves.only, label %move, label %launch
move:
{_step(mover="ptr", moves="ptr", move_count="i64")}
  %moved = call i64 %mover(ptr %moves, i64 %move_count)
  br label %done
launch:
  %launched = call i64 @launch_again(ptr %record)
  %reported = call i1 @has_reported(ptr %record)
  br label %done
done:
  %code = phi i64 [ %moved, %move ], [ %launched, %launch ]
  %bad = phi i1 [ false, %move ], [ %reported, %launch ]
  %code.at = getelementptr i64, ptr %step, i64 {STEP["code"]}
  store i64 %code, ptr %code.at, align 8
  %raised = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %raised, null
  %whole = icmp eq i64 %code, 0
  %smooth = and i1 %quiet, %whole
  %silent = xor i1 %bad, true
  %next = and i1 %smooth, %silent
  br i1 %next, label %fine, label %over
fine:
  %k.next = add i64 %k, 1
  br label %loop
}}
"""
