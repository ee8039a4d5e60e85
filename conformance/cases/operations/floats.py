"""Operations on floats, for all pairs of operands among zeros, subnormals, ends of the range, infinities and NaN.

The expected values are numpy's: its basic operations are those of IEEE 754, and what the specification derives from
them is written out here.
"""

import numpy as np

from adstack.conformance.case import Run, case

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def operands(name):
    info = np.finfo(FLOATS[name])
    ordinary = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 0.1, 10.25, 1 / 3]
    ends = [info.max, info.tiny, info.smallest_subnormal, info.tiny * 1.5, np.inf, 1 + info.eps, 1 - info.epsneg]
    positive = np.array([*ordinary, *ends], FLOATS[name])
    return np.concatenate([positive, -positive, np.array([np.nan], FLOATS[name])])


def grid(qd, name, operation, meaning, to=None):
    """A case that applies `operation` to all pairs; `meaning` does with numpy arrays."""
    values = operands(name)
    a, b = (part.ravel() for part in np.meshgrid(values, values, indexing="ij"))
    dtype = getattr(qd, name)
    x, y, out = (qd.field(t, shape=len(a)) for t in (dtype, dtype, getattr(qd, to or name)))

    @qd.kernel
    def k():
        for i in x:
            out[i] = operation(x[i], y[i])

    with np.errstate(all="ignore"):
        expected = meaning(a, b)
    return Run(k, given={x: a, y: b}, expect={out: expected.astype(np.int32) if to else expected})


ARITHMETIC = {
    "add": (lambda a, b: a + b),
    "sub": (lambda a, b: a - b),
    "mul": (lambda a, b: a * b),
    "div": (lambda a, b: a / b),
}


@case(rules=["arith.float"], params={"op": list(ARITHMETIC), "name": list(FLOATS)})
def arithmetic_of_floats(qd, op, name):
    return grid(qd, name, ARITHMETIC[op], ARITHMETIC[op])


@case(rules=["arith.floordiv", "arith.mod"], params={"op": ["floordiv", "mod"], "name": list(FLOATS)})
def division_with_remainder_of_floats(qd, op, name):
    """Quotient, product and difference are each rounded; numpy's own // and % are others."""
    if op == "floordiv":
        return grid(qd, name, lambda a, b: a // b, lambda a, b: np.floor(a / b))
    return grid(qd, name, lambda a, b: a % b, lambda a, b: a - b * np.floor(a / b))


COMPARISONS = {
    "lt": (lambda a, b: a < b),
    "le": (lambda a, b: a <= b),
    "gt": (lambda a, b: a > b),
    "ge": (lambda a, b: a >= b),
    "eq": (lambda a, b: a == b),
    "ne": (lambda a, b: a != b),
}


@case(rules=["arith.compare"], params={"op": list(COMPARISONS), "name": list(FLOATS)})
def comparisons_of_floats(qd, op, name):
    return grid(qd, name, COMPARISONS[op], COMPARISONS[op], to="i32")


@case(rules=["arith.minmax"], params={"op": ["max", "min"], "name": list(FLOATS)})
def the_larger_and_the_smaller_of_floats(qd, op, name):
    if op == "max":
        return grid(qd, name, qd.max, lambda a, b: np.where((a > b) | np.isnan(b), a, b))
    return grid(qd, name, qd.min, lambda a, b: np.where((a < b) | np.isnan(b), a, b))


@case(rules=["arith.rounding", "arith.abs"], params={"op": ["floor", "ceil", "round", "abs"], "name": list(FLOATS)})
def integral_neighbours_and_magnitudes(qd, op, name):
    def away(a):
        """To the nearest, halves away from zero; the fraction of a float is exact."""
        whole = np.trunc(a)
        return np.copysign(np.where(np.abs(a - whole) >= 0.5, np.abs(whole) + 1, np.abs(whole)).astype(a.dtype), a)

    def rounded(a):
        return np.where(np.isfinite(a), away(a), a)

    function = {"floor": qd.floor, "ceil": qd.ceil, "round": qd.round, "abs": abs}[op]
    meaning = {"floor": np.floor, "ceil": np.ceil, "round": rounded, "abs": np.abs}[op]
    return grid(qd, name, lambda a, b: function(a), lambda a, b: meaning(a))


@case(rules=["arith.float"], params={"name": list(FLOATS)})
def square_roots_of_floats(qd, name):
    return grid(qd, name, lambda a, b: qd.sqrt(a), lambda a, b: np.sqrt(a))


@case(rules=["arith.select", "control.ternary"], params={"name": list(FLOATS)})
def choices_of_floats(qd, name):
    return grid(qd, name, lambda a, b: qd.select(a >= b, a, -b), lambda a, b: np.where(a >= b, a, -b))


@case(rules=["arith.float"], params={"name": list(FLOATS)})
def products_and_sums_are_rounded_one_by_one(qd, name):
    """No fused operation, no other order: each of these differs from its fused or reordered form for some operands."""
    return grid(qd, name, lambda a, b: a * b + a - (b * b - a), lambda a, b: a * b + a - (b * b - a))


def by_squaring(x, n):
    """The product that the specification describes."""
    result, square, left = None, x, abs(n)
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        if left:
            square = square * square
    result = np.ones_like(x) if result is None else result
    return np.ones_like(x) / result if n < 0 else result


@case(rules=["arith.float-power"], params={"n": [-8, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7, 8], "name": list(FLOATS)})
def literal_powers_of_floats(qd, n, name):
    return grid(qd, name, lambda a, b: a**n, lambda a, b: by_squaring(a, n))
