"""Recording a launch, as LLVM assembly for the host: what `Stream` does in Python, for launches that need no more.

`i64 enter(ctx, held)` records one launch of a program whose words stand at `ctx`, as one thing: 0 if it did, 1 if
Python has to see to something first, and then nothing has happened. `held` says that the caller has the lock. In front
of `ctx` stands the address of the program's plan, words named in `PLAN`; behind the launch's words are the addresses
where its memory notes the batch.

`i64 copies(rows, count)` records copies, see `copies`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

from adstack.backends.hostcall.assembly import load, loop
from adstack.backends.hostcall.symbols import python_symbols
from adstack.backends.shared.jit import Library, runtime_library
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache

from .copies import COPIES
from .counting import COUNT, TASK
from .locking import LOCKING, locked
from .plan import LAID_OUT, plan_words
from .state import ARENA, BARRIER, LAUNCHES, LONGEST_RUN, STATE, state_words

__all__ = ["UNREADY", "copies", "enter", "entry", "text"]

UNREADY: Final = 2
"""What `enter` gives where only Python can make the launch: depths have to be computed, or adstacks laid out."""

_COMPUTE: Final = 0x20
_RECORD: Final = f"""
; what is not recorded yet
define internal void @record(ptr %state) {{
entry:
{state_words(pipeline="ptr")}
  %none = icmp eq ptr %pipeline, null
  br i1 %none, label %done, label %barrier
barrier:
{state_words(commands="ptr", between="ptr", order="ptr", bound="ptr")}
  call void %order(ptr %commands, {BARRIER}, ptr %between, i32 0, ptr null, i32 0, ptr null)
  %same = icmp eq ptr %pipeline, %bound
  br i1 %same, label %memory, label %bind.it
bind.it:
{state_words(bind="ptr")}
  call void %bind(ptr %commands, i32 1, ptr %pipeline)
  store ptr %pipeline, ptr %bound.at, align 8
  br label %memory
memory:
{state_words(set="ptr", given="ptr", layout="ptr")}
  %found = icmp eq ptr %set, %given
  %kept = and i1 %same, %found
  %addressed = icmp eq ptr %set, null
  %ungiven = or i1 %kept, %addressed
  br i1 %ungiven, label %push.it, label %give.it
give.it:
{state_words(give="ptr")}
  call void %give(ptr %commands, i32 1, ptr %layout, i32 0, i32 1, ptr %set.at, i32 0, ptr null)
  store ptr %set, ptr %given.at, align 8
  br label %push.it
push.it:
{state_words(push="ptr", dispatch="ptr", groups="i64", recorded="i64")}
  %pushed = getelementptr i8, ptr %state, i64 {STATE["first"]}
  call void %push(ptr %commands, ptr %layout, i32 {_COMPUTE}, i32 0, i32 16, ptr %pushed)
  %x = trunc i64 %groups to i32
  call void %dispatch(ptr %commands, i32 %x, i32 1, i32 1)
  store ptr null, ptr %pipeline.at, align 8
  %more = add i64 %recorded, 1
  store i64 %more, ptr %recorded.at, align 8
  br label %done
done:
  ret void
}}
"""

_HAND: Final = f"""
; have the next dispatch find what a descriptor set binds: what waits to be recorded may have another
define internal void @hand(ptr %state, ptr %task) {{
entry:
{load("%layout.new", "ptr", "%task", 8 * TASK["layout"])}
{load("%set.new", "ptr", "%task", 8 * TASK["set"])}
{state_words(set="ptr", layout="ptr")}
  %same = icmp eq ptr %set, %set.new
  br i1 %same, label %done, label %other
other:
  call void @record(ptr %state)
  store ptr %layout.new, ptr %layout.at, align 8
  store ptr %set.new, ptr %set.at, align 8
  br label %done
done:
  ret void
}}
"""

_DISPATCH: Final = f"""
; run a task behind what was recorded before: one launch more of the dispatch that waits, or the next that does
define internal void @dispatched(ptr %state, ptr %task, i64 %groups.new, i64 %address) {{
entry:
{load("%pipeline.new", "ptr", "%task", 8 * TASK["pipeline"])}
{load("%repeats.new", "i64", "%task", 8 * TASK["repeats"])}
{state_words(dispatches="i64", pipeline="ptr", repeats="i64", first="i64", count="i32", stride="i32", groups="i64")}
  %dispatches.more = add i64 %dispatches, 1
  store i64 %dispatches.more, ptr %dispatches.at, align 8
  %same = icmp eq ptr %pipeline, %pipeline.new
  %able = icmp ne i64 %repeats, 0
  %short = icmp ult i32 %count, {LONGEST_RUN}
  %like = and i1 %same, %able
  %fits = and i1 %like, %short
  br i1 %fits, label %compare, label %other
compare:
  %known = icmp ne i32 %stride, 0
  %apart.now = sub i64 %address, %first
  %apart.known = zext i32 %stride to i64
  %apart = select i1 %known, i64 %apart.known, i64 %apart.now
  %launches = zext i32 %count to i64
  %length = mul i64 %launches, %apart
  %end = add i64 %first, %length
  %behind = icmp eq i64 %address, %end
  %less = sub i64 %apart, 1
  %small = icmp ult i64 %less, {(1 << 32) - 1}
  %joins = and i1 %behind, %small
  br i1 %joins, label %join, label %other
join:
  %count.more = add i32 %count, 1
  store i32 %count.more, ptr %count.at, align 4
  %stride.now = trunc i64 %apart to i32
  store i32 %stride.now, ptr %stride.at, align 4
  ret void
other:
  call void @record(ptr %state)
  store ptr %pipeline.new, ptr %pipeline.at, align 8
  store i64 %groups.new, ptr %groups.at, align 8
  store i64 %repeats.new, ptr %repeats.at, align 8
  store i64 %address, ptr %first.at, align 8
  store i32 1, ptr %count.at, align 4
  store i32 0, ptr %stride.at, align 4
  ret void
}}
"""


_READY: Final = f"""
; whether a launch can be recorded as it is
define internal i1 @ready(ptr %ctx, ptr %plan, ptr %state) {{
entry:
{state_words(commands="ptr", dispatches="i64", used="i64")}
{plan_words(size="i64", words="i64", marks="i64", blocks="ptr")}
  %closed = icmp eq ptr %commands, null
  %full = icmp uge i64 %dispatches, {LAUNCHES}
  %end = add i64 %used, %size
  %beyond = icmp ugt i64 %end, {ARENA}
  %not.1 = or i1 %closed, %full
  %not = or i1 %not.1, %beyond
  br i1 %not, label %no, label %memory
memory:
  %addressed = icmp eq ptr %blocks, null
  %noted = getelementptr i64, ptr %ctx, i64 %words
  br i1 %addressed, label %yes, label %look
{
    loop(
        "look",
        "%marks",
        '''  %mark.at = getelementptr ptr, ptr %noted, i64 %look.k
  %mark = load ptr, ptr %mark.at, align 8
  %block.at = getelementptr i64, ptr %mark, i64 1
  %block = load i64, ptr %block.at, align 8
  %wanted.at = getelementptr i64, ptr %blocks, i64 %look.k
  %wanted = load i64, ptr %wanted.at, align 8
  %same = icmp eq i64 %block, %wanted
  br i1 %same, label %look.next, label %no''',
        "yes",
        "memory",
    )
}
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_LAUNCH: Final = f"""
; record a launch
define internal void @launch(ptr %ctx, ptr %plan, ptr %state) {{
entry:
{state_words(host="ptr", address="i64", used="i64", batch="i64")}
{plan_words(words="i64", size="i64", zeros="i64", marks="i64", tasks="ptr", task_count="i64")}
  %target = getelementptr i8, ptr %host, i64 %used
  %base = add i64 %address, %used
  %used.more = add i64 %used, %size
  store i64 %used.more, ptr %used.at, align 8
  br label %copy
{
    loop(
        "copy",
        "%words",
        '''  %from = getelementptr i64, ptr %ctx, i64 %copy.k
  %word = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %target, i64 %copy.k
  store i64 %word, ptr %to, align 8
  br label %copy.next''',
        "behind",
        "entry",
    )
}
behind:
  %rest = getelementptr i64, ptr %target, i64 %words
  br label %zero
{
    loop(
        "zero",
        "%zeros",
        '''  %blank = getelementptr i64, ptr %rest, i64 %zero.k
  store i64 0, ptr %blank, align 8
  br label %zero.next''',
        "task",
        "behind",
    )
}
{
    loop(
        "task",
        "%task_count",
        f'''  %row = getelementptr [{len(TASK)} x i64], ptr %tasks, i64 %task.k
{load("%sizes", "i64", "%row", 8 * TASK["sizes"])}
  %sizer = icmp ne i64 %sizes, 0
  br i1 %sizer, label %task.next, label %task.count
task.count:
  %groups = call i64 @groups(ptr %ctx, ptr %row)
  %idle = icmp eq i64 %groups, 0
  br i1 %idle, label %task.next, label %task.run
task.run:
  call void @hand(ptr %state, ptr %row)
  call void @dispatched(ptr %state, ptr %row, i64 %groups, i64 %base)
  br label %task.next''',
        "used.by",
        "zero",
    )
}
used.by:
  %noted = getelementptr i64, ptr %ctx, i64 %words
  br label %mark
{
    loop(
        "mark",
        "%marks",
        '''  %mark.at = getelementptr ptr, ptr %noted, i64 %mark.k
  %mark.there = load ptr, ptr %mark.at, align 8
  store i64 %batch, ptr %mark.there, align 8
  br label %mark.next''',
        "done",
        "used.by",
    )
}
done:
  ret void
}}
"""

_ENTER: Final = f"""
define i64 @enter(ptr %ctx, i64 %held) {{
entry:
  %plan.at = getelementptr i64, ptr %ctx, i64 -1
  %plan = load ptr, ptr %plan.at, align 8
{plan_words(state="ptr")}
  %mine = icmp ne i64 %held, 0
{
    locked(
        '''look:
  %laid.out = call i1 @laid_out(ptr %ctx, ptr %plan)
  br i1 %laid.out, label %room, label %over
room:
  %ready = call i1 @ready(ptr %ctx, ptr %plan, ptr %state)
  br i1 %ready, label %go, label %over
go:
  call void @launch(ptr %ctx, ptr %plan, ptr %state)
  br label %over''',
        f"[ {UNREADY}, %look ], [ 1, %room ], [ 0, %go ]",
        held="%mine",
    )
}}}
"""


def text() -> str:
    """The module."""
    return "\n".join((LOCKING, COUNT, _RECORD, _HAND, _DISPATCH, _READY, LAID_OUT, _LAUNCH, _ENTER, COPIES))


@cache
def _library() -> Library:
    code = text()
    library = runtime_library(code, ["enter", "copies"], ObjectCache(default_folder()), python_symbols(code))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # launches may come until the very end
    return library


def entry() -> int:
    """The address of `enter`."""
    return int(_library()["enter"])


@cache
def enter() -> Callable[[int, int], int]:
    """`enter`, for Python to call: it keeps the interpreter's lock."""
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(entry())


def copies() -> int:
    """The address of `copies`."""
    return int(_library()["copies"])
