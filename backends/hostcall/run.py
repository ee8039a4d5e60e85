"""Launches, one and several in a row, as LLVM assembly."""

from __future__ import annotations

from typing import Final

from .assembly import loop, rows
from .record import word

__all__ = ["MOVE", "MOVES", "REPEAT", "RUN", "STEP"]

RUN: Final = """
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
"""Launch a program, the interpreter's lock held: count it, and note its number. `%code` is what its entry gives."""

_STEP: Final = (
    *("run", "ctx", "kept", "size", "launch_slot", "errors", "overflow", "release", "code"),
    *("prior", "prior_count", "later", "later_count"),
)
STEP: Final = {name: at for at, name in enumerate(_STEP)}
"""The words of a launch: its entry, 0 for none, and context; the `size` words that the context held then, which it is
to hold again; where the number of the launch stands, and its two reports; whether other threads of Python may go on
meanwhile; what the entry gave; and the memory that is moved before the launch and after it."""

MOVE: Final = {name: at for at, name in enumerate(("source", "target", "bytes", "exchanges"))}
"""The words of a move: memory is copied to other memory that it does not overlap with, or exchanged with it."""


def _each(name: str, step: int, kind: str, *, exchanges: bool) -> str:
    """A loop over memory in pieces of `step` bytes, from `%{name}.first` on, that goes to `%{name}.end`."""
    back = f"  store {kind} %{name}.new, ptr %{name}.from, align 1\n" if exchanges else ""
    return f"""
  br label %{name}
{name}:
  %{name}.i = phi i64 [ %{name}.first, %{name}.begin ], [ %{name}.next, %{name}.one ]
  %{name}.more = icmp slt i64 %{name}.i, %{name}.last
  br i1 %{name}.more, label %{name}.one, label %{name}.end
{name}.one:
  %{name}.from = getelementptr i8, ptr %source, i64 %{name}.i
  %{name}.to = getelementptr i8, ptr %target, i64 %{name}.i
  %{name}.old = load {kind}, ptr %{name}.from, align 1
  %{name}.new = load {kind}, ptr %{name}.to, align 1
  store {kind} %{name}.old, ptr %{name}.to, align 1
{back}  %{name}.next = add i64 %{name}.i, {step}
  br label %{name}
"""


def _moved(name: str, *, exchanges: bool) -> str:
    """Move the memory of one row: words first, then the bytes that are left; it goes on at `%each.next`."""
    words, rest = f"{name}.words", f"{name}.rest"
    return f"""
{words}.begin:
  %{words}.first = add i64 0, 0
  %{words}.last = and i64 %bytes, -8
{_each(words, 8, "i64", exchanges=exchanges)}
{words}.end:
  br label %{rest}.begin
{rest}.begin:
  %{rest}.first = and i64 %bytes, -8
  %{rest}.last = add i64 %bytes, 0
{_each(rest, 1, "i8", exchanges=exchanges)}
{rest}.end:
  br label %each.next
"""


_ROW: Final = f"""
{word("%source", "ptr", "%row", MOVE["source"])}
{word("%target", "ptr", "%row", MOVE["target"])}
{word("%bytes", "i64", "%row", MOVE["bytes"])}
{word("%exchanges", "i64", "%row", MOVE["exchanges"])}
  %is.copy = icmp eq i64 %exchanges, 0
  br i1 %is.copy, label %copy.words.begin, label %swap.words.begin
{_moved("copy", exchanges=False)}
{_moved("swap", exchanges=True)}"""

MOVES: Final = f"""
; move memory as the rows of a table say
define void @adstack_move(ptr %table, i64 %count) {{
entry:
  br label %each
{rows("%table", len(MOVE), "%count", _ROW, then="done")}
done:
  ret void
}}
"""


def _load(name: str, kind: str) -> str:
    at = f"  %{name}.at = getelementptr i64, ptr %step, i64 {STEP[name]}\n"
    return f"{at}  %{name} = load {kind}, ptr %{name}.at, align 8"


_KINDS: Final = dict.fromkeys(("size", "release", "prior_count", "later_count"), "i64")
_WORDS: Final = "\n".join(_load(name, _KINDS.get(name, "ptr")) for name in _STEP if name != "code")

_WORD: Final = """  %from.at = getelementptr i64, ptr %kept, i64 %copy.k
  %to.at = getelementptr i64, ptr %ctx, i64 %copy.k
  %word = load i64, ptr %from.at, align 8
  store i64 %word, ptr %to.at, align 8
  br label %copy.next"""

REPEAT: Final = f"""
; launch steps from one on, whose number is at an address; the interpreter's lock is held. The number that is left there
; is that of the first step that stopped, reported or raised, before it moves memory afterwards, or `count`
define void @adstack_repeat(ptr %steps, ptr %position, i64 %count, ptr %launches) {{
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
  %step.word = mul i64 %k, {len(_STEP)}
  %step = getelementptr i64, ptr %steps, i64 %step.word
{_WORDS}
  %nothing = icmp eq ptr %run, null
  br i1 %nothing, label %fine, label %prepare
prepare:
  call void @adstack_move(ptr %prior, i64 %prior_count)
  br label %copy
{loop("copy", "%size", _WORD, "launch", "prepare")}
launch:
{RUN}
  %raised = call ptr @PyErr_Occurred()
  %other = ptrtoint ptr %raised to i64
  %error = load i64, ptr %errors, align 8
  %deep = load i64, ptr %overflow, align 8
  %reported = or i64 %error, %deep
  %stopped = or i64 %code, %other
  %any = or i64 %reported, %stopped
  %smooth = icmp eq i64 %any, 0
  br i1 %smooth, label %fine, label %stop
fine:
  call void @adstack_move(ptr %later, i64 %later_count)
  %k.next = add i64 %k, 1
  br label %loop
stop:
  %code.at = getelementptr i64, ptr %step, i64 {STEP["code"]}
  store i64 %code, ptr %code.at, align 8
  ret void
}}
"""
