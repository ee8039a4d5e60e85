"""Best polynomial approximations by the Remez exchange, with coefficients rounded to a floating-point format.

Source: E. Remez, "Sur la détermination des polynômes d'approximation de degré donné", 1934; rounding one coefficient at
a time and fitting the rest again follows N. Brisebarre and S. Chevillard, "Efficient polynomial L-infinity
approximations", ARITH 2007, in its simplest form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np

Real: TypeAlias = Any
"""A number of mpmath, which has no types."""

Function = Callable[[Real], Real]


def remez(
    f: Function, powers: Sequence[int], lo: Real, hi: Real, weight: Function, rounds: int = 12
) -> tuple[list[Real], Real]:
    """Coefficients c_j minimising max |weight(x) (f(x) - sum c_j x^powers[j])| on [lo, hi], and that maximum."""
    n = len(powers) + 1
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    nodes = [lo + (hi - lo) * (1 - mp.cos(mp.pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
    grid = [lo + (hi - lo) * (1 - mp.cos(mp.pi * mp.mpf(k) / (40 * n))) / 2 for k in range(40 * n + 1)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(rounds):
        coefficients = _levelled(f, powers, nodes, weight)
        errors = [w * (v - _evaluate(coefficients, powers, x)) for x, v, w in zip(grid, values, weights, strict=True)]
        nodes, spread = _exchange(grid, errors, n)
        if spread < 1.0001:
            break
    return coefficients, max(abs(e) for e in errors)


def _levelled(f: Function, powers: Sequence[int], nodes: list[Real], weight: Function) -> list[Real]:
    """The polynomial whose weighted error at the nodes is equal in size and alternates in sign."""
    rows = [[x**p for p in powers] + [(-1) ** k / weight(x)] for k, x in enumerate(nodes)]
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix([f(x) for x in nodes]))
    return [solution[k] for k in range(len(powers))]


def lawson(
    f: Function, powers: Sequence[int], lo: Real, hi: Real, weight: Function, rounds: int = 25
) -> tuple[list[Real], Real]:
    """As `remez`, by iterated weighted least squares, for any set of powers on any interval.

    Source: C. L. Lawson, "Contributions to the theory of linear least maximum approximation", 1961.
    """
    n = 10 * len(powers) + 11
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    rows = [[weight(x) * x**p for p in powers] for x in grid]
    target = [weight(x) * f(x) for x in grid]
    shares = [mp.mpf(1)] * n
    best: tuple[Real, list[Real]] = (mp.inf, [])
    for _ in range(rounds):
        solution = _least_squares(rows, target, shares)
        errors = [abs(t - _product(solution, r)) for r, t in zip(rows, target, strict=True)]
        worst = max(errors)
        if worst < best[0]:
            best = (worst, solution)
        if worst == 0:
            break
        shares = [s * (e / worst + mp.mpf("1e-6")) for s, e in zip(shares, errors, strict=True)]
        total = mp.fsum(shares) / n
        shares = [s / total for s in shares]
    return best[1], best[0]


def _least_squares(rows: list[list[Real]], target: list[Real], shares: list[Real]) -> list[Real]:
    """The solution of `rows * solution = target` with the least sum of squares, each weighed by its share."""
    n = len(rows[0])
    weighed = [[s * v for v in r] for s, r in zip(shares, rows, strict=True)]
    columns, heavy = list(zip(*rows, strict=True)), list(zip(*weighed, strict=True))
    gram = [[_product(heavy[i], columns[j]) for j in range(n)] for i in range(n)]
    right = [_product(heavy[i], target) for i in range(n)]
    return list(mp.lu_solve(mp.matrix(gram), mp.matrix(right)))


def _product(a: Sequence[Real], b: Sequence[Real]) -> Real:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def _evaluate(coefficients: Sequence[Real], powers: Sequence[int], x: Real) -> Real:
    # while coefficients are found one by one there are fewer of them than powers
    return mp.fsum(c * x**p for c, p in zip(coefficients, powers, strict=False))


def _exchange(grid: list[Real], errors: list[Real], n: int) -> tuple[list[Real], float]:
    """The `n` alternating extrema of the error, and the ratio of the largest to the least."""
    runs: list[int] = []
    for k in range(len(grid)):
        if runs and (errors[k] > 0) == (errors[runs[-1]] > 0):
            if abs(errors[k]) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > n:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < n:
        raise ValueError("the error does not alternate often enough: more digits or fewer terms are needed")
    sizes = [abs(errors[k]) for k in runs]
    return [grid[k] for k in runs], float(max(sizes) / min(sizes))


def rounded(
    f: Function, powers: Sequence[int], lo: Real, hi: Real, weight: Function, formats: Sequence[str]
) -> tuple[list[float], float]:
    """As `remez`, each coefficient rounded to its format ("f32", "f64"), lowest power first, the rest fitted again."""
    fixed: list[float] = []
    error = mp.mpf(0)
    for k in range(len(powers)):
        fit = lawson if lo < 0 < hi else remez  # without x^0 the exchange needs an interval that does not hold 0
        rest, error = fit(lambda x: f(x) - _evaluate(fixed, powers, x), powers[k:], lo, hi, weight)
        fixed.append(_round(rest[0], formats[k]))
    grid = [lo + (hi - lo) * mp.mpf(k) / 2000 for k in range(1, 2000)]
    error = max(abs(weight(x) * (f(x) - _evaluate(fixed, powers, x))) for x in grid)
    return fixed, float(mp.log(error, 2))


def _round(x: Real, fmt: str) -> float:
    return float(np.float32(float(x))) if fmt == "f32" else float(x)
