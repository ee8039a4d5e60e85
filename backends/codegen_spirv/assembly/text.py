"""A module as text, for people: one instruction per line, its numbers as they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .opcodes import Op

__all__ = ["instructions", "listing"]

_HEADER = 5
_WITH_RESULT = frozenset(
    op
    for op in Op
    if op
    not in (
        Op.Name,
        Op.Extension,
        Op.MemoryModel,
        Op.EntryPoint,
        Op.ExecutionMode,
        Op.Capability,
        Op.Decorate,
        Op.MemberDecorate,
        Op.FunctionEnd,
        Op.Store,
        Op.LoopMerge,
        Op.SelectionMerge,
        Op.Branch,
        Op.BranchConditional,
        Op.Return,
        Op.ReturnValue,
    )
)
_UNTYPED = frozenset(op for op in Op if op.name.startswith("Type")) | {Op.ExtInstImport, Op.Label}


def instructions(words: Sequence[int]) -> Iterator[tuple[Op, list[int]]]:
    """Each instruction and its operands."""
    at = _HEADER
    while at < len(words):
        count = words[at] >> 16
        yield Op(words[at] & 0xFFFF), list(words[at + 1 : at + count])
        at += count


def listing(words: Sequence[int]) -> str:
    """The whole module."""
    return "".join(_line(op, operands) for op, operands in instructions(words))


def _line(op: Op, operands: list[int]) -> str:
    if op not in _WITH_RESULT:
        return f"       {' '.join(map(str, (f'Op{op.name}', *operands)))}\n"
    if op in _UNTYPED:
        result, *rest = operands
    else:
        ty, result, *rest = operands
        rest = [ty, *rest]
    return f"{f'%{result}':>6} = {' '.join(map(str, (f'Op{op.name}', *rest)))}\n"
