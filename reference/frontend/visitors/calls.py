"""Calls: of funcs, which are inlined; of the language's functions; of plain Python, which runs while compiling."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial
from types import MethodType

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.types import DType, u1
from ...values.atomics import KIND_OF
from ...values.calling import called
from ...values.compile_time import block_local, loop_config, static, stop_grad
from ...values.elements import Elements
from ...values.func import BoundFunc, Func
from ...values.functions import cast
from ...values.host_access import without_memory
from ...values.kinds import KernelObject, PythonFunction
from ...values.protocol import emitting, own
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number
from ..emission.references import ScalarRef
from ..emission.type_promotion import literal
from ..expressions.dispatch import dereferenced, evaluate, expression, lookup
from ..expressions.foreign import guarded
from ..expressions.plain_reads import capture_reads
from ..expressions.printing import formatted, is_runtime
from . import builtin
from .collections import as_mapping, elements_of
from .domains import RuntimeRange
from .inlining import inline
from .once import refuse_once
from .stopping import stop
from .whole import of_whole

__all__: list[str] = []


@expression(ast.Call)
def _call(context: Context, node: ast.Call) -> KernelObject:
    statement = context.frame.calls_as_statement is node
    context.frame.calls_as_statement = None
    function = lookup(context, node.func)
    if isinstance(function, ScalarRef):
        function = function.get()
    if function is static:
        return _static(context, node)
    function = of_whole(context, function)
    if isinstance(function, Func):
        return inline(context, function, *_references(context, node), statement)
    if isinstance(function, MethodType) and isinstance(function.__func__, Func):
        function = BoundFunc(function.__func__, function.__self__)
    if isinstance(function, BoundFunc):
        args, kwargs = _references(context, node)
        return inline(context, function.func, [function.owner, *args], kwargs, statement, owned=True)
    if _hashable(context, function) and function in KIND_OF:
        return _atomic(context, node, function)
    args, kwargs = _arguments(context, node)
    home = _home(context, node.func, function)
    guarded(context, lambda: refuse_once(context, function, args, home))  # attributes of a user's own may fail
    _refuse(context, node, function)
    return _plain_call(context, function, args, kwargs)


def _home(context: Context, function: ast.expr, method: KernelObject) -> object:
    """The region in which a method's object got its name; None if that is from outside of the kernel."""
    owner = own(method, "__self__")
    if owner is not None and any(owner is value for value in context.scopes.outer.values()):
        return None
    root = function.value if isinstance(function, ast.Attribute) else None
    while isinstance(root, ast.Subscript):
        root = root.value
    if isinstance(root, ast.Attribute):
        return None
    binding = context.scopes.find(root.id) if isinstance(root, ast.Name) else None
    if binding is not None:
        return binding.region
    return None if isinstance(root, ast.Name) else context.builder.region


def _hashable(context: Context, function: object) -> bool:
    if isinstance(function, Expr) or getattr(type(function), "__hash__", None) is None:
        return False
    guarded(context, lambda: hash(function))  # a user's own may fail
    return True


def _keywords(
    context: Context, node: ast.Call, value: Callable[[Context, ast.expr], KernelObject]
) -> dict[str, KernelObject]:
    named: dict[str, KernelObject] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            named |= _named(context, as_mapping(context, evaluate(context, keyword.value)))
        else:
            named[keyword.arg] = value(context, keyword.value)
    return named


def _named(context: Context, mapping: dict[KernelObject, KernelObject]) -> dict[str, KernelObject]:
    """The keywords that a mapping stands for."""
    for name in mapping:
        if not isinstance(name, str):
            context.fail(AdstackTypeError, "keywords must be strings", note=f"got {name!r}", do="write names as keys")
    return mapping


def _arguments(context: Context, node: ast.Call) -> tuple[list[KernelObject], dict[str, KernelObject]]:
    return elements_of(context, node.args), _keywords(context, node, evaluate)


def _references(context: Context, node: ast.Call) -> tuple[list[KernelObject], dict[str, KernelObject]]:
    """The arguments of a func, as references where they can be assigned to."""
    args: list[KernelObject] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            args.extend(elements_of(context, [arg]))
        else:
            args.append(lookup(context, arg))
    return args, _keywords(context, node, lookup)


def _atomic(context: Context, node: ast.Call, function: PythonFunction) -> KernelObject:
    """An atomic's first argument is what it changes."""
    if not node.args or isinstance(node.args[0], ast.Starred):
        context.fail(
            AdstackTypeError, "an atomic needs the element that it changes as first argument", do="write x[i] first"
        )
    target = lookup(context, node.args[0])
    args = [target, *elements_of(context, node.args[1:])]
    named = _keywords(context, node, evaluate)
    return guarded(context, lambda: called(function, lambda: function(*args, **named), args, named))


def _static(context: Context, node: ast.Call) -> KernelObject:
    """`static(...)`: what is inside must be known while compiling."""
    context.static_depth += 1
    try:
        with emitting(None):
            args, kwargs = _arguments(context, node)
    finally:
        context.static_depth -= 1
    for arg in args:
        if isinstance(arg, (Expr, RuntimeRange)):
            note = f"this is a runtime {arg.dtype}" if isinstance(arg, Expr) else "its bounds are runtime values"
            context.fail(
                AdstackTypeError, "arguments of static must be compile-time constants", note=note, do="drop static(...)"
            )
    return guarded(context, lambda: static(*args, **kwargs))


_LOOP_SETTINGS = inspect.signature(loop_config)


def _plain_call(
    context: Context, function: KernelObject, args: list[KernelObject], kwargs: dict[str, KernelObject]
) -> KernelObject:
    if isinstance(function, DType):
        return _conversion(context, function, args, kwargs)
    if function is loop_config:
        bind = _LOOP_SETTINGS.bind
        bound = guarded(context, lambda: called(loop_config, lambda: bind(*args, **kwargs), args, kwargs))
        context.loop_hints = dict(bound.arguments)
        return None
    if function is block_local:
        return None
    if function is stop_grad:
        return stop(context, *args)
    if _hashable(context, function) and function in builtin.TABLE:
        meaning = partial(builtin.TABLE[function], context)
        return guarded(context, lambda: called(function, lambda: meaning(*args, **kwargs), args, kwargs))
    template = own(function, "__self__")
    if isinstance(template, str) and function.__name__ == "format" and any(map(is_runtime, [*args, *kwargs.values()])):
        return formatted(context, template, args, kwargs)
    run = partial(function, *args, **kwargs)
    if not context.static_depth:  # inside of static the program says that once is meant
        run = partial(without_memory, str(own(function, "__name__", "it")), run)
    result = guarded(context, lambda: called(function, run, args, kwargs))
    guarded(context, lambda: capture_reads(context, function, [*args, *kwargs.values()], result))
    return result


def _refuse(context: Context, node: ast.Call, function: object) -> None:
    if not callable(function):
        name = ast.unparse(node.func)
        do = f"write {name} * (...) for a product, or {name}[...] for an element"
        if function is None:
            do = f"give {name} a value before the kernel is compiled"
        context.fail(AdstackTypeError, f"{name} is {describe(function)}, which can't be called", do=do)
    if inspect.iscoroutinefunction(function):
        context.fail(AdstackSyntaxError, "a coroutine can't be called in a kernel", do="make it a plain function")


def _conversion(context: Context, to: DType, args: list[KernelObject], kwargs: dict[str, KernelObject]) -> KernelObject:
    """`f32(x)` casts; `i64(3)` is a literal of that type, which it must fit."""
    if len(args) != 1 or kwargs:
        context.fail(AdstackTypeError, f"{to}(x) takes one argument, got {len(args) + len(kwargs)}", do="give it one")
    (value,) = (dereferenced(a) for a in args)
    if is_number(value) and context.static_depth:
        return to(value)
    if isinstance(value, int) and to is not u1:
        return Expr(literal(value, to))
    if isinstance(value, (Expr, Elements)) or is_number(value):
        return cast(value, to)
    return context.fail(AdstackTypeError, f"{to}(x) takes a number or a vector", do="give it one of them")
