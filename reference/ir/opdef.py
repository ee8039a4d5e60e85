"""What a row of the operation table says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..errors import IRError
from .pulls import Pulls
from .types import ALL, FLOATS, INTS, NUMERIC, Array, DType, Type, by_name, u1

__all__ = ["Budget", "OpDef", "Signature", "Trap", "exact", "ulp"]

CLASSES: dict[str, tuple[DType, ...]] = {
    "any": ALL,
    "numeric": NUMERIC,
    "real": FLOATS,
    "int": INTS,
    "bits": (u1, *INTS),
}


class Signature:
    """A type rule in one line: `Signature("T T -> T", T="real")`.

    Each word is a type variable (bound by the classes given), a scalar type's name, or `$to`, the attribute "to".
    A class is a name of `CLASSES`, or a tuple of scalar types. A row without a line (`Signature(None)`) is checked by
    the verifier's rule for that op instead.
    """

    def __init__(self, line: str | None, **classes: str | tuple[DType, ...]) -> None:
        self.line = line
        self.classes = {v: CLASSES[c] if isinstance(c, str) else c for v, c in classes.items()}
        inputs, _, outputs = (line or "").partition("->")
        self.inputs = tuple(inputs.split())
        self.outputs = tuple(outputs.split())

    def infer(self, name: str, operands: list[Type], attrs: Mapping[str, object]) -> list[DType]:
        """Result types for operands of these types; IRError says what was expected and what came."""
        if len(operands) != len(self.inputs):
            raise IRError(f"{name}: expected {len(self.inputs)} operands ({self.line}), got {len(operands)}")
        bound: dict[str, DType] = {}
        for position, (word, got) in enumerate(zip(self.inputs, operands, strict=True)):
            self._bind(name, position, word, got, bound)
        return [self._result(name, word, bound, attrs) for word in self.outputs]

    def _bind(self, name: str, position: int, word: str, got: Type, bound: dict[str, DType]) -> None:
        if word in self.classes:
            allowed = self.classes[word]
            if word in bound:
                allowed = (bound[word],)
            if got not in allowed:
                wanted = " ".join(t.name for t in allowed)
                raise IRError(f"{name}: operand {position} must be one of {wanted}, got {got} (rule: {self.line})")
            assert isinstance(got, DType)
            bound[word] = got
        elif not (isinstance(got, DType) and got.name == word):
            raise IRError(f"{name}: operand {position} must be {word}, got {got} (rule: {self.line})")

    def _result(self, name: str, word: str, bound: dict[str, DType], attrs: Mapping[str, object]) -> DType:
        if word == "$to":
            to = attrs.get("to")
            if not isinstance(to, DType) or to not in self.classes.get("to", ALL):
                raise IRError(f"{name}: attribute 'to' must be a scalar type, got {to!r}")
            return to
        if word in bound:
            return bound[word]
        return by_name(word)


@dataclass(frozen=True)
class Budget:
    """The largest distance allowed from the correctly rounded result, in units in the last place, per float type."""

    f16: float = 0.0
    f32: float = 0.0
    f64: float = 0.0

    def of(self, dtype: DType) -> float:
        """The distance allowed to results of a type, in units in the last place; 0 for types that are not floats."""
        return float(getattr(self, dtype.name)) if dtype.is_float else 0.0


exact = Budget()


def ulp(f32: float, f64: float | None = None, f16: float = 1.0) -> Budget:
    """A budget of `f32` units for f32 and `f64` (default: twice that) for f64."""
    return Budget(f16=f16, f32=f32, f64=2 * f32 if f64 is None else f64)


@dataclass(frozen=True)
class Trap:
    """Operands for which the op is an error in debug mode: `when(*arrays)` is true there; `message` says why."""

    when: Callable[..., Array]
    message: str


@dataclass(frozen=True, eq=False)
class OpDef:
    """A row: everything there is to know of one operation.

    Attributes:
        name: its word in the text form.
        signature: operand and result types.
        meaning: `meaning(to, *arrays) -> array`: the result of type `to` for numpy operands of the operand types,
            elementwise, to the bit. None for ops that the interpreter runs itself (control, memory, effects).
        pure: same operands and attributes, same results, and nothing else happens: may be merged, moved, dropped.
        reads, writes: whether it looks at, or changes, memory or other state outside the value graph.
        commutative: the first two operands may be swapped without changing a bit.
        regions: how many regions it holds.
        terminator: it ends a region.
        attrs: names of the attributes that it must have.
        guards: it may have the attribute "guarded": the axes (a tuple) on which its indices may be outside.
        sums: it may have the attribute "sums": how the backend is to add up what iterations add to one element.
        teams: it may have the attribute "team", which says what blocks of threads are (`analysis/teams.py`).
        trap: operands that are an error in debug mode.
        transcendental: lowered to a `call` of the library's function before any backend sees it; its meaning is that
            function, so its bits are defined in one place.
        reals_only: the language refuses integer operands; where False they are cast to its default float type.
        budget: distance from the correctly rounded result that its lowering may have.
        ordinary: sizes of f32 arguments between which the library's function takes no cold path, and no multiply-add
            meets a subnormal number or loses one (`tools/accuracy/ordinary.py` finds them); None if there are none.
        rounds: its result, if that is a float, is rounded; not where an operand, or an integral value, is handed on.
        step: it is constant between jumps.
        pulls: its derivative, one entry per operand; () if no change passes through it, None if it is not a scalar
            operation.
        doc: one line for the specification.
    """

    name: str
    signature: Signature = field(default_factory=lambda: Signature(None))
    meaning: Callable[..., Array] | None = None
    pure: bool = True
    reads: bool = False
    writes: bool = False
    commutative: bool = False
    regions: int = 0
    terminator: bool = False
    attrs: tuple[str, ...] = ()
    guards: bool = False
    sums: bool = False
    teams: bool = False
    trap: Trap | None = None
    transcendental: bool = False
    reals_only: bool = False
    budget: Budget = exact
    ordinary: tuple[float, float] | None = None
    rounds: bool = True
    step: bool = False
    pulls: Pulls | None = None
    doc: str = ""

    def __repr__(self) -> str:
        return f"<op {self.name}>"
