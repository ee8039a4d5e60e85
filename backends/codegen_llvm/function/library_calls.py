"""Calls of math functions: each is an LLVM function of the module, written when it is first called."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.cold_paths import has_cold_path
from adstack.ir.ops import CALL
from adstack.ir.structure import Function, Op

from ..text.writer import Writer, any_of, return_values, type_text
from .module import Module
from .region import FastPath, RegionEmitter, handles

__all__: list[str] = []


@handles(CALL)
def _call(e: RegionEmitter, op: Op) -> None:
    width = max((e.width(v) for v in op.operands), default=1)
    symbol, types = _symbol_of(e.module, op.attrs["function"], width, fast=e.fast_path is not None)
    result_type = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    args = ", ".join(f"{type_text(v.dtype, width)} {e.at(v, width)}" for v in op.operands)
    value = e.w.let(f"call {result_type} @{symbol}({args})")
    names = [value]
    if len(types) > 1:
        names = [e.w.let(f"extractvalue {result_type} {value}, {k}") for k in range(len(types))]
    for result, name in zip(op.results, names, strict=False):
        e.bind(result, name)
    if e.fast_path is not None:
        e.fast_path.misses += names[len(op.results) :]


def _symbol_of(module: Module, function: Function, lanes: int, *, fast: bool) -> tuple[str, list[str]]:
    """The symbol and the result types of a math function for so many lanes.

    The fast path of a function leaves out its cold sides; it also returns whether one should have been taken (i1).
    """
    fast = fast and has_cold_path(function)
    types = [type_text(v.dtype, lanes) for v in function.body.terminator.operands] + ["i1"] * fast
    symbol = f'"{function.name}.x{lanes}{".fast" if fast else ""}"'
    module.call(
        symbol, lambda: _definition(module, function, lanes, symbol, types, fast=fast), inline=True if fast else None
    )
    return symbol, types


def _definition(
    module: Module, function: Function, lanes: int, symbol: str, types: Sequence[str], *, fast: bool
) -> tuple[str, str]:
    """(the head of a function up to its attributes, its body)."""
    w = Writer()
    every = {v for op in function.body.walk() for v in op.results} | set(function.body.args)
    for op in function.body.walk():
        every.update(arg for region in op.regions for arg in region.args)
    e = RegionEmitter(module, w, lanes, every)
    e.fast_path = FastPath() if fast else None
    for k, arg in enumerate(function.body.args):
        e.bind(arg, f"%p{k}")
    names = [e.vector(v) for v in e.region(function.body)]
    if e.fast_path is not None:
        names.append(any_of(w, e.fast_path.misses))
    result = return_values(w, names, types)
    module.take(w)
    params = ", ".join(f"{type_text(a.dtype, lanes)} %p{k}" for k, a in enumerate(function.body.args))
    body = "\n".join([*e.slots, *w.lines])
    return f"define internal {result} @{symbol}({params})", f"{{\nentry:\n{body}\n}}\n"
