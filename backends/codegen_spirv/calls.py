"""Calls of library functions, each of which is emitted into the module when it is first called."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.functions import builtin
from adstack.ir.ops import CALL
from adstack.ir.structure import Function, Op, Region
from adstack.ir.types import f64

from .assembly.code import Code, Num
from .assembly.module import Module, instruction
from .assembly.opcodes import Op as Spv
from .region import RegionEmitter, handles
from .scalars.speculation import ORDINARY, Speculation

__all__: list[str] = []


@handles(CALL)
def _call(e: RegionEmitter, op: Op) -> None:
    function: Function = op.attrs["function"]
    callee = _function(e.m, function)
    for result, number in zip(op.results, _applied(e.c, function, callee, e.all(op.operands)), strict=True):
        e.bind(result, number)


def _applied(c: Code, function: Function, callee: int, args: Sequence[Num]) -> list[Num]:
    """Emit a call of a function; its results."""
    operands, returns = [x.id for x in args], function.returns
    if len(returns) == 1:
        return [c.let(Spv.FunctionCall, returns[0], callee, *operands)]
    results = c.raw(Spv.FunctionCall, _result_type(c.m, function), callee, *operands)
    return [c.let(Spv.CompositeExtract, dtype, results, k) for k, dtype in enumerate(returns)]


def _result_type(m: Module, function: Function) -> int:
    types = [m.type(dtype) for dtype in function.returns]
    return types[0] if len(types) == 1 else m.struct(*types)


def _function(m: Module, function: Function) -> int:
    """A library function, emitted when it is first called."""
    if function.name not in m.functions:
        fuses = all(m.traits.fma64 if dtype is f64 else m.traits.fma32 for dtype in function.returns)
        m.functions[function.name] = _emitted(m, function, _body(m, function), fast=m.fast_paths and not fuses)
    return m.functions[function.name]


def _body(m: Module, function: Function) -> Region:
    """The body of a function: of the library's variant for such devices, if there is one."""
    if not function.builtin or m.traits.fma32 or m.traits.fma32_normal:
        return function.body
    name, _, dtype = function.name.partition(".")
    return (builtin(f"{name}.wide.{dtype}") or function).body


def _emitted(m: Module, function: Function, body: Region, fast: bool) -> int:
    """A function of the module, with such a body.

    With `fast` it has a fast path: rounding is done in ways that are right for nearly all numbers, and cold paths are
    left out. The fast path tells where it may be wrong, and then the full path computes the function again.
    """
    code = Code(m)
    speculation = Speculation(code, function.builtin) if fast else None
    e = RegionEmitter(code)
    params: list[int] = []
    for arg in body.args:
        number = Num(code, arg.dtype, m.new())
        params += instruction(Spv.FunctionParameter, m.type(arg.dtype), number.id)
        e.bind(arg, number)
    if speculation is not None and function.builtin and function.name in ORDINARY:
        speculation.require_ordinary(e.get(body.args[0]), *ORDINARY[function.name])
    values = e.run(body)
    if speculation is not None and speculation.can_reject:
        # with the function's own body, for drivers keep at hand what a variant has in common with itself
        slow, args = _emitted(m, function, function.body, fast=False), e.all(body.args)
        values = code.either(speculation.rejected(), lambda: _applied(code, function, slow, args), lambda: values)
    result = _result_type(m, function)
    returned = values[0].id if len(values) == 1 else code.raw(Spv.CompositeConstruct, result, *(v.id for v in values))
    code.do(Spv.ReturnValue, returned)
    name = m.new()
    signature = m.signature(result, *(m.type(arg.dtype) for arg in function.body.args))
    m.add(code.function(name, result, signature, params))
    return name
