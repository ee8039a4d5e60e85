"""Code asks whether an op is of a row of the table by identity, and refers to rows where it makes ops or lists them.

The text form and the table itself may name ops. So may what has names of its own that happen to be the same words:
kinds of atomics, jumps of Python, attributes of arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adstack.ir.ops import ATOMICS, TABLE

ROOT = Path(__file__).parents[3]
SOURCES = ("backends", "conformance/fuzz", "conformance/harness", "reference", "tools")
TEXT_FORM = ("reference/ir/text", "reference/ir/scalar_ops.py", "reference/ir/ops.py")
IN_A_CIRCLE = ("reference/ir/functions.py",)
"""What the rows themselves need can't import them."""

COMPARISON = re.compile(r"\.name (?:==|!=|in|not in) [({]?((?:\"[^\"\n]*\"(?:, )?)+)")
MAKERS = frozenset({"append", "becomes", "defined_by", "elementwise", "emit", "make", "operate"})
"""Functions and methods that take a row."""
OTHER_WORDS = frozenset(
    {
        *ATOMICS,
        *("sub", "return"),  # an atomic function of the language; how a body is left
        *("print", "random", "load", "store", "shape", "call", "while"),  # words of launches, arrays and programs
    }
)


def compared(source: str) -> Iterator[str]:
    """The places in which a `name` is compared with nothing but names of ops."""
    for match in COMPARISON.finditer(source):
        words = re.findall(r"\"([^\"]*)\"", match[1])
        if TABLE.keys() >= set(words):
            yield match[0]


def named(source: str) -> Iterator[str]:
    """The places that name an op where its row could stand: makers of ops, looking up the table, tables and lists."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=maker) | ast.Attribute(attr=maker), args=[*args]) if maker in MAKERS:
                # `lines.append(text)` is of a list: what makes an op takes its operands, too
                words = [w for arg in args for w in _words(arg)] if maker != "append" or len(args) > 1 else []
                yield from (ast.unparse(node) for word in words if word in TABLE)
            case ast.Subscript(value=ast.Name(id="TABLE"), slice=ast.Constant(value=str(word))) if word in TABLE:
                yield ast.unparse(node)
            case ast.MatchValue(value=ast.Constant(value=str(word))) if word in TABLE:
                yield ast.unparse(node)
            case ast.Dict(keys=[*items]) | ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
                words = [w for item in items if item is not None for w in _words(item)]
                if len(words) == len(items) and words and TABLE.keys() >= set(words) and not set(words) <= OTHER_WORDS:
                    yield ast.unparse(node)


def _words(node: ast.expr) -> list[str]:
    """The strings that an expression is, one or the other."""
    match node:
        case ast.Constant(value=str(word)):
            return [word]
        case ast.IfExp(body=body, orelse=orelse):
            return _words(body) + _words(orelse)
    return []


def _sources() -> Iterator[tuple[str, str]]:
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def test_no_op_is_told_by_its_name() -> None:
    assert [(path, words) for path, source in _sources() for words in compared(source)] == []


def test_ops_are_made_and_listed_by_their_rows() -> None:
    sources = [(path, source) for path, source in _sources() if not path.startswith(TEXT_FORM + IN_A_CIRCLE)]
    assert [(path, words) for path, source in sources for words in named(source)] == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('op.name == "for"', 1),
        ('loop.op.name not in ("for", "while")', 1),
        ('kind.name == "xchg"', 0),
        ('place.name == "x"', 0),
        ("op.opdef is FOR", 0),
    ],
)
def test_such_a_comparison_is_seen(line: str, count: int) -> None:
    assert len(list(compared(line))) == count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('b.emit("sin", x)', 1),
        ('b.emit("and" if both else "or", x, y)', 2),
        ('operate("mul", a, b)', 1),
        ('defined_by(value, "cast")', 1),
        ('lines.append("add")', 0),
        ('b.append("call", operands, types)', 1),
        ('TABLE["if"]', 1),
        ('{"div": divide, "sqrt": root}', 1),
        ('(TABLE[name] for name in ("floor", "ceil"))', 1),
        ('match op.name:\n    case "neg":\n        pass', 1),
        ('{"add": atomic_add, "min": atomic_min}', 0),
        ('{"sin": sine, "length": length}', 0),
        ("b.emit(SIN, x)", 0),
    ],
)
def test_such_a_name_is_seen(line: str, count: int) -> None:
    assert len(list(named(line))) == count
