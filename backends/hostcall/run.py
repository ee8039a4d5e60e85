"""Launches, one and several in a row, as LLVM assembly."""

from __future__ import annotations

from typing import Final

__all__ = ["REPEAT", "RUN", "STEP"]

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

_STEP: Final = ("run", "ctx", "kept", "size", "launch_slot", "errors", "overflow", "release", "code")
STEP: Final = {name: at for at, name in enumerate(_STEP)}
"""The words of a launch: its entry and context; the `size` words that the context held then, which it is to hold again;
where the number of the launch stands, and its two reports; whether other threads of Python may go on meanwhile; and
what the entry gave."""


def _load(name: str, kind: str) -> str:
    at = f"  %{name}.at = getelementptr i64, ptr %step, i64 {STEP[name]}\n"
    return f"{at}  %{name} = load {kind}, ptr %{name}.at, align 8"


_KINDS: Final = {"size": "i64", "release": "i64"}
_WORDS: Final = "\n".join(_load(name, _KINDS.get(name, "ptr")) for name in _STEP if name != "code")

REPEAT: Final = f"""
; launch steps from one on; the interpreter's lock is held. Gives the first that stopped, reported or raised, or `count`
define i64 @adstack_repeat(ptr %steps, i64 %from, i64 %count, ptr %launches) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ %from, %entry ], [ %k.next, %fine ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %begin, label %over
over:
  ret i64 %count
begin:
  %step.word = mul i64 %k, {len(_STEP)}
  %step = getelementptr i64, ptr %steps, i64 %step.word
{_WORDS}
  br label %copy
copy:
  %w = phi i64 [ 0, %begin ], [ %w.next, %copy.one ]
  %more = icmp slt i64 %w, %size
  br i1 %more, label %copy.one, label %launch
copy.one:
  %from.at = getelementptr i64, ptr %kept, i64 %w
  %to.at = getelementptr i64, ptr %ctx, i64 %w
  %word = load i64, ptr %from.at, align 8
  store i64 %word, ptr %to.at, align 8
  %w.next = add i64 %w, 1
  br label %copy
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
  %k.next = add i64 %k, 1
  br label %loop
stop:
  %code.at = getelementptr i64, ptr %step, i64 {STEP["code"]}
  store i64 %code, ptr %code.at, align 8
  ret i64 %k
}}
"""
