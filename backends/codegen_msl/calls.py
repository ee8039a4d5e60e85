"""Calls of library functions."""

from __future__ import annotations

from adstack.ir.ops import CALL
from adstack.ir.structure import Function, Op

from .library import Library
from .region import RegionEmitter, handles
from .writer import Writer

__all__: list[str] = []


@handles(CALL)
def _call(e: RegionEmitter, op: Op) -> None:
    function: Function = op.attrs["function"]
    name = e.library.name(function, lambda w, f, params: _body(w, e.library, f, params))
    applied = f"{name}({', '.join(e.all(op.operands))})"
    if len(op.results) == 1:
        e.let(op.results[0], applied)
        return
    results = e.w.typed(f"{name}results", applied)
    for k, result in enumerate(op.results):
        e.bind(result, f"{results}.result{k}")


def _body(w: Writer, library: Library, function: Function, params: list[str]) -> list[str]:
    e = RegionEmitter(w, library)
    for arg, name in zip(function.body.args, params, strict=True):
        e.bind(arg, name)
    return e.run(function.body)
