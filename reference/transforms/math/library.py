"""The table (operation, type) -> Function: each is read from its file, where `prepared` has one, or built and
optimised, once, when it is first asked for.

f16 goes through f32, whose result is so near that rounding it once more is within the budget.

`fast_math` licenses the variants in `FAST`, named like "sin.fast.f32" and defined to the bit like the rest: sin, cos
and tan without the path for huge arguments, and rsqrt as the quotient that it is, within 1.5 ulp. None loses a NaN or
an infinity.

A backend may take the variants in `WIDE`, named like "sin.wide.f32", instead: they give the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ...ir.builder import Builder
from ...ir.functions import use_library
from ...ir.structure import Function, Region, Value
from ...ir.types import FLOATS, DType, f16, f32
from ..scalar.cse import cse
from ..scalar.dce import dce
from ..scalar.fold import fold
from ..scalar.simplify import simplify
from . import exponential, inverse, logarithmic, power, prepared, roots, trigonometric, wide
from .algorithms import ALGORITHMS, FAST, WIDE
from .num import Num

__all__ = ["MODULES", "NAMES", "find", "from_source", "function", "traced"]


MODULES: Final = (trigonometric, inverse, exponential, logarithmic, roots, power, wide)
"""Importing them fills the tables of algorithms."""


def traced(name: str, dtype: DType, variant: str = "") -> Region:
    """The algorithm as its formula is written, before any pass."""
    algorithm = (WIDE if variant == "wide" else ALGORITHMS)[name]
    how = {"fast": True} if variant == "fast" else {}
    region = Region([Value(dtype, name) for name in ("x", "y")[: algorithm.arity]])
    b = Builder(region)
    within = f32 if dtype is f16 else dtype
    results = algorithm.build(*(Num(b, b.cast(v, within)) for v in region.args), **how)
    b.yield_(*(b.cast(n.v, dtype) for n in (results if isinstance(results, tuple) else (results,))))
    return region


def function(name: str, dtype: DType, fast: bool = False) -> Function:
    """The function that computes `name` on numbers of a float type; the fast variant, if asked for and there is one."""
    return built(name, dtype, "fast" if fast and name in FAST else "")


def from_source(name: str, dtype: DType, variant: str = "") -> Region:
    """The algorithm after the passes."""
    body = traced(name, dtype, variant)
    for run in (fold, simplify, cse, simplify, dce):
        run(body)
    return body


@cache
def built(name: str, dtype: DType, variant: str) -> Function:
    """The function of an operation, a type and a variant: read, or built, once."""
    called = _name(name, dtype, variant)
    return Function(called, prepared.load(called) or from_source(name, dtype, variant), builtin=True)


def _name(name: str, dtype: DType, variant: str) -> str:
    return ".".join(filter(None, (name, variant, dtype.name)))


NAMES: Final = {
    _name(name, dtype, variant): (name, dtype, variant)
    for variant, names, dtypes in (("", ALGORITHMS, FLOATS), ("fast", FAST, FLOATS), ("wide", WIDE, (f32,)))
    for name in names
    for dtype in dtypes
}
"""What the text form calls each function -> its operation, its type, its variant."""


def find(name: str) -> Function | None:
    """The function called `name` in the text form, like "sin.f32"."""
    return built(*NAMES[name]) if name in NAMES else None


use_library(find)
