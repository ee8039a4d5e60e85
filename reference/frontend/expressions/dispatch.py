"""The visitors of statements and expressions, by syntax node type, and the way into them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from ...errors import AdstackSyntaxError
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..emission.references import ScalarRef, is_live
from ..emission.structs import is_live_struct
from .plain_reads import look_at

__all__ = ["dereferenced", "evaluate", "execute", "expression", "lookup", "statement"]

Visitor = Callable[[Context, KernelObject], KernelObject]
_EXPRESSIONS: Final[dict[type[ast.AST], Visitor]] = {}
STATEMENTS: Final[dict[type[ast.AST], Visitor]] = {}

_INSTEAD: Final[dict[str, tuple[str, str]]] = {
    "Try": ("try", "check values with if"),
    "TryStar": ("try", "check values with if"),
    "Raise": ("raise", "use assert, which acts under debug=True"),
    "Lambda": ("lambda", "define a @func, or a lambda outside of the kernel"),
    "Global": ("global", "use a field for state that outlives the kernel"),
    "Nonlocal": ("nonlocal", "use a field for state that outlives the kernel"),
    "With": ("with", "put the `with` around the call of the kernel"),
    "AsyncWith": ("async with", "put it around the call of the kernel"),
    "AsyncFor": ("async for", "write a plain for"),
    "Await": ("await", "call the kernel from the coroutine"),
    "Yield": ("yield", "store results in a field or ndarray"),
    "YieldFrom": ("yield from", "store results in a field or ndarray"),
    "FunctionDef": ("def", "define a @func outside of the kernel"),
    "AsyncFunctionDef": ("async def", "define a @func outside of the kernel"),
    "ClassDef": ("class", "define the class outside of the kernel"),
    "Import": ("import", "import at the top of the module"),
    "ImportFrom": ("import", "import at the top of the module"),
    "Delete": ("del", "names end with their block"),
    "Match": ("match", "write if and elif"),
    "Set": ("a set", "use a tuple"),
    "SetComp": ("a set comprehension", "use a list comprehension"),
    "GeneratorExp": ("a generator expression", "use a list comprehension"),
    "Slice": ("a slice", "Slicing is not supported here: index elements in a loop"),
}


def expression(*kinds: type[ast.AST]) -> Callable[[Visitor], Visitor]:
    """Register the visitor of these expressions; it may give back a reference."""

    def register(visitor: Visitor) -> Visitor:
        _EXPRESSIONS.update(dict.fromkeys(kinds, visitor))
        return visitor

    return register


def statement(*kinds: type[ast.AST]) -> Callable[[Visitor], Visitor]:
    """Register the visitor of these statements."""

    def register(visitor: Visitor) -> Visitor:
        STATEMENTS.update(dict.fromkeys(kinds, visitor))
        return visitor

    return register


def _visit(table: dict[type[ast.AST], Visitor], context: Context, node: ast.AST) -> KernelObject:
    with context.at(node):
        visitor = table.get(type(node))
        if visitor is None:
            what, instead = _INSTEAD.get(type(node).__name__, (type(node).__name__, "write it in simpler terms"))
            context.fail(AdstackSyntaxError, f"{what} is not supported in kernels", do=instead)
        return visitor(context, node)


def execute(context: Context, node: ast.stmt) -> None:
    """Lower a statement."""
    frame = context.frame
    outer = frame.statement_region, frame.statement_depth
    frame.statement_region, frame.statement_depth = context.builder.region, frame.scopes.depth
    try:
        _visit(STATEMENTS, context, node)
    finally:
        frame.statement_region, frame.statement_depth = outer


def lookup(context: Context, node: ast.expr) -> KernelObject:
    """Lower an expression; names and elements that can be assigned to come back as references."""
    value = _visit(_EXPRESSIONS, context, node)
    look_at(context, value)
    return value


def evaluate(context: Context, node: ast.expr) -> KernelObject:
    """Lower an expression to its value now: an object known at compile time, or runtime scalars."""
    value = lookup(context, node)
    if isinstance(value, (ScalarRef, Elements, Struct)):
        with context.at(node):
            return dereferenced(value)
    return value


def dereferenced(value: KernelObject) -> KernelObject:
    """The value now of a reference; other objects as they are."""
    if isinstance(value, ScalarRef):
        return value.get()
    if is_live_struct(value):
        return Struct.copy(value)  # a member may be called `copy`
    return value.copy() if is_live(value) else value
