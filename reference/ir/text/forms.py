"""How the operands, attributes and regions of each op are written; ops that are not listed are plain.

Plain: `name %a, %b : types`, where the types of the results may be left out if they follow from the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ...errors import IRError
from ..location import UNKNOWN, Loc
from ..opdef import OpDef
from ..ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ASSERT,
    ATOMIC,
    CALL,
    FOR,
    IF,
    LOAD,
    PARALLEL_FOR,
    PRINT,
    SHAPE,
    STACK_ALLOCA,
    STACK_GET,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    STORE,
    WHILE,
)
from ..scalar_ops import CONST
from ..structure import Attributes, Constant, Place, Region, Value
from ..texts import Format, Part
from ..types import ArrayType, DType, StackType, Type, cast_number
from .lexer import Token
from .reader import Reader

T = TypeVar("T", bound=Type)

__all__ = ["FORMS", "Draft", "plain"]


class Draft:
    """An op as far as it is read; `types` of results is None until given or inferred."""

    def __init__(self, row: OpDef) -> None:
        self.row = row
        self.operands: list[Value] = []
        self.attrs: Attributes = {}
        self.types: list[Type] | None = None
        self.regions: list[Region] = []
        self.loc: Loc = UNKNOWN

    def inferred(self) -> list[Type]:
        """The types of the results, from the operands."""
        if self.row.signature.line is not None:
            return list(self.row.signature.infer(self.row.name, [v.type for v in self.operands], self.attrs))
        if self.row not in ELEMENT:
            return []
        handle = self.operands[0].type if self.operands else None
        if not isinstance(handle, (ArrayType, StackType)):
            raise IRError(f"{self.row.name}: operand 0 must be a handle, got {handle}")
        return [handle.dtype]


ELEMENT: Final = (ARRAY_LOAD, STACK_GET, STACK_LOAD_TOP, STACK_LOAD_TOP_ADJ)
"""Ops that give an element of their first operand, a handle."""


def _types(p: Reader, draft: Draft) -> None:
    """`: types`, if given; the attributes that repeat the type are filled in from it."""
    if p.accept(":"):
        draft.types = [p.type()]
        while p.accept(","):
            draft.types.append(p.type())
    if "to" in draft.row.attrs:
        draft.attrs["to"] = _only_type(p, draft, DType)


def _only_type(p: Reader, draft: Draft, kind: type[T]) -> T:
    types = draft.types or ()
    if len(types) != 1 or not isinstance(types[0], kind):
        p.fail(f"{draft.row.name}: expected : and the type of the result")
    return types[0]


def plain(p: Reader, draft: Draft) -> None:
    """Operands, then types."""
    draft.operands = p.values()
    _types(p, draft)


def _call(p: Reader, draft: Draft) -> None:
    draft.attrs["function"] = function = p.function()
    plain(p, draft)
    draft.types = list(function.returns) if draft.types is None else draft.types


def _const(p: Reader, draft: Draft) -> None:
    token = p.take()
    if token.kind != "number" and token.text not in ("true", "false"):
        p.fail(f"const: expected a number, true or false, got {token}", token)
    _types(p, draft)
    draft.attrs["value"] = _number(p, token, draft.attrs["to"])


def _number(p: Reader, token: Token, to: DType) -> Constant:
    """The value of a literal in the type `to`: rounded to a float type, in range of an integer type."""
    value = _literal(token.text)
    if isinstance(value, bool) != to.is_bool or (isinstance(value, float) and not to.is_float):
        p.fail(f"const: {token} can't be a {to}", token)
    converted: Constant = cast_number(value, to)
    fits = converted == value if to.is_integer else converted - converted == 0 or value - value != 0
    if not fits:
        p.fail(f"const: {token} is out of the range of {to}", token)
    return converted


def _literal(text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0)
    except ValueError:
        return float.fromhex(text) if "0x" in text else float(text)


def _shape(p: Reader, draft: Draft) -> None:
    draft.attrs["place"] = p.place()
    p.expect(",")
    draft.attrs["axis"] = p.integer("an axis")
    _types(p, draft)


def _element(p: Reader, draft: Draft) -> Place:
    """`@place[indices], values`."""
    draft.attrs["place"] = place = p.place()
    p.expect("[")
    draft.operands = p.many(p.value, "]")
    if p.accept(","):
        draft.operands += p.values()
    return place


def _load(p: Reader, draft: Draft) -> None:
    place = _element(p, draft)
    draft.types = [place.dtype]
    _types(p, draft)


def _store(p: Reader, draft: Draft) -> None:
    _element(p, draft)


def _atomic(p: Reader, draft: Draft) -> None:
    kind = p.kind("word", "the kind of the atomic").text
    _load(p, draft)
    draft.attrs["kind"] = kind


def _alloc(p: Reader, draft: Draft) -> None:
    plain(p, draft)
    handle = _only_type(p, draft, ArrayType)
    draft.attrs = {"dtype": handle.dtype, "length": handle.length}


def _alloca(p: Reader, draft: Draft) -> None:
    draft.operands = p.values()
    for word in ("around", "inside"):
        sides: list[int] = []
        if p.accept(word):
            p.expect("(")
            sides = p.many(lambda: p.integer("a side of a branch"), ")")
        draft.attrs[word] = tuple(sides)
    _types(p, draft)
    draft.attrs["dtype"] = _only_type(p, draft, StackType).dtype


def _open(p: Reader, draft: Draft) -> None:
    draft.loc = p.loc()
    p.expect("{")
    p.end_of_line()


def _if(p: Reader, draft: Draft) -> None:
    draft.operands = [p.value()]
    types: list[Type] | None = None
    if p.accept("->"):
        p.expect("(")
        types = p.many(p.type, ")")
    _open(p, draft)
    draft.regions = [p.region([], [])]
    if p.accept("else"):
        p.expect("{")
        p.end_of_line()
        draft.regions.append(p.region([], []))
    else:
        p.fail("expected else { ... }: an if has two regions")
    ops = draft.regions[0].ops
    draft.types = types if types is not None else [v.type for v in ops[-1].operands] if ops else []


def _carry(p: Reader, names: list[str], initial: list[Value]) -> None:
    """`(%name = %initial, ...)`."""

    def item() -> None:
        names.append(p.kind("value", "the name of a carried value").text)
        p.expect("=")
        initial.append(p.value())

    p.expect("(")
    p.many(item, ")")


def _for(p: Reader, draft: Draft) -> None:
    names = [p.kind("value", "the name of the index").text]
    p.expect("=")
    draft.operands.append(p.value())
    p.expect("to")
    draft.operands.append(p.value())
    if p.accept("carry"):
        _carry(p, names, draft.operands)
    _open(p, draft)
    types = [v.type for v in draft.operands]
    draft.regions = [p.region(names, [types[0], *types[2:]])]
    draft.types = types[2:]


def _while(p: Reader, draft: Draft) -> None:
    names: list[str] = []
    _carry(p, names, draft.operands)
    _open(p, draft)
    draft.types = types = [v.type for v in draft.operands]
    condition = p.region(names, types)
    p.expect("do")
    p.expect("(")
    inner = p.many(lambda: p.kind("value", "the name of a carried value").text, ")")
    if len(inner) != len(names):
        p.fail(f"while: expected {len(names)} names of carried values, got {len(inner)}")
    p.expect("{")
    p.end_of_line()
    draft.regions = [condition, p.region(inner, types)]


def _parallel_for(p: Reader, draft: Draft) -> None:
    names: list[str] = []

    def axis() -> None:
        names.append(p.kind("value", "the name of an index").text)
        p.expect("=")
        draft.operands.append(p.value())
        p.expect("to")
        draft.operands.append(p.value())

    p.expect("(")
    p.many(axis, ")")
    _open(p, draft)
    draft.types = []
    draft.regions = [p.region(names, [v.type for v in draft.operands[::2]])]


def _assert(p: Reader, draft: Draft) -> None:
    draft.operands = [p.value()]
    p.expect(",")
    draft.attrs["message"] = p.string("the message in quotes")
    if p.accept(","):
        draft.operands += p.values()


def _print(p: Reader, draft: Draft) -> None:
    parts: list[Part] = []
    while p.token.kind in ("string", "value"):
        if p.token.kind == "string":
            parts.append(p.string("text"))
        else:
            draft.operands.append(p.value())
            parts.append(Format(p.string("a format specification")) if p.accept("as") else None)
        if not p.accept(","):
            break
    draft.attrs["parts"] = tuple(parts)


FORMS: Final[dict[OpDef, Callable[[Reader, Draft], None]]] = {
    CALL: _call,
    CONST: _const,
    SHAPE: _shape,
    LOAD: _load,
    STORE: _store,
    ATOMIC: _atomic,
    ARRAY_ALLOC: _alloc,
    STACK_ALLOCA: _alloca,
    IF: _if,
    FOR: _for,
    WHILE: _while,
    PARALLEL_FOR: _parallel_for,
    ASSERT: _assert,
    PRINT: _print,
}
