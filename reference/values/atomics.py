"""Atomic read-combine-write on elements of places and on locals of kernels; each gives back the old value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..errors import AdstackTypeError
from .calling import takes
from .elements import Elements, as_elements, zip_elements
from .kinds import Operand
from .protocol import own

__all__ = [
    "KIND_OF",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
]


def _called(kind: str) -> str:
    return "atomic_exchange" if kind == "xchg" else f"atomic_{kind}"


def _combine(kind: str, target: object, values: tuple[Operand, ...]) -> Operand:
    combine = own(target, "__adstack_atomic__")
    if combine is None:
        raise AdstackTypeError(
            f"the first argument of {_called(kind)} must be an element of a field or ndarray, or a local, in a kernel",
            note=f"got a {type(target).__name__}",
            do="name the element itself, such as x[i]",
        )
    return combine(kind, values)


def atomic(kind: str, target: object, *values: object) -> Operand:
    """An atomic update, elementwise on vectors and matrices; returns what the target was before.

    Args:
        kind: one of `ir.ops.ATOMICS`, or "sub".
        target: the element of a field, an ndarray or a variable that is updated.
        values: what it is updated by: one value, two for a comparison and an exchange.
    """
    if not isinstance(target, Elements):
        return _combine(kind, target, values)
    values = tuple(as_elements(v) for v in values)
    return zip_elements(_called(kind), lambda t, *vs: _combine(kind, t, vs), targets_of(target), *values)


def targets_of(target: Elements) -> Operand:
    """The elements as targets: a live view's storage gives them as `target(position)`."""
    find = getattr(target.storage, "target", None)
    return target if find is None else Elements.over([find(k) for k in range(len(target.storage))], target.shape)


def _atomic(name: str, kind: str, doc: str) -> Callable[[Operand, Operand], Operand]:
    @takes(name)
    def function(x: object, y: object) -> Operand:
        return atomic(kind, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + "; the old value."
    return function


atomic_add: Final = _atomic("atomic_add", "add", "x = x + y as one step")
atomic_sub: Final = _atomic("atomic_sub", "sub", "x = x - y as one step")
atomic_mul: Final = _atomic("atomic_mul", "mul", "x = x * y as one step")
atomic_min: Final = _atomic("atomic_min", "min", "x = min(x, y) as one step")
atomic_max: Final = _atomic("atomic_max", "max", "x = max(x, y) as one step")
atomic_and: Final = _atomic("atomic_and", "and", "x = x & y as one step")
atomic_or: Final = _atomic("atomic_or", "or", "x = x | y as one step")
atomic_xor: Final = _atomic("atomic_xor", "xor", "x = x ^ y as one step")
atomic_exchange: Final = _atomic("atomic_exchange", "xchg", "x = y as one step")


@takes("atomic_cas")
def atomic_cas(x: object, expected: object, desired: object) -> Operand:
    """x = desired if x == expected, as one step; the old value."""
    return atomic("cas", x, expected, desired)


KIND_OF: Final[dict[Callable[..., Operand], str]] = {
    atomic_add: "add",
    atomic_sub: "sub",
    atomic_mul: "mul",
    atomic_min: "min",
    atomic_max: "max",
    atomic_and: "and",
    atomic_or: "or",
    atomic_xor: "xor",
    atomic_exchange: "xchg",
    atomic_cas: "cas",
}
"""The kind of each atomic function: how the frontend knows a call whose first argument is a place to change."""
