"""One verifier rule per operation: operand, attribute and result types.

Scalar ops follow the signature of their row; the others have a function of their own, keyed by the op's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...errors import IRError
from ..arithmetic import representable
from ..ops import TABLE
from ..structure import Op, Place
from ..types import DType
from . import expect, rules_call, rules_control, rules_memory

__all__ = ["RULES", "Rule"]

Rule = Callable[[Op, dict[str, Place]], None]


def scalar(op: Op, places: dict[str, Place]) -> None:
    """By the signature of the op's row."""
    try:
        types = op.opdef.signature.infer(op.name, [v.type for v in op.operands], op.attrs)
    except IRError as error:
        raise IRError(error.message, loc=expect.known(op.loc)) from None
    expect.results(op, types)


def const(op: Op, places: dict[str, Place]) -> None:
    """A Python value of the attribute `to`, exactly."""
    scalar(op, places)
    to, value = op.attrs["to"], op.attrs["value"]
    wanted = {"b": bool, "f": float}.get(to.kind, int)
    if type(value) is not wanted:
        expect.fail(op, f"attribute 'value' must be a Python {wanted.__name__} for {to}, got {value!r}")
    if not _fits(value, to):
        expect.fail(op, f"attribute 'value' must be a value of {to}, got {value!r}")


def _fits(value: bool | int | float, to: DType) -> bool:
    if to.is_float:
        return to.bits == 64 or representable(value, to)
    return to.min <= value <= to.max


def bitcast(op: Op, places: dict[str, Place]) -> None:
    """Between types of one width."""
    scalar(op, places)
    source, to = op.operands[0].dtype, op.attrs["to"]
    if source.bits != to.bits:
        expect.fail(op, f"expected types of one width, got {source} ({source.bits} bits) to {to} ({to.bits} bits)")


RULES: Final[dict[str, Rule]] = {
    **{name: scalar for name, row in TABLE.items() if row.signature.line is not None},
    "const": const,
    "bitcast": bitcast,
    "call": rules_call.call,
    "shape": rules_memory.shape,
    "load": rules_memory.load,
    "store": rules_memory.store,
    "atomic": rules_memory.atomic,
    "array.alloc": rules_memory.array_alloc,
    "array.load": rules_memory.array_load,
    "array.store": rules_memory.array_store,
    "stack.alloca": rules_memory.stack_alloca,
    "stack.claim": rules_memory.stack_claim,
    "stack.push": rules_memory.stack_push,
    "stack.pop": rules_memory.stack_pop,
    "stack.put": rules_memory.stack_put,
    "stack.get": rules_memory.stack_get,
    "stack.load_top": rules_memory.stack_load_top,
    "stack.load_top_adj": rules_memory.stack_load_top_adj,
    "stack.acc_adjoint": rules_memory.stack_acc_adjoint,
    "if": rules_control.if_,
    "for": rules_control.for_,
    "while": rules_control.while_,
    "parallel_for": rules_control.parallel_for,
    "yield": rules_control.terminator,
    "return": rules_control.terminator,
    "assert": rules_control.assert_,
    "print": rules_control.print_,
}
