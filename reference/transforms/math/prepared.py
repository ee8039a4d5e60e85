"""Functions of the library as they are after the passes: to build one from its source takes ten times as long.

The folder `prepared` holds one file per function, f32 and f64, in the text form of IR, written by
`python -m adstack.tools.accuracy.prepared`; a test compares them with their source. `load(name)` reads one back:
a function of the library has only pure scalar operations and `if`s, so that a line is a few words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...ir.ops import IF, TABLE
from ...ir.scalar_ops import BITCAST, CAST, CONST
from ...ir.structure import Op, Region, Value
from ...ir.types import DType, by_name, f32, f64

__all__ = ["FOLDER", "FORMATS", "load"]

FOLDER: Final = Path(__file__).with_suffix("")
FORMATS: Final = (f32, f64)
"""The types whose functions are kept on file: a function of f16 is that of f32 between two casts, and rarely used."""
_TYPED: Final = frozenset({CAST, BITCAST})
"""Operations whose result type is an attribute."""
_TRUTH: Final = {"true": True, "false": False}

Lines = Iterator[str]
Values = dict[str, Value]


def load(name: str) -> Region | None:
    """The body of the function called `name`, like "sin.f32"; None if there is no file of it."""
    path = FOLDER / f"{name}.ir"
    if not path.is_file():
        return None
    head, *lines = path.read_text("ascii").splitlines()
    parameters = head[head.index("(") + 1 : head.index(")")].split(", ")
    values: Values = {}
    for parameter in parameters:
        text, dtype = parameter.split(": ")
        values[text] = Value(by_name(dtype), text[1:])
    return Region(list(values.values()), _ops(iter(lines), values))


def _ops(lines: Lines, values: Values) -> list[Op]:
    """The ops up to the line that closes their region."""
    ops: list[Op] = []
    for line in lines:
        names, equals, text = line.strip().partition(" = ")
        if names.startswith("}"):
            return ops
        if not equals:
            names, text = "", names
        ops.append(_if(names, text, lines, values) if text.startswith("if ") else _plain(names, text, values))
    return ops


def _plain(result: str, text: str, values: Values) -> Op:
    """`mul %0, %x : f32`, `const 1.5 : f32` or `yield %3`."""
    text, _, dtype = text.partition(" : ")
    name, *words = text.replace(",", "").split(" ")
    if not result:
        return Op(TABLE[name], [values[w] for w in words])
    to = by_name(dtype)
    defined = values[result] = Value(to)
    row = TABLE[name]
    if row is CONST:
        return Op(row, [], {"to": to, "value": _number(words[0], to)}, [defined])
    return Op(row, [values[w] for w in words], {"to": to} if row in _TYPED else {}, [defined])


def _number(text: str, to: DType) -> bool | int | float:
    if to.is_bool:
        return _TRUTH[text]
    number: bool | int | float = to(float(text) if to.is_float else int(text))
    return number


def _if(results: str, text: str, lines: Lines, values: Values) -> Op:
    """`if %0 -> (i32, f32) {`, two regions with `} else {` between."""
    condition, _, types = text.removeprefix("if ").removesuffix(") {").partition(" -> (")
    then, orelse = (Region([], _ops(lines, values)) for _ in range(2))
    defined = [Value(by_name(name)) for name in types.split(", ")]
    values.update(zip(results.split(", "), defined, strict=True))
    return Op(IF, [values[condition]], {}, defined, [then, orelse])
