"""One verifier rule per operation: operand, attribute and result types.

Scalar ops follow the signature of their row; the others have a function of their own, keyed by the op's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...errors import IRError
from ..arithmetic import representable
from ..opdef import OpDef
from ..ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ARRAY_STORE,
    ASSERT,
    ATOMIC,
    CALL,
    FOR,
    IF,
    LOAD,
    PARALLEL_FOR,
    PRINT,
    RETURN,
    SHAPE,
    STACK_ACC_ADJOINT,
    STACK_ALLOCA,
    STACK_CLAIM,
    STACK_GET,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    STACK_POP,
    STACK_PUSH,
    STACK_PUT,
    STORE,
    TABLE,
    WHILE,
    YIELD,
)
from ..scalar_ops import BITCAST, CONST
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


RULES: Final[dict[OpDef, Rule]] = {
    **{row: scalar for row in TABLE.values() if row.signature.line is not None},
    CONST: const,
    BITCAST: bitcast,
    CALL: rules_call.call,
    SHAPE: rules_memory.shape,
    LOAD: rules_memory.load,
    STORE: rules_memory.store,
    ATOMIC: rules_memory.atomic,
    ARRAY_ALLOC: rules_memory.array_alloc,
    ARRAY_LOAD: rules_memory.array_load,
    ARRAY_STORE: rules_memory.array_store,
    STACK_ALLOCA: rules_memory.stack_alloca,
    STACK_CLAIM: rules_memory.stack_claim,
    STACK_PUSH: rules_memory.stack_push,
    STACK_POP: rules_memory.stack_pop,
    STACK_PUT: rules_memory.stack_put,
    STACK_GET: rules_memory.stack_get,
    STACK_LOAD_TOP: rules_memory.stack_load_top,
    STACK_LOAD_TOP_ADJ: rules_memory.stack_load_top_adj,
    STACK_ACC_ADJOINT: rules_memory.stack_acc_adjoint,
    IF: rules_control.if_,
    FOR: rules_control.for_,
    WHILE: rules_control.while_,
    PARALLEL_FOR: rules_control.parallel_for,
    YIELD: rules_control.terminator,
    RETURN: rules_control.terminator,
    ASSERT: rules_control.assert_,
    PRINT: rules_control.print_,
}
