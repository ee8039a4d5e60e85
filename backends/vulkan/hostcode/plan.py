"""A program's plan, as words that machine code reads; and whether its adstacks are ready for a launch.

`i1 laid_out(ctx, plan)` looks at the words of the launch that stand at `ctx`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall.assembly import load, loop
from adstack.runtime.threads.processes import DeviceLock

from .counting import TASK

__all__ = ["LAID_OUT", "PLAN", "lock_words", "plan_words"]

_PLAN: Final = (
    "state", "words", "size", "zeros", "marks", "blocks", "tasks", "task_count", "acquire", "release", "false", "true",
    "repeated", "sized", "heap",
)  # fmt: skip
PLAN: Final = {name: at for at, name in enumerate(_PLAN)}
"""The words of a plan: the stream's state; how many words a launch has, how many bytes of the arena they take, how many
words of zeros stand behind them; how many pieces of memory it uses, and of which blocks these must be, if that matters;
its tasks (see `counting`); the methods of the lock, and Python's truth values; where a word stands that is 0 unless a
graph made the last launch; where it stands whether depths of adstacks need not be computed, or 0 if the program
computes none; and the heap's version, or 0 if the program has no adstacks in it."""


def lock_words(state: int, lock: DeviceLock) -> tuple[npt.NDArray[np.uint64], tuple[object, ...]]:
    """A plan that tells of the stream alone, and of its lock; and what it points to.

    Args:
        state: where the stream's state stands.
        lock: the stream's.
    """
    plan, methods = np.zeros(len(PLAN), np.uint64), (lock.acquire, lock.release)
    acquire, release = methods
    words = {"state": state, "acquire": id(acquire), "release": id(release), "false": id(False), "true": id(True)}
    for name, value in words.items():
        plan[PLAN[name]] = value
    return plan, methods


def plan_words(**wanted: str) -> str:
    """Load words of `%plan`: name -> type."""
    return "\n".join(load(f"%{name}", kind, "%plan", 8 * PLAN[name]) for name, kind in wanted.items())


LAID_OUT: Final = f"""
; whether the depths of adstacks are known, and the adstacks of each task are where its words say
define internal i1 @laid_out(ptr %ctx, ptr %plan) {{
entry:
{plan_words(repeated="ptr", sized="ptr", heap="ptr", tasks="ptr", task_count="i64")}
  %graph = load i64, ptr %repeated, align 8
  %by.graph = icmp ne i64 %graph, 0
  br i1 %by.graph, label %no, label %depths
depths:
  %unsized = icmp eq ptr %sized, null
  br i1 %unsized, label %stacks, label %known
known:
  %stand = load i64, ptr %sized, align 8
  %computed = icmp ne i64 %stand, 0
  br i1 %computed, label %stacks, label %no
stacks:
  %flat = icmp eq ptr %heap, null
  br i1 %flat, label %yes, label %version
version:
  %now = load i64, ptr %heap, align 8
  br label %task
{
    loop(
        "task",
        "%task_count",
        f'''  %row = getelementptr [{len(TASK)} x i64], ptr %tasks, i64 %task.k
{load("%has.stacks", "i64", "%row", 8 * TASK["stacks"])}
  %bare = icmp eq i64 %has.stacks, 0
  br i1 %bare, label %task.next, label %count
count:
  %groups = call i64 @groups(ptr %ctx, ptr %row)
{load("%total", "i64", "%row", 8 * TASK["total"])}
{load("%covered", "i64", "%row", 8 * TASK["covered"])}
{load("%then", "i64", "%row", 8 * TASK["heap"])}
  %covers = icmp eq i64 %total, %covered
  %stays = icmp eq i64 %then, %now
  %stands = and i1 %covers, %stays
  %idle = icmp eq i64 %groups, 0
  %fine = or i1 %stands, %idle
  br i1 %fine, label %task.next, label %no''',
        "yes",
        "version",
    )
}
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
