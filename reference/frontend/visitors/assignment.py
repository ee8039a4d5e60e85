"""Names and assignments: declaring locals, storing, unpacking, augmented assignment."""

from __future__ import annotations

import ast
from functools import partial

from ...errors import AdstackNameError, AdstackSyntaxError, AdstackTypeError
from ...ir.types import DType
from ...values.compile_time import static
from ...values.elements import Elements, as_elements
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number, plain, suggestion
from ..emission.references import CellRef, ScalarRef, cell_matrix, is_live, references_of
from ..emission.shared import SharedArray
from ..emission.structs import is_live_struct, is_local_struct, local_struct, store_struct
from ..emission.type_promotion import alone, common, typed
from ..expressions.captures import capture_name
from ..expressions.dicts import VariableDict
from ..expressions.dispatch import dereferenced, evaluate, expression, lookup, statement
from ..expressions.indexing import indexable
from ..expressions.lints import check_fractions, check_hidden
from ..expressions.lists import VariableList
from ..expressions.operators import binary
from ..syntax.scope import Binding
from ..syntax.stores import ATOMIC
from ..variables import cells
from .annotations import converted
from .lists import add_entry, check_single_name, check_unshared, named_collection
from .once import refuse_iterator

__all__ = ["assign", "declare", "local", "store"]


@expression(ast.Name)
def _name(context: Context, node: ast.Name) -> KernelObject:
    binding = context.scopes.find(node.id)
    if binding is not None:
        return binding.value
    outer = context.scopes.outer
    if node.id in outer:
        refuse_iterator(context, node.id, outer[node.id])
        capture_name(context, context.frame.function, node.id, outer[node.id])
        return plain(outer[node.id])
    return _unknown(context, node.id)


def _unknown(context: Context, name: str) -> KernelObject:
    ended = context.scopes.ended.get(name)
    if ended is None:
        names = {n for scope in context.scopes.stack for n in scope} | set(context.scopes.outer)
        do = suggestion(name, names) or "assign to it first, or import it"
        context.fail(AdstackNameError, f"name '{name}' is not defined", do=do)
    bound, block = ended
    context.fail(
        AdstackNameError,
        f"name '{name}' is not defined here: it was defined inside the block at line {block.line}",
        note=f"defined at line {bound.line}",
        do=f"give {name} a value before the block",
    )


# ---- declaring


def local(context: Context, name: str, value: object, dtype: DType | None = None) -> KernelObject:
    """What a new local variable `name` is bound to: a reference to a fresh cell, or the object itself."""
    value = plain(value)
    if isinstance(value, Expr) or is_number(value):
        cell = cells.Cell(name, dtype or alone(value), of_literal=dtype is None and type(value) is int)
        cells.alloc(context.builder, cell, [typed(value, cell.dtype)])
        return CellRef(cell)
    if isinstance(value, Elements):
        entries = value.entries
        cell = cells.Cell(name, dtype or value.dtype or common(*entries), len(entries))
        cells.alloc(context.builder, cell, [typed(e, cell.dtype) for e in entries])
        return cell_matrix(cell, value.shape)
    if isinstance(value, Struct):
        return local_struct(value, lambda member, v: local(context, f"{name}.{member}", v))
    if isinstance(value, (list, tuple, dict)):
        return named_collection(context, name, value, partial(local, context))
    if isinstance(value, SharedArray):
        value.call(name)
    return value


def declare(context: Context, name: str, value: object, dtype: DType | None = None, keep: bool = False) -> None:
    """Bind a new name in the current scope; `keep` binds the object itself."""
    bound = value if keep else local(context, name, value, dtype)
    kind = "local" if is_variable(bound) else "static"
    context.scopes.bind(name, bound, kind, context.builder.loc, context.builder.region)


def is_reference(value: object) -> bool:
    """Whether `value` can be stored to."""
    return isinstance(value, ScalarRef) or is_live(value) or is_live_struct(value)


def is_variable(value: object) -> bool:
    """Whether `value` can be stored to, as a whole or element by element."""
    return is_reference(value) or isinstance(value, (VariableList, VariableDict))


# ---- storing


def store(context: Context, target: KernelObject, value: KernelObject, what: str) -> None:
    """Store to a reference."""
    value = plain(value)
    if isinstance(target, ScalarRef):
        if not (isinstance(value, Expr) or is_number(value)):
            context.fail(
                AdstackTypeError,
                f"{what} holds a {target.dtype} and can't become {describe(value)}",
                do=_number_instead(target, value, what),
            )
        target.set(value)
    elif is_live_struct(target):
        store_struct(target, value, lambda member, v, name: store(context, member, v, f"{what}.{name}"))
    else:
        _store_elements(context, target, value, what)


def _number_instead(target: ScalarRef, value: object, what: str) -> str:
    """What to do about a value that is none of the numbers that a variable or an element holds."""
    if value is None:
        return "store a number; a function gives None where no return says what it gives"
    if isinstance(target, CellRef) and not isinstance(value, str):
        return "use a new name"
    if isinstance(value, Elements):
        return f"store one of its elements, as in {what} = a[0], or make what holds it of vectors or matrices"
    return f"call it: {what} = ...()" if callable(value) else "store a number"


def _store_elements(context: Context, target: KernelObject, value: KernelObject, what: str) -> None:
    value = as_elements(value)
    if not isinstance(value, Elements) and not isinstance(value, Expr) and not is_number(value):
        do = "store a vector or matrix of the same shape, or a number for all of its elements"
        context.fail(AdstackTypeError, f"{what} holds {describe(target)} and can't become {describe(value)}", do=do)
    values = [typed(e, target.storage.target(0).dtype) for e in value.entries] if isinstance(value, Elements) else None
    if values is None:
        target.fill(value)
        return
    if value.shape != target.shape:
        context.fail(
            AdstackTypeError,
            f"{what} holds {describe(target)} and can't become {describe(value)}",
            do="make the shapes equal",
        )
    for k, element in enumerate(values):
        target.storage.target(k).set(Expr(element))


def _assign_name(
    context: Context, node: ast.Name, value: object, keep: bool, statement: ast.Assign | None = None
) -> None:
    if node.id == "_" and "_" not in context.frame.source.read:
        return  # what nobody reads may be of any type
    binding = context.scopes.find(node.id)
    if binding is None:
        check_hidden(context, node, value)
        declare(context, node.id, value, keep=keep)
        return
    _check_mutable(context, node.id, binding)
    if is_reference(binding.value) and not keep:
        if statement is not None:
            check_fractions(context, statement, node, binding.value, value)
        store(context, binding.value, value, node.id)
        return
    _rebind(context, node.id, binding, value, keep)


def _check_mutable(context: Context, name: str, binding: Binding) -> None:
    if binding.kind == "argument":
        context.fail(
            AdstackSyntaxError,
            f"argument '{name}' is immutable in the kernel",
            do="copy it to a local with another name",
        )


def _rebind(context: Context, name: str, binding: Binding, value: object, keep: bool) -> None:
    """Give a name that stands for a compile-time object a new meaning."""
    if binding.region is not context.builder.region:
        was, kind, do = binding.value, "a compile-time object", "use another name, or select(...)"
        if isinstance(was, (VariableList, VariableDict)):
            first = next(iter(was), "") if isinstance(was, VariableDict) else 0
            kind, do = describe(was), f"store to its elements, as in {name}[{first!r}] = ..."
        context.fail(AdstackTypeError, f"'{name}' is {kind} and can't change under runtime control flow", do=do)
    bound = value if keep else local(context, name, value)
    binding.value, binding.kind = bound, "local" if is_variable(bound) else "static"


def assign(
    context: Context, target: ast.expr, value: object, keep: bool = False, statement: ast.Assign | None = None
) -> None:
    """Assign to a name, an element, a component or several of them; `statement` says so, if it is to be looked at."""
    with context.at(target):
        if isinstance(target, ast.Name):
            _assign_name(context, target, value, keep, statement)
        elif isinstance(target, (ast.Tuple, ast.List)):
            _unpack(context, target, value, keep)
        else:
            _assign_place(context, target, value, statement)


def _assign_place(context: Context, target: ast.expr, value: object, statement: ast.Assign | None) -> None:
    if add_entry(context, target, value):
        return
    reference = lookup(context, target)
    if not is_reference(reference):
        _refuse_target(context, target, reference)
    if statement is not None:
        check_fractions(context, statement, target, reference, value)
    _check_distinct(context, target, reference)
    store(context, reference, value, ast.unparse(target))


def _check_distinct(context: Context, target: ast.expr, reference: object) -> None:
    """A swizzle that is assigned to names each component once; a member of a struct may have any name."""
    if isinstance(target, ast.Attribute) and _repeats(reference):
        context.fail(
            AdstackSyntaxError, f"'{target.attr}' names a component twice and can't be assigned to", do="name each once"
        )


def _repeats(reference: object) -> bool:
    """Whether it is a live vector that has one component in two places, as `v.xx` does."""
    if not (isinstance(reference, Elements) and is_live(reference)):
        return False
    targets = references_of(reference).entries
    return len(set(map(id, targets))) < len(targets)


def _refuse_target(context: Context, target: ast.expr, reference: object) -> None:
    root: KernelObject = target
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    binding = context.scopes.find(root.id) if isinstance(root, ast.Name) else None
    _refuse_attribute(context, target)
    if binding is not None:
        _check_mutable(context, root.id, binding)
    do = "store to an element of a field, an ndarray or a local"
    if indexable(reference):
        do = f"index it: {ast.unparse(target)}[i], or {ast.unparse(target)}[None] for rank 0"
    if isinstance(target, ast.Subscript) and binding is None and isinstance(root, ast.Name):
        outer = context.scopes.outer.get(root.id)
        if isinstance(outer, (list, tuple)):
            do = f"copy it, new = [*{root.id}], and store to that: a list from outside of the kernel is a constant"
    context.fail(
        AdstackTypeError,
        f"{ast.unparse(target)} can't be assigned to in a kernel",
        note=f"it is {describe(reference)}",
        do=do,
    )


def _refuse_attribute(context: Context, target: ast.expr) -> None:
    """An error for a store to an attribute of an object that is no value of the kernel, such as `self`."""
    owner = lookup(context, target.value) if isinstance(target, ast.Attribute) else None
    if owner is None or isinstance(owner, (Expr, Elements, Struct)) or is_reference(owner) or indexable(owner):
        return
    name = ast.unparse(target)
    context.fail(
        AdstackSyntaxError,
        f"'{name}' is an attribute of an object of Python and can't be assigned to in a kernel",
        do=f"make it a field, {name} = qd.field(qd.f32, shape=()), and write {name}[None] = ...; or assign outside",
    )


def _unpack(context: Context, target: ast.Tuple | ast.List, value: object, keep: bool) -> None:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            do = "name each part, or index what is assigned, as in rest = values[1:]"
            context.fail(AdstackSyntaxError, "starred targets are not supported", at=part, do=do)
    if not isinstance(value, (tuple, list, Elements)):
        context.fail(AdstackTypeError, f"{describe(value)} can't be unpacked", do="assign a tuple or a vector")
    parts = list(value)
    if len(parts) != len(target.elts):
        context.fail(AdstackTypeError, f"{len(target.elts)} names can't take {len(parts)} values", do="name each value")
    for part, item in zip(target.elts, parts, strict=False):
        assign(context, part, item, keep)


@statement(ast.Assign)
def _assign(context: Context, node: ast.Assign) -> None:
    value = evaluate(context, node.value)
    keep = _is_static(context, node.value)
    check_single_name(context, [target.id for target in node.targets if isinstance(target, ast.Name)], value)
    for target in node.targets:
        assign(context, target, value, keep, node)


def _is_static(context: Context, node: ast.expr) -> bool:
    """Whether an assigned value is written as `static(...)`: the name then stands for the object itself."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return False
    return lookup(context, node.func) is static


@statement(ast.AnnAssign)
def _annotated(context: Context, node: ast.AnnAssign) -> None:
    if node.value is None:
        context.fail(AdstackSyntaxError, "a declaration needs a value", do="write x: f32 = 0.0")
    if not isinstance(node.target, ast.Name) or context.scopes.find(node.target.id) is not None:
        context.fail(AdstackSyntaxError, "only a new local can be annotated", do="drop the annotation")
    value = evaluate(context, node.value)
    declare(context, node.target.id, converted(context, value, evaluate(context, node.annotation)))


@expression(ast.NamedExpr)
def _walrus(context: Context, node: ast.NamedExpr) -> KernelObject:
    """`name := value` declares in the block of the statement, even if it is evaluated only at times."""
    value = evaluate(context, node.value)
    name = node.target.id
    if context.scopes.find(name) is None and (isinstance(value, (Expr, Elements)) or is_number(value)):
        frame = context.frame
        with context.builder.into(frame.statement_region), context.scopes.outside(frame.statement_depth):
            blank = value.map(lambda _: 0) if isinstance(value, Elements) else 0
            dtype = (value.dtype or common(*value.entries)) if isinstance(value, Elements) else alone(value)
            declare(context, name, blank, dtype)
    assign(context, node.target, value)
    return value


@statement(ast.AugAssign)
def _augmented(context: Context, node: ast.AugAssign) -> None:
    target = lookup(context, node.target)
    if isinstance(node.target, ast.Name) and (binding := context.scopes.find(node.target.id)) is not None:
        _check_mutable(context, node.target.id, binding)
    if not is_reference(target):
        _augment_object(context, node, target)
        return
    _check_distinct(context, node.target, target)
    value = plain(evaluate(context, node.value))
    kind = ATOMIC.get(type(node.op))
    if kind is None:
        result = binary(context, node.op, dereferenced(target), value)
        check_fractions(context, node, node.target, target, result)
        store(context, target, result, ast.unparse(node.target))
        return
    check_fractions(context, node, node.target, target, value)
    if isinstance(target, ScalarRef):
        _update(context, kind, target, value, node)
    elif is_live_struct(target):
        _update_struct(context, node, target, value)
    else:
        _update_elements(context, kind, target, value, node)


def _augment_object(context: Context, node: ast.AugAssign, target: object) -> None:
    """`name += value` where the name stands for a compile-time object."""
    if not isinstance(node.target, ast.Name) or context.scopes.find(node.target.id) is None:
        _refuse_target(context, node.target, target)
    else:
        check_unshared(context, node.target.id, target)
    keep = not isinstance(target, (VariableList, VariableDict))
    assign(context, node.target, binary(context, node.op, target, evaluate(context, node.value)), keep)


def _update(context: Context, kind: str, target: ScalarRef, value: object, node: ast.AugAssign) -> None:
    if not (isinstance(value, Expr) or is_number(value)):
        note = f"{ast.unparse(node.target)} holds a {target.dtype}, this is {describe(value)}"
        context.fail(
            AdstackTypeError, "a scalar can't be updated by this", at=node.value, note=note, do="give a number"
        )
    target.__adstack_atomic__(kind, (value,))


def _update_struct(context: Context, node: ast.AugAssign, target: Struct, value: object) -> None:
    """`target += value` by the operator that the struct's type declares; of memory it would be no atomic update."""
    what = ast.unparse(node.target)
    if not is_local_struct(target):
        do = f"update its members, or write {what} = {what} ..., during which other threads may write it"
        context.fail(AdstackTypeError, "a struct in memory can't be updated as a whole", do=do)
    store(context, target, binary(context, node.op, dereferenced(target), value), what)


def _update_elements(
    context: Context, kind: str, target: KernelObject, value: KernelObject, node: ast.AugAssign
) -> None:
    value = as_elements(value)
    if isinstance(value, Elements) and value.shape != target.shape:
        note = f"got {describe(target)} and {describe(value)}"
        context.fail(
            AdstackTypeError, "operands must share a shape", at=node.value, note=note, do="make the shapes equal"
        )
    values = value.entries if isinstance(value, Elements) else [value] * len(target.storage)
    for reference, element in zip(references_of(target).entries, values, strict=False):
        _update(context, kind, reference, element, node)
