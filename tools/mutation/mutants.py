"""The changes: each makes one row of the table of operations, or one rule of types, say something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from adstack.ir.opdef import CLASSES, OpDef, exact
from adstack.ir.ops import ATOMICS, TABLE, AtomicKind
from adstack.ir.types import Array, DType

from . import conversions

__all__ = ["Mutant", "mutants"]

Meaning = Callable[..., Array]
WIDER: Final = {"real": "numeric", "int": "bits", "bits": "any", "numeric": "any"}
FLAGS: Final = ("pure", "reads", "writes", "terminator", "transcendental")


@dataclass(frozen=True)
class Mutant:
    """One wrong thing.

    Attributes:
        row: what is changed: an op's name, "atomic add", "promote", "cast".
        change: how.
        apply: makes it so in this process, for good.
    """

    row: str
    change: str
    apply: Callable[[], None]


def mutants() -> Iterator[Mutant]:
    """All of them, row by row."""
    for row in TABLE.values():
        for change, apply in _of_row(row):
            yield Mutant(row.name, change, apply)
    for kind in ATOMICS.values():
        for change, apply in _of_atomic(kind):
            yield Mutant(f"atomic {kind.name}", change, apply)
    for rule, change, apply in conversions.changes():
        yield Mutant(rule, change, apply)


Changes = Iterator[tuple[str, Callable[[], None]]]


def _of_row(row: OpDef) -> Changes:
    if row.meaning is not None:
        others = [other for other in TABLE.values() if other.signature.line == row.signature.line]
        neighbour = others[(others.index(row) + 1) % len(others)] if len(others) > 1 else None
        for change, wrong in _wrong_meanings(row.meaning, neighbour):
            yield change, _setter(row, "meaning", wrong)
        if len(row.signature.inputs) > 1 and not (row.commutative and len(row.signature.inputs) == 2):
            yield "operands swapped", _setter(row, "meaning", _swapped(row.meaning))
    if row.signature.line is not None:
        yield from _of_signature(row)
    for flag in FLAGS:
        yield f"{flag} flipped", _setter(row, flag, not getattr(row, flag))
    if len(row.signature.inputs) > 1:
        yield "commutative flipped", _setter(row, "commutative", not row.commutative)
    if row.trap is not None:
        yield "trap dropped", _setter(row, "trap", None)
        never = replace(row.trap, when=_inverted(row.trap.when))
        yield "trap inverted", _setter(row, "trap", never)
    if row.budget != exact:
        yield "budget doubled", _setter(row, "budget", replace(row.budget, f32=2 * row.budget.f32))
    for name in row.attrs:
        yield f"attribute {name} not required", _setter(row, "attrs", tuple(n for n in row.attrs if n != name))
    yield "one region more", _setter(row, "regions", row.regions + 1)


def _of_signature(row: OpDef) -> Changes:
    rule = row.signature
    for variable, types in rule.classes.items():
        name = next(name for name, members in CLASSES.items() if members == types)
        if name in WIDER:
            yield f"{variable} widened", _binder(rule.classes, variable, CLASSES[WIDER[name]])
        yield f"{variable} without {types[0]}", _binder(rule.classes, variable, types[1:])
        yield f"{variable} without {types[-1]}", _binder(rule.classes, variable, types[:-1])
    other = "i64" if rule.outputs == ("i32",) else "i32"
    yield "another result type", _setter(rule, "outputs", (other,))
    yield "one operand more", _setter(rule, "inputs", (*rule.inputs, "i32"))


def _of_atomic(kind: AtomicKind) -> Changes:
    kinds = list(ATOMICS.values())
    alike = [other for other in kinds if other.operands == kind.operands]
    neighbour = alike[(alike.index(kind) + 1) % len(alike)] if len(alike) > 1 else None
    for change, wrong in _wrong_meanings(kind.meaning, neighbour):
        yield change, _setter(kind, "meaning", wrong)
    if kind.name in ("xchg", "cas", "min", "max"):
        yield "operands swapped", _setter(kind, "meaning", _swapped(kind.meaning))
    if kind.over in WIDER:
        yield "types widened", _setter(kind, "over", WIDER[kind.over])
    yield "types narrowed", _setter(kind, "over", "int" if kind.over != "any" else "numeric")
    yield "one operand more", _setter(kind, "operands", kind.operands + 1)


def _wrong_meanings(meaning: Meaning, neighbour: OpDef | AtomicKind | None) -> Iterator[tuple[str, Meaning]]:
    yield "result plus one", _changed(meaning, _plus_one)
    yield "result negated", _changed(meaning, _negated)
    yield "one unit in the last place more", _changed(meaning, _next)
    yield "odd results alone plus one", _changed(meaning, _odd_plus_one)
    yield "result of another width", _changed(meaning, _of_another_width)
    if neighbour is not None and neighbour.meaning is not None:
        yield f"meaning of {neighbour.name}", neighbour.meaning


def _changed(meaning: Meaning, change: Callable[[Array], Array]) -> Meaning:
    def wrong(to: DType, *args: Array) -> Array:
        with np.errstate(all="ignore"):
            return change(np.asarray(meaning(to, *args)))

    return wrong


def _swapped(meaning: Meaning) -> Meaning:
    """The last two operands exchanged."""
    return lambda to, *args: meaning(to, *args[:-2], args[-1], args[-2])


def _inverted(when: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *args: ~when(*args)


def _plus_one(a: Array) -> Array:
    return ~a if a.dtype == np.bool_ else a + a.dtype.type(1)


def _negated(a: Array) -> Array:
    return ~a if a.dtype == np.bool_ else np.negative(a)


def _next(a: Array) -> Array:
    return np.nextafter(a, a.dtype.type(np.inf)) if a.dtype.kind == "f" else _plus_one(a)


def _odd_plus_one(a: Array) -> Array:
    """Changes some values and leaves others: those whose last bit is set."""
    bits = a.view(f"u{a.dtype.itemsize}")
    return np.where(bits & bits.dtype.type(1) != 0, _plus_one(a), a)


def _of_another_width(a: Array) -> Array:
    return a.astype(np.float32 if a.dtype == np.float64 else np.float64)


def _setter(target: object, name: str, value: object) -> Callable[[], None]:
    # rows are frozen, and mean it: only a mutation may go around that
    return lambda: object.__setattr__(target, name, value)


def _binder(classes: dict[str, tuple[DType, ...]], variable: str, types: tuple[DType, ...]) -> Callable[[], None]:
    return lambda: classes.update({variable: types})
