"""For loops: parallel at the top of a kernel, serial elsewhere, unrolled over `static(...)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Op, Region, Value
from ...values.compile_time import static
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..emission.context import Context, Loop
from ..emission.expr import Expr
from ..emission.literals import describe, plain
from ..emission.references import CellRef, ScalarRef
from ..expressions.dicts import VariableDict
from ..expressions.dispatch import dereferenced, evaluate, lookup, statement
from ..expressions.foreign import guarded
from ..expressions.lints import check_values, warn_at
from ..expressions.lists import VariableList, references_in
from ..expressions.operators import condition
from ..expressions.races import check_races
from ..syntax.source import assigned_in
from ..syntax.walking import nodes_of
from ..variables import cells
from .assignment import declare, is_reference
from .blocks import block_of, parallel_loop
from .control import block, flag, guarded_by, has_jump, iteration, unbroken
from .domains import Domain, domain_of
from .sparse_loops import as_it_was, for_active

__all__: list[str] = []


@statement(ast.For)
def _for(context: Context, node: ast.For) -> None:
    if node.orelse:
        context.fail(AdstackSyntaxError, "for-else is not supported", at=node.orelse[0], do="use a flag")
    hints, context.loop_hints = context.loop_hints, {}
    is_static, iterable = _iterable(context, node.iter)
    if is_static:
        _unrolled(context, node, iterable)
        return
    check_values(context, node, iterable)
    with context.at(node.iter):
        domain = domain_of(context, iterable)
    if context.at_top and context.frame.may_parallelise and not hints.get("serialize") and domain.bounds:
        _parallel(context, node, domain, hints.get("block_dim"))
    else:
        _serial(context, node, domain)


def _iterable(context: Context, node: ast.expr) -> tuple[bool, KernelObject]:
    """What a loop runs over, and whether `static(...)` is around it."""
    if isinstance(node, ast.IfExp):
        test = condition(context, node.test)
        if isinstance(test, Expr):
            context.fail(
                AdstackTypeError,
                "the condition of a loop's iterable must be static",
                at=node.test,
                do="write static(...)",
            )
        return _iterable(context, node.body if test else node.orelse)
    is_static = isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
    if is_static and isinstance(node, ast.Call):
        is_static = lookup(context, node.func) is static
    return is_static, evaluate(context, node)


# ---- targets


def _changed(context: Context, node: ast.For) -> Mapping[str, bool]:
    """The loop's own variables that its body assigns to: locals that each iteration begins with its own value.

    It tells whether they are assigned to as a whole: of others a part is, and what is changed may be a list's element.
    """
    assigned = context.frame.source.assigned
    names = frozenset(n.id for n in nodes_of(node.target) if isinstance(n, ast.Name) and n.id in assigned)
    if not names:
        return {}
    inside = [n for n in nodes_of(*node.body) if isinstance(n, ast.Name)]
    whole = {n.id for n in inside if isinstance(n.ctx, ast.Store)}
    return {name: name in whole for name in names & assigned_in(node.body)}


def _bind(context: Context, target: ast.expr, points: Sequence[KernelObject], changed: Mapping[str, bool]) -> None:
    """Bind the loop's targets to the components of a point."""
    targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    with context.at(target):
        if len(targets) != len(points):
            context.fail(
                AdstackTypeError,
                f"{len(targets)} loop variables can't take {len(points)} indices",
                do="name one per axis",
            )
        for part, value in zip(targets, points, strict=False):
            _bind_one(context, part, value, changed)


def _bind_one(context: Context, target: ast.expr, value: object, changed: Mapping[str, bool]) -> None:
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list, Elements)):
        _bind(context, target, list(value), changed)
        return
    if not isinstance(target, ast.Name):
        context.fail(AdstackSyntaxError, "a loop variable must be a name", do="assign inside the loop")
    if target.id != "_" and context.scopes.find(target.id) is not None:
        context.fail(
            AdstackSyntaxError,
            f"loop variable '{target.id}' shadows a variable of the same name",
            at=target,
            do="rename one of them",
        )
    value = dereferenced(value) if isinstance(value, ScalarRef) else value
    in_parts_of_another = is_reference(value) or isinstance(value, (VariableList, VariableDict))
    if target.id in changed and (changed[target.id] or not in_parts_of_another):
        declare(context, target.id, dereferenced(value))
        return
    _name_value(target.id, value)
    context.scopes.bind(target.id, value, "loop", context.builder.loc, context.builder.region)


def _name_value(name: str, value: object) -> None:
    if isinstance(value, Expr) and not value.value.name:
        value.value.name = name


# ---- kinds of loops


def _unrolled(context: Context, node: ast.For, iterable: KernelObject) -> None:
    """Unroll a loop: lower one copy of its body per element."""
    loop = Loop("static", context.builder.region)
    context.frame.loops.append(loop)
    items = guarded(
        context, lambda: list(references_in(iterable)), do="static loops run over what is known while compiling"
    )
    limit = context.option("unrolling_limit", 0)
    if limit and len(items) > limit:
        _warn_unrolled(context, len(items), limit)
    around = context.frame.innermost
    before = around.jumps
    try:
        for item in items:
            if around.jumps > before:
                guarded_by(context, around, lambda item=item: _copy(context, node, item))  # type: ignore[misc]
            else:
                _copy(context, node, item)
            jump = context.frame.jump
            context.frame.jump = jump if jump == "return" else None
            if jump in ("break", "return"):
                break
    finally:
        context.frame.loops.pop()


def _copy(context: Context, node: ast.For, item: KernelObject) -> None:
    with context.scopes.block(context.builder.loc):
        _bind_static(context, node.target, plain(item), _changed(context, node))
        block(context, node.body)


def _warn_unrolled(context: Context, count: int, limit: int) -> None:
    loc = context.builder.loc
    warn_at(context, loc, f"{loc}: a static loop is unrolled {count} times (unrolling_limit={limit})")


def _bind_static(context: Context, target: ast.expr, item: object, changed: Mapping[str, bool]) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        if not isinstance(item, (tuple, list, Elements)):
            context.fail(AdstackTypeError, f"{describe(item)} can't be unpacked", at=target, do="name one variable")
        _bind(context, target, list(references_in(item)), changed)
    else:
        item = item[0] if isinstance(item, tuple) and len(item) == 1 and _is_point(context, item) else item
        _bind(context, target, [item], changed)


def _is_point(context: Context, item: tuple[KernelObject, ...]) -> bool:
    return isinstance(item[0], int)


def _parallel(context: Context, node: ast.For, domain: Domain, block_dim: object) -> None:
    check_races(context, node)
    body = Region([Value(lo.type) for lo, _ in domain.bounds])
    with block_of(context, block_dim) as block, context.region(body):
        test = _iteration(context, node, domain, body.args, ("parallel", None))
        context.builder.yield_()
    if test is not None:
        as_it_was(context, domain.cells[-1].level, test, body)
    parallel_loop(context, block, domain.bounds, body, sparse=test is not None)


def _iteration(
    context: Context, node: ast.For, domain: Domain, values: Sequence[Value], how: tuple[str, CellRef | None]
) -> Op | None:
    """Lower an iteration into the current region: `how` is the kind of the loop, and what breaks it.

    Returns:
        the load that tells whether it is left out, in a loop over what is active.
    """
    kind, broken = how
    indices = domain.indices(values)

    def lower() -> None:
        _bind(context, node.target, domain.targets(indices), _changed(context, node))
        iteration(context, kind, context.builder.region, node.body, broken)

    if not domain.cells:
        lower()
        return None
    return for_active(context, domain.cells, domain.offsets, indices, lower)


def _serial(context: Context, node: ast.For, domain: Domain) -> None:
    broken = flag(context, "broken") if has_jump(context, node.body, ast.Break) else None

    def inside(indices: list[Value]) -> None:
        with context.scopes.block(context.builder.loc):
            _iteration(context, node, domain, indices, ("serial", broken))

    _nest(context, domain.bounds, [], inside, broken)


def _nest(
    context: Context,
    bounds: Sequence[tuple[Value, Value]],
    indices: list[Value],
    inside: Callable[[list[Value]], None],
    broken: CellRef | None,
) -> None:
    """Nest one loop per axis around the body."""
    if not bounds:
        inside(indices)
        return

    def deeper(index: Value) -> None:
        _nest(context, bounds[1:], [*indices, index], inside, broken)

    if broken is None:
        _counted(context, *bounds[0], deeper)
    else:
        _breakable(context, *bounds[0], deeper, broken)


def _counted(context: Context, lo: Value, hi: Value, deeper: Callable[[Value], None]) -> None:
    body = Region([Value(lo.type)])
    with context.builder.into(body):
        deeper(body.args[0])
        context.builder.yield_()
    context.builder.for_(lo, hi, [], body)


def _breakable(context: Context, lo: Value, hi: Value, deeper: Callable[[Value], None], broken: CellRef) -> None:
    """Lower a loop that `break` can end, as a `while` that counts."""
    builder = context.builder
    counter = cells.Cell("", lo.dtype)
    cells.alloc(builder, counter, [lo])
    test, body = Region(), Region()
    with builder.into(test):
        builder.yield_(unbroken(context, broken, lambda: builder.lt(cells.read(builder, counter), hi)))
    with builder.into(body):
        index = cells.read(builder, counter)
        deeper(index)
        cells.write(builder, counter, builder.add(index, builder.const(1, lo.dtype)))
        builder.yield_()
    builder.while_([], test, body)
