"""What the entry of a program looks for, where guards were left out: that the launch is one that can do without."""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.codegen_llvm.memory.access import memory_type
from adstack.ir.structure import Program
from adstack.runtime.assume import Assumed, Condition, Term

__all__ = ["NOTHING", "UNFIT", "conditions", "unfit"]

UNFIT: Final = -1
"""What the entry gives if it is not."""
NOTHING: Final = Assumed()
"""No guard is left out."""


def conditions(program: Program, context: Context, assumed: Assumed) -> list[str]:
    """Code that goes to `%fit` if all of it is true, to `%unfit` if not; none if nothing has to be true."""
    lines: list[str] = []
    numbers: dict[Term, str] = {None: "0"}
    every = "true"
    for choices in assumed.conditions:
        some = "false"
        for condition in choices:
            holds = _holds(program, context, condition, numbers, lines)
            lines.append(f"  %unfit.some{len(lines)} = or i1 {some}, {holds}")
            some = f"%unfit.some{len(lines) - 1}"
        lines.append(f"  %unfit.every{len(lines)} = and i1 {every}, {some}")
        every = f"%unfit.every{len(lines) - 1}"
    return [*lines, f"  br i1 {every}, label %fit, label %unfit"] if lines else []


def unfit(context: Context) -> list[str]:
    """The block that leaves a launch to another entry, if there is one."""
    return [
        "unfit:",
        f"  %unfit.at = getelementptr i64, ptr %ctx, i64 {context.own['unfit']}",
        "  %unfit.other = load ptr, ptr %unfit.at, align 8",
        "  %unfit.none = icmp eq ptr %unfit.other, null",
        "  br i1 %unfit.none, label %unfit.refused, label %unfit.left",
        "unfit.left:",
        "  %unfit.code = call i64 %unfit.other(ptr %ctx, i64 %from)",
        "  ret i64 %unfit.code",
        "unfit.refused:",
        f"  ret i64 {UNFIT}",
    ]


def _holds(program: Program, context: Context, condition: Condition, numbers: dict[Term, str], lines: list[str]) -> str:
    lesser, greater = (_number(program, context, t, numbers, lines) for t in (condition.lesser, condition.greater))
    name = f"%unfit.fits{len(lines)}"
    # an extent is far from where numbers wrap around; an argument need not be
    if condition.lesser is None:
        lesser = str(condition.by)
    elif condition.greater is None:
        greater = str(-condition.by)
    else:
        lines.append(f"  {name}.most = sub i64 {greater}, {condition.by}")
        greater = f"{name}.most"
    lines.append(f"  {name} = icmp sle i64 {lesser}, {greater}")
    return name


def _number(program: Program, context: Context, term: Term, numbers: dict[Term, str], lines: list[str]) -> str:
    """A number of the launch, as i64."""
    if term in numbers:
        return numbers[term]
    numbers[term] = name = f"%unfit.number{len(numbers)}"
    if isinstance(term, tuple):
        slot, ty, word = context.extents[term], "i64", ""
    else:
        assert term is not None
        dtype = program.tasks[0].body.args[term].dtype
        slot, ty = context.params[term], memory_type(dtype)
        word = "" if dtype.bits == 64 else "sext" if dtype.is_signed else "zext"
    lines.append(f"  {name}.at = getelementptr i64, ptr %ctx, i64 {slot}")
    lines.append(f"  {name}{'.raw' if word else ''} = load {ty}, ptr {name}.at, align 8")
    if word:
        lines.append(f"  {name} = {word} {ty} {name}.raw to i64")
    return name
