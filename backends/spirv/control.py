"""if, for and while: SPIR-V is structured as the IR is."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.structure import Op, Value

from .code import Num
from .region import RegionEmitter, handles

__all__: list[str] = []


def _bind(e: RegionEmitter, values: Sequence[Value], numbers: Sequence[Num]) -> None:
    for value, number in zip(values, numbers, strict=True):
        e.bind(value, number)


@handles("if")
def _if(e: RegionEmitter, op: Op) -> None:
    then, orelse = op.regions
    condition, doubts = e.get(op.operands[0]), e.c.doubt
    if doubts is not None and doubts.builtin:
        doubts.rare(condition)
        _bind(e, op.results, e.run(then))
    else:
        _bind(e, op.results, e.c.either(condition, lambda: e.run(then), lambda: e.run(orelse)))


@handles("for")
def _for(e: RegionEmitter, op: Op) -> None:
    (body,) = op.regions
    low, high, *start = e.all(op.operands)

    def turn(carried: Sequence[Num]) -> list[Num]:
        _bind(e, body.args, carried)
        following = e.run(body)
        return [carried[0] + 1, *following]

    _, *results = e.c.loop([low, *start], lambda carried: (carried[0] < high, carried), turn)
    _bind(e, op.results, results)


@handles("while")
def _while(e: RegionEmitter, op: Op) -> None:
    test, body = op.regions

    def check(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
        _bind(e, test.args, carried)
        with e.apart():
            condition, *handed = e.run(test)
        return condition, handed

    def turn(handed: Sequence[Num]) -> list[Num]:
        _bind(e, body.args, handed)
        return e.run(body)

    _bind(e, op.results, e.c.loop(e.all(op.operands), check, turn))
