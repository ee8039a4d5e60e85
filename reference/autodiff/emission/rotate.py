"""Rotation of `while`s: the condition moves to the end of the body.

    while c: (w, c') = condition(c) ... body(c')      becomes
    (w, c') = condition(c); while (w, c'): w ... c = body(c'); (w, c') = condition(c)

Requires: nothing. Ensures: the same meaning, and that the condition region of every `while` that differs does nothing
but hand on what it gets, so that reversing a `while` is reversing its body.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.builder import Builder
from ...ir.ops import WHILE, YIELD
from ...ir.structure import Op, Region, Value
from ...transforms.rewriting.rewrite import Renaming, clone_op

__all__ = ["rotate"]


def rotate(region: Region) -> None:
    """Rotate every `while` inside, in place."""
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions:
            rotate(inner)
        if op.opdef is WHILE and not _plain(op):
            ops += _rotated(op)
        else:
            ops.append(op)
    region.ops = ops


def _plain(op: Op) -> bool:
    condition = op.regions[0]
    wanted, *passed = condition.terminator.operands
    return len(condition.ops) == 1 and passed == condition.args and wanted in condition.args


def _rotated(op: Op) -> list[Op]:
    condition, body = op.regions
    before = Region()
    first = _copied(condition, op.operands, before)
    args = [Value(v.type, v.name) for v in first]
    head = Region(args)
    b = Builder(head, op.loc)
    b.yield_(*args[:1], *args)
    again = _copied(condition, body.terminator.operands, body)
    # the old terminator of the body stands before the copied ops: it goes
    body.keep(lambda o: o.opdef is not YIELD)
    condition.erase()
    with b.into(body):
        b.yield_(*again)
    going, gone = Value(args[0].type, "going"), Value(args[0].type, "going")
    carried, body.args = body.args, []
    body.define((going, *carried))
    results, op.results = op.results, []
    op.define((gone, *results))
    op.set_operands(first)
    op.regions = [head, body]
    return [*before.ops, op]


def _copied(condition: Region, operands: Sequence[Value], into: Region) -> list[Value]:
    """The condition's ops again, on these operands; what they yield."""
    renamed: Renaming = dict(zip(condition.args, operands, strict=True))
    into.ops += [clone_op(o, renamed) for o in condition.ops[:-1]]
    return [renamed.get(v, v) for v in condition.terminator.operands]
