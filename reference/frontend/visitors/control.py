"""Blocks, if, while, break, continue, pass, assert, expression statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...errors import AdstackSyntaxError
from ...ir.structure import Region, Value
from ...ir.types import u1
from ...values.kinds import KernelObject
from ..emission.context import Context, Loop
from ..emission.expr import Expr
from ..emission.references import CellRef
from ..expressions.dispatch import evaluate, execute, statement
from ..expressions.lints import check_unused
from ..expressions.operators import cheap, condition
from ..expressions.printing import message_of
from ..syntax.walking import nodes_of
from ..variables import cells
from .stopping import detach

__all__ = ["block", "flag", "function_body", "guarded_by", "has_jump", "iteration", "unbroken"]


def block(context: Context, body: Sequence[ast.stmt]) -> None:
    """Lower statements in order, in a scope of their own; what can't be reached is not lowered."""
    with context.scopes.block(context.builder.loc):
        _sequence(context, body)


def _sequence(context: Context, body: Sequence[ast.stmt]) -> None:
    frame = context.frame
    around = frame.innermost
    for k, node in enumerate(body):
        before = around.jumps
        frame.rest = body[k + 1 :]
        execute(context, node)
        consumed, frame.consumed = frame.consumed, False
        if frame.jump is not None or consumed:
            return
        if around.jumps > before and k + 1 < len(body):
            guarded_by(context, around, lambda rest=body[k + 1 :]: _sequence(context, rest))  # type: ignore[misc]
            return


def guarded_by(context: Context, around: Loop, lower: Callable[[], None]) -> None:
    """Lower what follows a statement that may have left this iteration, or this function's body."""
    then, orelse = Region(), Region()
    go_on = context.builder.not_(around.skip.get().value)
    with _onwards(context, then):
        lower()
        context.builder.yield_()
    with context.builder.into(orelse):
        context.builder.yield_()
    context.builder.if_(go_on, then, orelse)


@contextmanager
def _onwards(context: Context, region: Region) -> Iterator[None]:
    """Emit into a region that takes up all that is left of the current one, also of the body of a static loop."""
    here = context.builder.region
    unrolled = [loop for loop in context.frame.loops if loop.kind == "static" and loop.region is here]
    for loop in unrolled:
        loop.region = region
    with context.builder.into(region):
        yield
    for loop in unrolled:
        loop.region = here


def function_body(context: Context) -> None:
    """Lower the whole body of the current function."""
    frame = context.frame
    body = frame.source.node.body
    frame.begin = len(frame.region.ops)
    if frame.source.returns_early:
        frame.body.skip = flag(context, "returned")
    block(context, body)


def flag(context: Context, name: str) -> CellRef:
    """A new u1 cell that is false."""
    cell = cells.Cell(name, u1)
    cells.alloc(context.builder, cell, [context.builder.const(False, u1)])
    return CellRef(cell)


# ---- if


@statement(ast.If)
def _if(context: Context, node: ast.If) -> None:
    """An `if`. If one branch jumps, the statements after the `if` become part of the other one: no flag is needed."""
    test = condition(context, node.test)
    if not isinstance(test, Expr):
        block(context, node.body if test else node.orelse)
        return
    frame, rest = context.frame, context.frame.rest
    then, orelse = Region(), Region()
    then_jump, then_leaves = _branch(context, then, node.body)
    else_jump, else_leaves = _branch(context, orelse, node.orelse)
    jump = then_jump if else_jump is not None else None
    consumed = bool(rest) and (then_jump is None) != (else_jump is None)
    if consumed:
        leaves = then_leaves if then_jump is None else else_leaves
        with _onwards(context, then if then_jump is None else orelse):
            if leaves:
                guarded_by(context, frame.innermost, lambda: _sequence(context, rest))
            else:
                _sequence(context, rest)
        jump = frame.jump
    for region in (then, orelse):
        with context.builder.into(region):
            context.builder.yield_()
    context.builder.if_(test.value, then, orelse)
    frame.jump, frame.consumed = jump, consumed


def _branch(context: Context, region: Region, body: Sequence[ast.stmt]) -> tuple[str | None, bool]:
    """Lower a branch into `region`, without its end.

    How it was left if its end can't be reached, and whether something in it may leave the iteration.
    """
    around = context.frame.innermost
    before = around.jumps
    with context.builder.into(region):
        block(context, body)
    jump, context.frame.jump = context.frame.jump, None
    return jump, around.jumps > before


# ---- loops in common


def has_jump(context: Context, body: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    """Whether a `return`, or a jump of these kinds, leaves a loop with this body, or an iteration of it."""
    if has_break(body, *kinds):
        return True
    early = context.frame.source.returns_early
    return early and any(isinstance(node, ast.Return) for node in nodes_of(*body))


def has_break(body: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    """Whether a `break` or `continue` of these kinds belongs to the loop with this body."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, (ast.For, ast.While, ast.expr)):  # no expression holds a statement
            pending.extend(ast.iter_child_nodes(node))
    return False


def iteration(context: Context, kind: str, region: Region, body: Sequence[ast.stmt], broken: CellRef | None) -> None:
    """Lower a runtime loop's body at the end of `region`."""
    skip = flag(context, "skip") if has_jump(context, body, ast.Break, ast.Continue) else None
    loop = Loop(kind, region, skip, broken, stopped=context.stopped)
    context.stopped = set()
    context.frame.loops.append(loop)
    try:
        block(context, body)
    finally:
        context.frame.loops.pop()
    if loop.stopped:
        detach(region, loop.stopped)
    context.frame.jump = None


def unbroken(context: Context, broken: CellRef | None, go_on: KernelObject) -> Value:
    """The value of `not broken and go_on()`; the latter is evaluated only if it decides."""
    if broken is None:
        result: Value = go_on()
        return result
    then, orelse = Region(), Region()
    with context.builder.into(orelse):
        value = go_on()
        if not cheap(orelse):
            context.builder.yield_(value)
    if cheap(orelse):
        context.builder.region.ops.extend(orelse.ops)
        return context.builder.and_(context.builder.not_(broken.get().value), value)
    with context.builder.into(then):
        context.builder.yield_(context.builder.const(False, u1))
    return context.builder.if_(broken.get().value, then, orelse)[0]


@statement(ast.While)
def _while(context: Context, node: ast.While) -> None:
    if node.orelse:
        context.fail(AdstackSyntaxError, "while-else is not supported", at=node.orelse[0], do="use a flag")
    broken = flag(context, "broken") if has_jump(context, node.body, ast.Break) else None
    test, body = Region(), Region()

    def go_on() -> Value:
        value = condition(context, node.test)
        return value.value if isinstance(value, Expr) else context.builder.const(value, u1)

    with context.builder.into(test):
        context.builder.yield_(unbroken(context, broken, go_on))
    with context.builder.into(body):
        iteration(context, "while", body, node.body, broken)
        context.builder.yield_()
    context.builder.while_([], test, body)
    if isinstance(node.test, ast.Constant) and node.test.value and not has_break(node.body, ast.Break):
        context.frame.jump = "return"  # nothing else ends it


# ---- break and continue


@statement(ast.Break, ast.Continue)
def _jump(context: Context, node: ast.Break | ast.Continue) -> None:
    word = "break" if isinstance(node, ast.Break) else "continue"
    loop = context.frame.loops[-1]
    if loop.kind == "static":
        if context.builder.region is not loop.region:
            context.fail(
                AdstackSyntaxError,
                f"{word} in a static loop must be under compile-time conditions",
                do="make the condition static, or the loop a runtime one",
            )
    elif word == "break" and loop.broken is None:
        context.fail(
            AdstackSyntaxError,
            "break out of a parallel loop is not supported: its iterations are unordered",
            do="use loop_config(serialize=True), or a while loop inside",
        )
    else:
        _leave(context, word, loop)
    context.frame.jump = word


def _leave(context: Context, word: str, loop: Loop) -> None:
    loop.jumps += 1
    loop.skip.set(True)
    if word == "break" and loop.broken is not None:
        loop.broken.set(True)


# ---- simple statements


@statement(ast.Pass)
def _pass(context: Context, node: ast.Pass) -> None:
    pass


@statement(ast.Expr)
def _expression(context: Context, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    frame = context.frame
    frame.calls_as_statement = node.value if isinstance(node.value, ast.Call) else None
    check_unused(context, node)
    evaluate(context, node.value)


@statement(ast.Assert)
def _assert(context: Context, node: ast.Assert) -> None:
    if isinstance(node.test, ast.Tuple) and node.test.elts:
        context.fail(
            AdstackSyntaxError,
            "an assert of a tuple always holds",
            at=node.test,
            do="write assert condition, message without parentheses",
        )
    test = condition(context, node.test)
    if not context.option("debug", False) or (not isinstance(test, Expr) and test):
        return
    message, args = message_of(context, node)
    value = test.value if isinstance(test, Expr) else context.builder.const(test, u1)
    context.builder.assert_(value, message, *args)  # noqa: PT009 - the builder's
