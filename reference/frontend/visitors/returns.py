"""Return statements of kernels and funcs.

A `return` under run-time control flow leaves the loops around it as `break` does, stores its value to a local of the
function, and sets a flag that what follows is guarded by. Values are stored last, when the types of all are known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ...errors import AdstackSyntaxError, AdstackTypeError, InternalError
from ...ir.structure import Op, Region, Value
from ...ir.types import DType
from ...values.elements import Elements, as_elements
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ...values.specs import MatrixSpec, ScalarSpec, Spec, StructSpec, TupleSpec
from ..emission.context import Context, Frame, Returned
from ..emission.expr import Expr
from ..emission.literals import describe, is_number
from ..emission.structs import live_struct
from ..emission.type_promotion import common, typed
from ..expressions.dicts import VariableDict
from ..expressions.dispatch import dereferenced, evaluate, statement
from ..expressions.indexing import indexable
from ..expressions.lists import VariableList
from .assignment import is_reference, local, store

__all__ = ["flattened", "now", "put", "result_of", "types_of"]


@statement(ast.Return)
def _return(context: Context, node: ast.Return) -> None:
    frame = context.frame
    if any(loop.kind == "parallel" for loop in frame.loops):
        context.fail(
            AdstackSyntaxError,
            "Return inside non-static if/for is not supported where the loop is parallel: its iterations are unordered",
            do="write loop_config(serialize=True) before the loop, or assign to a local and return it at the end",
        )
    value = None if node.value is None else evaluate(context, node.value)
    value = _settled(context, value)
    if frame.convert is not None:
        value = frame.convert(context, value)
    frame.result_node = frame.result_node or node
    frame.jump = "return"
    if context.builder.region is frame.region and not any(loop.kind != "static" for loop in frame.loops):
        frame.result = value
    else:
        _leave(context, node, value)


def _settled(context: Context, value: KernelObject) -> KernelObject:
    """A returned value as it is now: variables of the function in lists and tuples end with it."""
    if isinstance(value, VariableList):
        return [_settled(context, item) for item in value] if value.owner is context.frame else value
    if isinstance(value, VariableDict):
        is_own = value.owner is context.frame
        return {key: _settled(context, entry) for key, entry in value.items()} if is_own else value
    if type(value) is tuple:
        return tuple(_settled(context, item) for item in value)
    return dereferenced(value)


def _leave(context: Context, node: ast.Return, value: KernelObject) -> None:
    """A return under run-time control flow: every loop around it ends, and the rest of the function is skipped."""
    frame = context.frame
    for loop in (frame.body, *frame.loops):
        if loop.kind != "static":
            loop.jumps += 1
            loop.skip.set(True)
        if loop.broken is not None:
            loop.broken.set(True)
    region = context.builder.region
    frame.returns.append(Returned(value, node, region, region.ops[-1]))


def result_of(context: Context) -> KernelObject:
    """What the current function returns, its body being lowered."""
    frame = context.frame
    if not frame.returns:
        return frame.result
    values = [returned.value for returned in frame.returns]
    if all(value is None for value in values):
        return None
    with context.at(frame.returns[0].node):
        _check_complete(context, frame)
        allocations = Region()
        with context.builder.into(allocations):
            target = _target(context, values)
    for returned in frame.returns:
        with context.at(returned.node):
            _insert(context, returned.region, returned.mark, partial(put, context, target, returned.value))
    frame.region.ops[frame.begin : frame.begin] = allocations.ops
    return now(target)


def _check_complete(context: Context, frame: Frame) -> None:
    """Every way through a function that returns a value ends with one."""
    name = frame.source.name
    do = "end every branch with a return, or the function with one"
    for returned in frame.returns:
        if returned.value is None:
            message = f"{name} returns a value elsewhere, and none here"
            context.fail(AdstackSyntaxError, message, at=returned.node, do=do)
    if frame.jump != "return":
        context.fail(AdstackSyntaxError, f"{name} returns a value here, and may end without one", do=do)


def _insert(context: Context, region: Region, mark: Op, emit: Callable[[], None]) -> None:
    """Emit ops before `mark`."""
    ops = Region()
    with context.builder.into(ops):
        emit()
    at = next(k for k, op in enumerate(region.ops) if op is mark)
    region.ops[at:at] = ops.ops


def _target(context: Context, values: list[KernelObject]) -> KernelObject:
    """A new local that can hold any of these values."""
    first = values[0]
    if all(isinstance(v, Expr) or is_number(v) for v in values):
        return local(context, "returned", 0, common(*values))
    if isinstance(first, Elements) and all(isinstance(v, Elements) and v.shape == first.shape for v in values):
        dtype = common(*(e for v in values for e in ([Expr(Value(v.dtype))] if v.dtype else v.entries)))
        return local(context, "returned", first.map(lambda _: 0), dtype)
    if isinstance(first, Struct) and all(isinstance(v, Struct) and set(v.keys()) == set(first.keys()) for v in values):
        alternatives = [dict(v.items()) for v in values]
        members = {name: _target(context, [a[name] for a in alternatives]) for name in alternatives[0]}
        return live_struct(members, first.type)
    kind = tuple if isinstance(first, tuple) else list
    if isinstance(first, kind) and all(isinstance(v, kind) and len(v) == len(first) for v in values):
        with context.builder.into(Region()):  # what is read of lists here tells types alone
            columns = list(zip(*values, strict=True))
        return kind(_target(context, list(items)) for items in columns)
    if all(v is first for v in values):
        return first
    shown = " and ".join(describe(v) for v in values)
    return context.fail(
        AdstackTypeError,
        f"{context.frame.source.name} returns {shown}, which can't be chosen between while the kernel runs",
        do="return numbers, vectors, structs or tuples of the same shape everywhere",
    )


def put(context: Context, target: KernelObject, value: KernelObject) -> None:
    """Store what is returned to what `_target` gave; what is the same object in every return needs no place."""
    if is_reference(target):
        store(context, target, value, "the value returned")
    elif isinstance(target, (tuple, list)):
        for part, item in zip(target, value, strict=True):
            put(context, part, item)


def now(target: KernelObject) -> KernelObject:
    """The value of a place, or a tuple of places, for what is returned."""
    if isinstance(target, (tuple, list)):
        return type(target)(now(part) for part in target)
    return dereferenced(target)


def types_of(spec: Spec | None) -> tuple[DType, ...]:
    """The scalar types that a return annotation flattens to."""
    if isinstance(spec, ScalarSpec):
        return (spec.dtype,)
    if isinstance(spec, MatrixSpec):
        count = 1
        for extent in spec.shape:
            count *= extent
        return (spec.dtype,) * count
    if isinstance(spec, TupleSpec):
        return tuple(t for member in spec.members for t in types_of(member))
    if isinstance(spec, StructSpec):
        return tuple(t for _, member in spec.members for t in types_of(member))
    return ()


def flattened(context: Context, spec: Spec, value: object) -> list[Value]:
    """What a kernel returns, cast to its annotation, as scalars in order."""
    if isinstance(spec, ScalarSpec):
        if not (isinstance(value, Expr) or is_number(value)):
            _mismatch(context, f"a {spec.dtype}", value)
        return [typed(value, spec.dtype)]
    if isinstance(spec, MatrixSpec):
        return _matrix(context, spec, value)
    if isinstance(spec, TupleSpec):
        return _tuple(context, spec, value)
    if isinstance(spec, StructSpec):
        if not all(hasattr(value, name) for name, _ in spec.members):
            _mismatch(context, "a struct", value)
        return [v for name, member in spec.members for v in flattened(context, member, getattr(value, name))]
    raise InternalError(f"a kernel can't return the spec {spec!r}")


def _matrix(context: Context, spec: MatrixSpec, value: object) -> list[Value]:
    value = as_elements(value)
    if not isinstance(value, Elements) or value.shape != spec.shape:
        _mismatch(context, f"{spec.dtype} elements of shape {spec.shape}", value)
    return [typed(e, spec.dtype) for e in value.entries]


def _tuple(context: Context, spec: TupleSpec, value: object) -> list[Value]:
    if not isinstance(value, (tuple, list)) or len(value) != len(spec.members):
        _mismatch(context, in_a_tuple(len(spec.members)), value)
    return [v for member, item in zip(spec.members, value, strict=False) for v in flattened(context, member, item)]


def _mismatch(context: Context, wanted: str, value: object) -> NoReturn:
    together = isinstance(value, (tuple, list))
    shown = in_a_tuple(len(value)) if isinstance(value, (tuple, list)) else describe(value)
    alone = wanted == in_a_tuple(1) and not together
    do = "index it: x[i], or x[None] for rank 0" if indexable(value) else "change one of them"
    context.fail(
        AdstackTypeError,
        f"the kernel is annotated to return {wanted}",
        note=f"got {shown}",
        do="annotate the type without brackets, or return (value,)" if alone else do,
    )


def in_a_tuple(count: int) -> str:
    """So many values that are returned together, for messages."""
    return "a tuple of 1 value" if count == 1 else f"{count} values"
