"""if, for and while: the text is structured as the IR is.

What a loop carries is in variables that are declared before it. All of them change at the end of an iteration, at once:
a value that one of them had is put aside where another one is to have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adstack.ir.ops import FOR, IF, WHILE
from adstack.ir.structure import Op, Value

from .region import RegionEmitter, handles
from .spelling import enclosed, type_name
from .teams import TeamCode

__all__: list[str] = []


def _declare(e: RegionEmitter, values: Sequence[Value], start: Sequence[str] = ()) -> list[str]:
    """Variables for values, which stand for them."""
    names = []
    for k, value in enumerate(values):
        names.append(e.w.variable(type_name(value.dtype), start[k] if start else "", value.name))
        e.bind(value, names[-1])
    return names


def _assign(e: RegionEmitter, names: Sequence[str], texts: Sequence[str], values: Sequence[Value]) -> None:
    """Let all variables have new values at once."""
    texts = list(texts)
    for k, (text, value) in enumerate(zip(texts, values, strict=True)):
        if any(_mentions(text, name) for name in names[:k]):
            texts[k] = e.w.let(value.dtype, text)
    for name, text in zip(names, texts, strict=True):
        if name != text:
            e.w.line(f"{name} = {text};")


def _mentions(text: str, name: str) -> bool:
    return name in re.findall(r"\w+", text)


@handles(IF)
def _if(e: RegionEmitter, op: Op) -> None:
    then, orelse = op.regions
    names = _declare(e, op.results)
    with e.w.block(f"if {enclosed(e.get(op.operands[0]))}"):
        _assign(e, names, e.run(then), op.results)
        if names or len(orelse.ops) > 1:
            e.w.instead()
            _assign(e, names, e.run(orelse), op.results)


@handles(FOR)
def _for(e: RegionEmitter, op: Op) -> None:
    (body,) = op.regions
    if e.team is not None and "team" in op.attrs:
        _threads(e, op, e.team)
        return
    low, high, *start = e.all(op.operands)
    index, *carried = body.args
    names = _declare(e, carried, start)
    counter = e.w.name(index.name)
    e.bind(index, counter)
    with e.w.block(f"for ({type_name(index.dtype)} {counter} = {low}; {counter} < {high}; ++{counter})"):
        _assign(e, names, e.run(body), carried)
    for result, name in zip(op.results, names, strict=True):
        e.bind(result, name)


def _threads(e: RegionEmitter, op: Op, team: TeamCode) -> None:
    """What each thread of a threadgroup does, of those that the block has."""
    (body,) = op.regions
    (index,) = body.args
    team.wait(op)
    e.let(index, f"{type_name(index.dtype)}({team.thread})")
    with e.w.block(f"if ({e.get(index)} < {e.get(op.operands[1])})"):
        e.run(body)


@handles(WHILE)
def _while(e: RegionEmitter, op: Op) -> None:
    test, body = op.regions
    names = _declare(e, test.args, e.all(op.operands))
    results = _declare(e, op.results)
    with e.w.block("while (true)"):
        condition, *handed = e.run(test)
        for name, text in zip(results, handed, strict=True):
            e.w.line(f"{name} = {text};")
        e.w.line(f"if (!{condition}) break;")
        for arg, name in zip(body.args, results, strict=True):
            e.bind(arg, name)
        _assign(e, names, e.run(body), test.args)
