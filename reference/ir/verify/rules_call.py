"""The verifier's rule for `call`, and for the functions that are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from weakref import WeakSet

from ...errors import IRError
from ..ops import CALL, IF, YIELD
from ..scalar_ops import CONST
from ..structure import Function, Kernel, Op, Place, Program
from . import expect

__all__ = ["call", "check_function", "functions_of", "unverified"]

_VERIFIED: Final[WeakSet[Function]] = WeakSet()
"""Functions never change: one look is enough."""


def call(op: Op, places: dict[str, Place]) -> None:
    """A function; operands and results of the types that it says."""
    function = op.attrs["function"]
    if not isinstance(function, Function):
        expect.fail(op, f"attribute 'function' must be a Function, got {function!r}")
    if not function.body.ops or function.body.terminator.opdef is not YIELD:
        expect.fail(op, f"{function!r} must end with yield")
    expect.count(op, len(function.params), f"the parameters of {function!r}")
    for position, dtype in enumerate(function.params):
        expect.typed(op, position, dtype)
    expect.results(op, function.returns)


def check_function(function: Function) -> None:
    """Pure ops of scalars and `if`s alone; called once its ops have passed their own rules."""
    for op in function.body.walk():
        if not (op.opdef in (IF, YIELD) or op.opdef.meaning is not None or op.opdef is CONST):
            raise IRError(f"{function!r}: expected pure ops of scalars and if, got {op.name}", loc=expect.known(op.loc))
    _VERIFIED.add(function)


def unverified(root: Kernel | Program) -> Iterator[tuple[Function, Op]]:
    """Functions called that were not looked at before, each with the first op that calls it."""
    return ((function, op) for function, op in functions_of(root).items() if function not in _VERIFIED)


def functions_of(root: Kernel | Program) -> dict[Function, Op]:
    """The functions that are called, in order, each with the first op that calls it."""
    callers: dict[Function, Op] = {}
    for body in [root.body] if isinstance(root, Kernel) else [task.body for task in root.tasks]:
        for op in body.walk():
            if op.opdef is CALL:
                callers.setdefault(op.attrs["function"], op)
    return callers
