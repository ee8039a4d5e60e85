"""Attributes, and tuples, lists, dicts and comprehensions, which exist while compiling only."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable

import numpy as np

from ...absent import absent
from ...errors import (
    AdstackAttributeError,
    AdstackError,
    AdstackNameError,
    AdstackSyntaxError,
    AdstackTypeError,
    AdstackValueError,
)
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ...values.matrices.swizzles import positions_of
from ...values.names import OUTLINE
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number, plain, suggestion
from ..emission.references import ScalarRef, is_live, references_of
from ..emission.references import live as live_matrix
from ..emission.structs import is_live_struct, member_reference
from ..expressions.captures import capture, capture_outline
from ..expressions.dispatch import dereferenced, evaluate, expression, lookup
from ..expressions.foreign import guarded
from ..expressions.operators import condition

__all__ = ["as_mapping", "elements_of"]


def elements_of(context: Context, nodes: list[ast.expr]) -> list[KernelObject]:
    """The values of expressions in order, starred ones spread."""
    items: list[KernelObject] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            spread = evaluate(context, node.value)
            items.extend(map(dereferenced, guarded(context, lambda spread=spread: list(spread))))  # type: ignore[misc]
        else:
            items.append(evaluate(context, node))
    return items


def as_mapping(context: Context, value: KernelObject) -> dict[KernelObject, KernelObject]:
    """What `**value` stands for."""
    if not hasattr(type(value), "keys"):
        context.fail(AdstackTypeError, "** takes a dict", note=f"got {describe(value)}", do='write **{"name": value}')
    return guarded(context, lambda: dict(value))  # type: ignore[no-any-return]


@expression(ast.Tuple)
def _tuple(context: Context, node: ast.Tuple) -> KernelObject:
    return tuple(elements_of(context, node.elts))


@expression(ast.List)
def _list(context: Context, node: ast.List) -> KernelObject:
    return elements_of(context, node.elts)


@expression(ast.Dict)
def _dict(context: Context, node: ast.Dict) -> KernelObject:
    entries: dict[KernelObject, KernelObject] = {}
    for key, value in zip(node.keys, node.values, strict=False):
        if key is None:
            entries |= as_mapping(context, evaluate(context, value))
        else:
            entry = evaluate(context, key), evaluate(context, value)
            entries |= guarded(context, lambda entry=entry: dict([entry]))  # type: ignore[misc]
    return entries


@expression(ast.ListComp)
def _comprehension(context: Context, node: ast.ListComp) -> KernelObject:
    items: list[KernelObject] = []
    with context.scopes.block(context.builder.loc):
        _generate(context, node.generators, lambda: items.append(evaluate(context, node.elt)))
    return items


@expression(ast.DictComp)
def _dict_comprehension(context: Context, node: ast.DictComp) -> KernelObject:
    entries: dict[KernelObject, KernelObject] = {}

    def enter() -> None:
        key, value = evaluate(context, node.key), evaluate(context, node.value)
        if isinstance(key, (Expr, Elements)):
            do = "count with what is known while compiling, or keep the values in a field or a vector"
            context.fail(AdstackTypeError, "the keys of a dict must be compile-time constants", at=node.key, do=do)
        guarded(context, lambda: entries.update([(key, value)]))

    with context.scopes.block(context.builder.loc):
        _generate(context, node.generators, enter)
    return entries


def _generate(context: Context, generators: list[ast.comprehension], enter: Callable[[], None]) -> None:
    """Call `enter` in a scope with every item of these generators."""
    if not generators:
        enter()
        return
    generator, *rest = generators
    iterable = evaluate(context, generator.iter)
    for item in guarded(context, lambda: list(iterable)):
        with context.scopes.block(context.builder.loc):
            _bind(context, generator.target, plain(item))
            if all(_passes(context, test) for test in generator.ifs):
                _generate(context, rest, enter)


def _bind(context: Context, target: ast.expr, item: KernelObject) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        values = guarded(context, lambda: list(item))
        if len(values) != len(target.elts):
            message = f"cannot unpack {len(values)} values into {len(target.elts)}"
            context.fail(AdstackValueError, message, at=target, do="name each value")
        for part, value in zip(target.elts, values, strict=True):
            _bind(context, part, value)
    elif isinstance(target, ast.Name):
        context.scopes.bind(target.id, item, "loop", context.builder.loc, context.builder.region)
    else:
        context.fail(AdstackSyntaxError, "the targets of a comprehension are names", at=target, do="use a new name")


def _passes(context: Context, test: ast.expr) -> bool:
    value = condition(context, test)
    if isinstance(value, Expr):
        do = "take all, and choose by select(condition, a, b), or write a loop with an if"
        context.fail(AdstackTypeError, "conditions of a comprehension must be compile-time constants", at=test, do=do)
    return bool(value)


# ---- attributes


@expression(ast.Attribute)
def _attribute(context: Context, node: ast.Attribute) -> KernelObject:
    before = len(context.captured)
    base = lookup(context, node.value)
    if isinstance(base, np.ndarray) and node.attr in OUTLINE:
        capture_outline(context, before, base)
    if is_live(base) and _is_swizzle(base, node.attr):
        picked = getattr(references_of(base), node.attr)
        return live_matrix(picked) if isinstance(picked, Elements) else picked
    if is_live_struct(base) and (member := member_reference(base, node.attr)) is not None:
        return member
    if isinstance(base, ScalarRef):
        base = base.get()
    if isinstance(base, Elements) and node.attr not in ("fill", "assign"):
        base = dereferenced(base)
    return _member(context, base, node.attr)


def _is_swizzle(base: Elements, name: str) -> bool:
    return positions_of(name) is not None


def _member(context: Context, base: object, name: str) -> KernelObject:
    def read() -> KernelObject:
        try:
            return getattr(base, name)
        except AdstackAttributeError as error:
            raise AdstackNameError(error.message, loc=context.builder.loc, do=error.do) from error
        except AdstackError:
            raise
        except AttributeError as error:
            raise _without(context, base, name) from error

    value = guarded(context, read)
    capture(context, base, name, value)
    return plain(value)


def _without(context: Context, base: object, name: str) -> AdstackError:
    """The error for an attribute that is not there."""
    kind = AdstackNameError if isinstance(base, types.ModuleType) else AdstackTypeError
    row = absent("a number", name) if isinstance(base, Expr) or is_number(base) else None
    if row is not None:
        return kind(f"a number has no '{name}': {row.why}", loc=context.builder.loc, do=row.do)
    what = f"module {base.__name__}" if isinstance(base, types.ModuleType) else describe(base)
    do = suggestion(name, dir(base))
    if not do and (isinstance(base, Expr) or is_number(base)):
        do = "vectors and matrices have methods; a number is an operand of functions, as in qd.abs(x)"
    elif not do and isinstance(base, Elements):
        do = "use one of its methods, such as norm, dot, sum, max; or a func of yours"
    elif not do and not isinstance(base, types.ModuleType):
        do = f"give it a value before the kernel is called: {name} = ..., or in __init__"
    return kind(f"{what} has no attribute '{name}'", loc=context.builder.loc, do=do)
