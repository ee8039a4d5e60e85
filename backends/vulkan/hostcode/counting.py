"""How many workgroups a task gets, as LLVM assembly for the host: `Extent.count` and `Pipeline.groups` in machine code.

`i64 groups(ctx, task)` reads the words of the launch that stand at `ctx`, and those of the task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from adstack.backends.hostcall.assembly import load, loop
from adstack.backends.shared.extents import READ, RULES, Extent, Read
from adstack.ir.scalar_ops import ADD, CONST, FLOORDIV, MAX, MIN, MUL, SUB

from ..driver.pipeline import Pipeline

__all__ = ["COUNT", "NEVER", "TASK", "Counted", "countable"]

_TASK: Final = (
    "pipeline", "repeats", "groups", "axes", "bounds", "steps", "step_count", "local", "layout", "set",
    "sizes", "stacks", "total", "covered", "heap",
)  # fmt: skip
TASK: Final = {name: at for at, name in enumerate(_TASK)}
"""The words of a task: its pipeline; the most workgroups it gets; how many axes it has, or 0 where it gets that many
workgroups each time; which steps are their bounds; the steps; threads of a workgroup; its layout and descriptor set, 0
where nothing is bound; whether it computes depths of adstacks, and whether it has adstacks in the heap; how many
iterations it has in the launch at hand, as `countable` says; and for which number of them, and in which version of the
heap, its adstacks have been laid out."""

_STEP: Final = {name: at for at, name in enumerate(("rule", "a", "b", "spare", "signed", "value"))}
"""The words of a step (see `extents`): its operands, or a constant, or which word of the launch is read; how many of 64
bits its type leaves; and where its number is put."""

_RULE: Final = {row: at for at, row in enumerate((CONST, READ, *RULES))}

_ENOUGH: Final = (1 << 31) - 1
"""More iterations need no more workgroups."""
_ALWAYS: Final = (1 << 64) - 1
"""The number of iterations of a task that gets the same workgroups each time."""
NEVER: Final = (1 << 64) - 2
"""No task has so many."""


class Counted:
    """The words of a task.

    Args:
        slot: which word of the launch a scalar or an extent is.
        most: workgroups that there may be.
    """

    def __init__(self, pipeline: Pipeline, extent: Extent, slot: Callable[[Read], int], most: int) -> None:
        self._steps = np.zeros((len(extent.steps), len(_STEP)), np.int64)
        self._bounds = np.array(extent.bounds, np.int64)
        for row, step in zip(self._steps, extent.steps, strict=True):
            if step.rule is READ:
                row[_STEP["a"]] = slot(step.what)
            elif step.rule is CONST:
                row[_STEP["a"]] = step.what
            else:
                row[_STEP["a"]], row[_STEP["b"]] = step.operands[0], step.operands[-1]
            row[_STEP["rule"]] = _RULE[step.rule]
            row[_STEP["spare"]], row[_STEP["signed"]] = 64 - step.dtype.bits, step.dtype.is_signed
        words = {
            "pipeline": pipeline.number,
            "repeats": int(pipeline.repeats),
            "groups": pipeline.groups(extent.fixed, most),
            "axes": len(extent.bounds) // 2,
            "bounds": self._bounds.ctypes.data,
            "steps": self._steps.ctypes.data,
            "step_count": len(extent.steps),
            "local": pipeline.local_size,
            "layout": 0,
            "set": 0,
            "sizes": 0,
            "stacks": 0,
            "total": 0,
            "covered": NEVER,
            "heap": 0,
        }
        self.words = [words[name] for name in TASK]


def countable(extent: Extent, iterations: int | None) -> int:
    """A number of iterations as the word `total` has it."""
    return _ALWAYS if iterations is None or extent.fixed is not None else min(iterations, _ENOUGH)


COUNT: Final = f"""
; the number of a step, as its type has it
define internal void @step(ptr %ctx, ptr %steps, i64 %k) {{
entry:
  %step = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %k
{load("%rule", "i64", "%step", 8 * _STEP["rule"])}
{load("%a", "i64", "%step", 8 * _STEP["a"])}
{load("%b", "i64", "%step", 8 * _STEP["b"])}
{load("%spare", "i64", "%step", 8 * _STEP["spare"])}
{load("%signed", "i64", "%step", 8 * _STEP["signed"])}
  %result = getelementptr i64, ptr %step, i64 {_STEP["value"]}
  switch i64 %rule, label %operands [
    i64 {_RULE[CONST]}, label %const
    i64 {_RULE[READ]}, label %read
  ]
const:
  br label %wrap
read:
  %word.at = getelementptr i64, ptr %ctx, i64 %a
  %word = load i64, ptr %word.at, align 8
  br label %wrap
operands:
  %one.at = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %a, i64 {_STEP["value"]}
  %one = load i64, ptr %one.at, align 8
  %other.at = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %b, i64 {_STEP["value"]}
  %other = load i64, ptr %other.at, align 8
  switch i64 %rule, label %cast [
    i64 {_RULE[ADD]}, label %add
    i64 {_RULE[SUB]}, label %sub
    i64 {_RULE[MUL]}, label %mul
    i64 {_RULE[MAX]}, label %max
    i64 {_RULE[MIN]}, label %min
    i64 {_RULE[FLOORDIV]}, label %divide
  ]
cast:
  br label %wrap
add:
  %sum = add i64 %one, %other
  br label %wrap
sub:
  %difference = sub i64 %one, %other
  br label %wrap
mul:
  %product = mul i64 %one, %other
  br label %wrap
max:
  %above = icmp sgt i64 %one, %other
  %larger = select i1 %above, i64 %one, i64 %other
  br label %wrap
min:
  %below = icmp slt i64 %one, %other
  %smaller = select i1 %below, i64 %one, i64 %other
  br label %wrap
divide:
  %by.zero = icmp eq i64 %other, 0
  br i1 %by.zero, label %wrap, label %sign
sign:
  %by.minus = icmp eq i64 %other, -1
  %opposite = sub i64 0, %one
  br i1 %by.minus, label %wrap, label %quotient
quotient:
  %toward.zero = sdiv i64 %one, %other
  %rest = srem i64 %one, %other
  %inexact = icmp ne i64 %rest, 0
  %signs = xor i64 %rest, %other
  %opposed = icmp slt i64 %signs, 0
  %down = and i1 %inexact, %opposed
  %one.less = sext i1 %down to i64
  %rounded = add i64 %toward.zero, %one.less
  br label %wrap
wrap:
  %value = phi i64 [ %a, %const ], [ %word, %read ], [ %one, %cast ], [ %sum, %add ], [ %difference, %sub ],
    [ %product, %mul ], [ %larger, %max ], [ %smaller, %min ], [ 0, %divide ], [ %opposite, %sign ],
    [ %rounded, %quotient ]
  %high = shl i64 %value, %spare
  %with.sign = ashr i64 %high, %spare
  %without = lshr i64 %high, %spare
  %has.sign = icmp ne i64 %signed, 0
  %wrapped = select i1 %has.sign, i64 %with.sign, i64 %without
  store i64 %wrapped, ptr %result, align 8
  ret void
}}

; how many workgroups a task gets; the number of its iterations stops at a number that is more than enough
define internal i64 @groups(ptr %ctx, ptr %task) {{
entry:
{load("%most", "i64", "%task", 8 * TASK["groups"])}
{load("%axes", "i64", "%task", 8 * TASK["axes"])}
{load("%bounds", "ptr", "%task", 8 * TASK["bounds"])}
{load("%steps", "ptr", "%task", 8 * TASK["steps"])}
{load("%step_count", "i64", "%task", 8 * TASK["step_count"])}
{load("%local", "i64", "%task", 8 * TASK["local"])}
  %total.at = getelementptr i64, ptr %task, i64 {TASK["total"]}
  %unknown = icmp eq i64 %axes, 0
  br i1 %unknown, label %all, label %step
all:
  store i64 {_ALWAYS - (1 << 64)}, ptr %total.at, align 8
  ret i64 %most
{
    loop(
        "step",
        "%step_count",
        '''  call void @step(ptr %ctx, ptr %steps, i64 %step.k)
  br label %step.next''',
        "multiply",
        "entry",
    )
}
multiply:
  br label %axis
axis:
  %k = phi i64 [ 0, %multiply ], [ %k.more, %axis.body ]
  %total = phi i64 [ 1, %multiply ], [ %enough, %axis.body ]
  %left = icmp slt i64 %k, %axes
  br i1 %left, label %axis.body, label %share
axis.body:
  %pair = getelementptr [2 x i64], ptr %bounds, i64 %k
  %low.step = load i64, ptr %pair, align 8
  %high.step.at = getelementptr i64, ptr %pair, i64 1
  %high.step = load i64, ptr %high.step.at, align 8
  %low.at = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %low.step, i64 {_STEP["value"]}
  %low = load i64, ptr %low.at, align 8
  %high.at = getelementptr [{len(_STEP)} x i64], ptr %steps, i64 %high.step, i64 {_STEP["value"]}
  %high = load i64, ptr %high.at, align 8
  %some = icmp sgt i64 %high, %low
  %apart = sub i64 %high, %low
  %extent.full = select i1 %some, i64 %apart, i64 0
  %extent.small = icmp ult i64 %extent.full, {_ENOUGH}
  %extent = select i1 %extent.small, i64 %extent.full, i64 {_ENOUGH}
  %more = mul i64 %total, %extent
  %more.small = icmp ult i64 %more, {_ENOUGH}
  %enough = select i1 %more.small, i64 %more, i64 {_ENOUGH}
  %k.more = add i64 %k, 1
  br label %axis
share:
  store i64 %total, ptr %total.at, align 8
  %less = sub i64 %local, 1
  %up = add i64 %total, %less
  %shared = udiv i64 %up, %local
  %fits = icmp ult i64 %shared, %most
  %found = select i1 %fits, i64 %shared, i64 %most
  ret i64 %found
}}
"""
