"""Measures how far what came out is from what a case expects. Judging whether that is near enough happens elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ..case import CaseError, Total
from .exact import Array, DType, Literals, array_of, exact_value, nested, rounded, ulp_distance, unit_roundoff

__all__ = ["Measure", "measure", "measure_identity", "measure_text", "measure_value", "measure_within"]

LONGEST_TEXT: Final = 2000
"""Characters of what was printed that a message shows."""
SHOWN: Final = 8
"""Elements of an array that are shown."""


@dataclass(frozen=True)
class Measure:
    """The distance of one array, value or text from what is expected of it.

    Attributes:
        what: what was compared: "expect[0]", "returns", "prints".
        dtype: type of its elements; "text" for what was printed.
        kind: "exact", "budget" (floats: compared with a budget that the judge looks up) or "bound" (a `Total`).
        ulp: the largest distance in units in the last place; infinity where that has no meaning.
        within: whether every element is within its bound; for other kinds, whether everything is the same to the bit.
        budget: for that kind, the operation whose budget it is.
        worst: the element farthest away: "[3]: got 2.0 (0x1p+1), expected 1.0 (0x1p+0)"; "" if all are the same.
        values: the first elements of both, in words; "" where there is no array.
    """

    what: str
    dtype: str
    kind: str
    ulp: float
    within: bool
    worst: str = ""
    budget: str = ""
    values: str = ""


def measure(what: str, got: Array, literals: Literals, budget: str | None) -> Measure:
    """Compare an array with literals of a case (one alone stands for every element)."""
    shape, leaves = nested(literals)
    if any(isinstance(leaf, Total) for leaf in leaves):
        if shape not in ((), got.shape):
            raise CaseError(f"{what}: values of shape {shape} for data of shape {got.shape}")
        return _against_bounds(what, got, leaves if shape else leaves * got.size)
    want = array_of(literals, got.dtype, got.shape)
    distance = ulp_distance(got, want)
    kind = "budget" if budget and got.dtype.kind == "f" else "exact"
    farthest = float(distance.max()) if distance.size else 0.0
    allowance = budget if budget and kind == "budget" else ""
    worst = _worst(got, want, distance)
    return Measure(what, got.dtype.name, kind, farthest, farthest == 0, worst, allowance, _values(got, want))


def _against_bounds(what: str, got: Array, leaves: list[Literals]) -> Measure:
    flat, excess = got.ravel(), []
    want = np.zeros(flat.shape, got.dtype)
    for position, leaf in enumerate(leaves):
        terms = leaf.terms if isinstance(leaf, Total) else [leaf]
        total, bound = sum_and_bound(terms, got.dtype)
        want[position] = rounded(total, got.dtype)
        value = flat[position].item()
        inside = np.isfinite(value) and abs(Fraction(value) - total) <= bound
        excess.append(0.0 if inside else 1.0)
    distance = ulp_distance(flat, want)
    farthest = float(distance.max()) if distance.size else 0.0
    shape = got.shape
    worst = _worst(got, want.reshape(shape), (distance + np.array(excess) * 1e30).reshape(shape))
    return Measure(what, got.dtype.name, "bound", farthest, not any(excess), worst, values=_values(got, want))


def measure_within(what: str, got: Array, literals: Literals, bounds: Literals) -> Measure:
    """Compare an array with the exact values of literals, each within a bound of its own."""
    shape, leaves = nested(literals)
    if shape not in ((), got.shape):
        raise CaseError(f"{what}: values of shape {shape} for data of shape {got.shape}")
    exact = [exact_value(leaf) for leaf in (leaves if shape else leaves * got.size)]
    want = np.array([rounded(value, got.dtype) for value in exact], got.dtype).reshape(got.shape)
    limits = np.broadcast_to(bounds, got.shape).ravel().tolist()
    _check_telling(what, [abs(float(value)) for value in exact], limits)
    inside = [_inside(what, *three) for three in zip(got.ravel().tolist(), exact, limits, strict=True)]
    distance = ulp_distance(got, want)
    excess = np.where(np.array(inside), 0.0, 1e30).reshape(got.shape)
    farthest = float(distance.max()) if distance.size else 0.0
    worst = _worst(got, want, distance + excess)
    return Measure(what, got.dtype.name, "bound", farthest, all(inside), worst, values=_values(got, want))


def measure_identity(what: str, pairs: Sequence[tuple[Literals, Literals]], bounds: Sequence[Literals]) -> Measure:
    """Compare the sum of the products of all pairs but the last with that of the last.

    Args:
        what: is compared.
        pairs: of arrays: exact factors, and computed numbers.
        bounds: on the errors of the computed ones.
    """
    sums, allowed = [Fraction(0), Fraction(0)], Fraction(0)
    finite = all(np.isfinite(part).all() for _, part in pairs) and all(np.isfinite(part).all() for part in bounds)
    for number, ((factors, computed), limits) in enumerate(zip(pairs, bounds, strict=True) if finite else ()):
        side = number == len(pairs) - 1
        limits = np.broadcast_to(limits, computed.shape)
        for factor, value, limit in zip(np.ravel(factors), np.ravel(computed), np.ravel(limits), strict=True):
            sums[side] += Fraction(float(factor)) * Fraction(value.item())
            allowed += abs(Fraction(float(factor))) * Fraction(float(limit))
    dtype = pairs[-1][1].dtype
    left, right = (np.array([rounded(one, dtype)], dtype) for one in sums)
    apart = float(ulp_distance(left, right)[0]) if finite else np.inf
    if finite:
        _check_telling(what, [abs(float(one)) for one in sums], [float(allowed)])
    message = (
        "" if finite and sums[0] == sums[1] else f"<y, J x'> is {_shown(left[0])}, <J^T y, x'> is {_shown(right[0])}"
    )
    return Measure(what, dtype.name, "bound", apart, finite and abs(sums[0] - sums[1]) <= allowed, message)


def _check_telling(what: str, sizes: list[float], limits: list[float]) -> None:
    """A bound above the largest number compared could not tell the right answer from none."""
    largest = max((size for size in sizes if np.isfinite(size)), default=0.0)
    if largest > 0 and min(limits) >= largest:
        raise CaseError(f"{what}: the error bound, {min(limits):.3g}, says nothing of numbers up to {largest:.3g}")


def _inside(what: str, value: float, exact: Fraction | float, limit: float) -> bool:
    """Infinities and NaN have to be met; where no bound is known, nothing can be said of a value that is not exact."""
    if not (np.isfinite(float(exact)) and np.isfinite(value)):
        return bool(value == exact or (np.isnan(value) and np.isnan(float(exact))))
    if not np.isfinite(limit):
        if value != exact:
            raise CaseError(
                f"{what}: no error bound is known for {value}, where {float(exact)} is exact: take smaller steps"
            )
        return True
    return abs(Fraction(value) - Fraction(exact)) <= Fraction(limit)


def sum_and_bound(terms: Sequence[Literals], dtype: DType) -> tuple[Fraction, Fraction]:
    """The exact sum of the terms, rounded to `dtype` each, and the forward error bound of adding them in any order."""
    values = [Fraction(rounded(exact_value(term), dtype).item()) for term in terms]
    k, u = max(len(values) - 1, 0), unit_roundoff(dtype)
    gamma = k * u / (1 - k * u)
    return sum(values, Fraction(0)), gamma * sum(map(abs, values), Fraction(0))


def measure_value(what: str, got: Literals, literals: Literals, dtype: str, budget: str | None) -> Measure:
    """Compare what a kernel returned: a number, a vector or matrix, or a tuple of those."""
    if isinstance(got, (tuple, list)) and isinstance(literals, tuple):
        if len(got) != len(literals):
            return Measure(what, dtype, "exact", np.inf, False, f"got {len(got)} values, expected {len(literals)}")
        pairs = enumerate(zip(got, literals, strict=True))
        parts = [measure_value(f"{what}[{i}]", mine, wanted, dtype, budget) for i, (mine, wanted) in pairs]
        return max(parts, key=lambda part: (not part.within, part.ulp))
    return measure(what, _as_array(got, dtype), literals, budget)


def _as_array(value: Literals, dtype: str) -> Array:
    array = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    floats = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    return array.astype(floats[dtype]) if array.dtype.kind == "f" else array


def measure_text(what: str, got: str, want: str) -> Measure:
    """Compare what was printed."""
    if got == want:
        return Measure(what, "text", "exact", 0.0, True)
    shown = repr(got) if len(got) <= LONGEST_TEXT else f"{got[:LONGEST_TEXT]!r} (and {len(got) - LONGEST_TEXT} more)"
    return Measure(what, "text", "exact", np.inf, False, f"got {shown}, expected {want!r}")


def _worst(got: Array, want: Array, distance: Array) -> str:
    if not distance.size or not distance.max() > 0:
        return ""
    index = np.unravel_index(int(np.argmax(distance)), got.shape)
    others = int((distance > 0).sum()) - 1
    more = f" (and {others} more of {got.size})" if others else ""
    place = "[" + ", ".join(map(str, map(int, index))) + "]: " if index else ""
    return f"{place}got {_shown(got[index])}, expected {_shown(want[index])}{more}"


def _values(got: Array, want: Array) -> str:
    """The shape, and the first elements of what came out and of what is expected."""
    shape = f"shape {'x'.join(map(str, got.shape))}" if got.shape else "one number"
    return f"{shape}: got {_first(got)}, expected {_first(want)}"


def _first(array: Array) -> str:
    shown = ", ".join(map(str, array.ravel()[:SHOWN].tolist()))
    return f"{shown}, ..." if array.size > SHOWN else shown


def _shown(value: np.generic) -> str:
    number = value.item()
    return f"{value} ({number.hex()})" if isinstance(number, float) and np.isfinite(number) else str(value)
