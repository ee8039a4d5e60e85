"""The verifier's rules for ops on places, local arrays and adstacks."""

from __future__ import annotations

from ..opdef import CLASSES
from ..ops import ATOMICS
from ..structure import Op, Place
from ..types import ALL, FLOATS, INTS, ArrayType, DType, StackType, i64, u1
from . import expect

Places = dict[str, Place]


def shape(op: Op, places: Places) -> None:
    """No operands; an axis of the place; an integer type to give it in."""
    expect.count(op, 0, "the place is an attribute")
    place, axis, to = expect.owned_place(op, places), op.attrs["axis"], op.attrs["to"]
    if type(axis) is not int or not 0 <= axis < place.rank:
        expect.fail(op, f"attribute 'axis' must be an axis of @{place.name} (rank {place.rank}), got {axis!r}")
    if to not in INTS:
        expect.fail(op, f"attribute 'to' must be an integer type (not u1), got {to!r}")
    expect.results(op, (to,))


def _element(op: Op, places: Places, values: int, what: str) -> Place:
    """The place of an access with one index per axis and then `values` values of the place's type."""
    place = expect.owned_place(op, places)
    expect.count(op, place.rank + values, f"{place.rank} indices of @{place.name}{what}")
    for position in range(place.rank):
        expect.index(op, position)
    for position in range(place.rank, place.rank + values):
        expect.typed(op, position, place.dtype)
    return place


def load(op: Op, places: Places) -> None:
    """One index per axis; gives the element type."""
    expect.results(op, (_element(op, places, 0, "").dtype,))


def store(op: Op, places: Places) -> None:
    """One index per axis, then the value."""
    _element(op, places, 1, ", then the value")
    expect.results(op, ())


def atomic(op: Op, places: Places) -> None:
    """A known kind that works on the place's type; indices, then its operands; gives the old value."""
    kind = ATOMICS.get(op.attrs["kind"])
    if kind is None:
        expect.fail(op, f"attribute 'kind' must be one of {' '.join(ATOMICS)}, got {op.attrs['kind']!r}")
    place = _element(op, places, kind.operands, f", then {kind.operands} values")
    allowed = CLASSES[kind.over]
    if place.dtype not in allowed:
        names = " ".join(t.name for t in allowed)
        expect.fail(op, f"{kind.name} works on one of {names}, got @{place.name} of {place.dtype}")
    expect.results(op, (place.dtype,))


def array_alloc(op: Op, places: Places) -> None:
    """A scalar type and a positive length."""
    expect.count(op, 0, "the length is an attribute")
    dtype, length = _dtype(op), op.attrs["length"]
    if type(length) is not int or length < 1:
        expect.fail(op, f"attribute 'length' must be a positive int, got {length!r}")
    expect.results(op, (ArrayType(dtype, length),))


def array_load(op: Op, places: Places) -> None:
    """Handle, index; gives an element."""
    expect.count(op, 2, "handle, index")
    dtype = _array(op)
    expect.index(op, 1)
    expect.results(op, (dtype,))


def array_store(op: Op, places: Places) -> None:
    """Handle, index, element."""
    expect.count(op, 3, "handle, index, value")
    dtype = _array(op)
    expect.index(op, 1)
    expect.typed(op, 2, dtype)
    expect.results(op, ())


def stack_alloca(op: Op, places: Places) -> None:
    """A scalar type, sides of branches; the capacity is an operand."""
    expect.count(op, 1, "capacity")
    expect.index(op, 0)
    for word in ("around", "inside"):
        sides = op.attrs[word]
        if not isinstance(sides, tuple) or not all(type(side) is int and side >= 0 for side in sides):
            expect.fail(op, f"expected a tuple of sides of branches as '{word}', got {sides!r}")
    expect.results(op, (StackType(_dtype(op)),))


def stack_claim(op: Op, places: Places) -> None:
    """Whether this iteration needs slots, and how many do."""
    expect.count(op, 2, "needed, count")
    expect.typed(op, 0, u1)
    expect.typed(op, 1, i64)
    expect.results(op, ())


def stack_push(op: Op, places: Places) -> None:
    """Stack, primal."""
    expect.count(op, 2, "stack, value")
    expect.typed(op, 1, _stack(op))
    expect.results(op, ())


def stack_pop(op: Op, places: Places) -> None:
    """Stack."""
    expect.count(op, 1, "stack")
    _stack(op)
    expect.results(op, ())


def stack_load_top(op: Op, places: Places) -> None:
    """Stack; gives a primal."""
    expect.count(op, 1, "stack")
    expect.results(op, (_stack(op),))


def stack_load_top_adj(op: Op, places: Places) -> None:
    """Stack of floats; gives an adjoint."""
    expect.count(op, 1, "stack")
    expect.results(op, (_real_stack(op),))


def stack_acc_adjoint(op: Op, places: Places) -> None:
    """Stack of floats, what to add."""
    expect.count(op, 2, "stack, value")
    expect.typed(op, 1, _real_stack(op))
    expect.results(op, ())


def stack_put(op: Op, places: Places) -> None:
    """Stack, index, primal."""
    expect.count(op, 3, "stack, index, value")
    expect.index(op, 1)
    expect.typed(op, 2, _stack(op))
    expect.results(op, ())


def stack_get(op: Op, places: Places) -> None:
    """Stack, index; gives a primal."""
    expect.count(op, 2, "stack, index")
    expect.index(op, 1)
    expect.results(op, (_stack(op),))


def _dtype(op: Op) -> DType:
    dtype = op.attrs["dtype"]
    if dtype not in ALL:
        expect.fail(op, f"attribute 'dtype' must be a scalar type, got {dtype!r}")
    assert isinstance(dtype, DType)
    return dtype


def _array(op: Op) -> DType:
    got = op.operands[0].type
    if not isinstance(got, ArrayType):
        expect.fail(op, f"operand 0 must be an array handle, got {got}")
    return got.dtype


def _stack(op: Op) -> DType:
    got = op.operands[0].type
    if not isinstance(got, StackType):
        expect.fail(op, f"operand 0 must be a stack handle, got {got}")
    return got.dtype


def _real_stack(op: Op) -> DType:
    dtype = _stack(op)
    if dtype not in FLOATS:
        expect.fail(op, f"operand 0 must be a stack of floats (only they have adjoints), got stack<{dtype}>")
    return dtype
