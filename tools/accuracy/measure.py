"""The largest error of a function over many arguments, and whether the yardstick was true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import mpmath as mp
import numpy as np

from adstack.ir.types import Array, DType, f64
from adstack.transforms.math.library import traced

from .distance import LIMITS, distance_region, distances
from .jit import Compiled
from .points import Batches
from .truth import TRUTH, exactly

__all__ = ["Worst", "judge", "measure"]


CANDIDATES: Final = 64
SAMPLES: Final = 16_000


@dataclass
class Worst:
    """What a sweep has seen.

    Attributes:
        ulp: the largest distance.
        at: the arguments.
        count: how many arguments were tried.
        candidates: the arguments of the largest distances, for a judge.
        samples: arguments from all over the sweep, likewise.
    """

    ulp: float = 0.0
    at: tuple[float, ...] = ()
    count: int = 0
    candidates: list[tuple[float, tuple[float, ...]]] = field(default_factory=list)
    samples: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, args: tuple[Array, ...], distance: Array) -> None:
        """Take in a batch."""
        self.count += distance.size
        k = int(np.argmax(distance))
        worst = float(distance[k])
        here = tuple(float(a[k]) for a in args)
        if worst > self.ulp:
            self.ulp, self.at = worst, here
        if len(self.candidates) < CANDIDATES or worst > self.candidates[-1][0]:
            self.candidates = sorted([*self.candidates, (worst, here)], reverse=True)[:CANDIDATES]


def measure(
    name: str, dtype: DType, batches: Batches, total: int, tick: Callable[[int], object] = lambda done: None
) -> Worst:
    """Sweep over batches of arguments; of each batch, a few become samples for the judge."""
    distance = _judged_by_f64(name, dtype) if dtype is not f64 else _judged_by_long_double(name)
    worst = Worst()
    every = max(total // SAMPLES, 1)
    with np.errstate(all="ignore"):
        for args in batches:
            worst.add(args, distance(*args))
            while len(worst.samples) * every < worst.count and len(worst.samples) < SAMPLES:
                k = (len(worst.samples) * 7919) % args[0].size
                worst.samples.append(tuple(float(a[k]) for a in args))
            tick(worst.count)
    return worst


def _judged_by_f64(name: str, dtype: DType) -> Callable[..., Array]:
    compiled, wide = Compiled(distance_region(name, dtype)), TRUTH[name].wide
    # numpy widens a signalling NaN to one, which hypot treats as another value: a product makes it quiet
    return lambda *args: compiled(*args, wide(*(a.astype(np.float64) * 1.0 for a in args)))


def _judged_by_long_double(name: str) -> Callable[..., Array]:
    compiled, wide = Compiled(traced(name, f64), lanes=8), TRUTH[name].wide
    return lambda *args: distances(compiled(*args), wide(*(a.astype(np.longdouble) for a in args)))


def judge(name: str, dtype: DType, worst: Worst) -> tuple[float, tuple[float, ...], int]:
    """The largest distance by mpmath among candidates and samples, where it is, and how many were judged."""
    compiled = Compiled(traced(name, dtype), lanes=8)
    points = [at for _, at in worst.candidates] + worst.samples
    got = compiled(*(np.array(column, dtype.numpy) for column in zip(*points, strict=True)))
    largest, where, judged = 0.0, worst.at, 0
    for args, value in zip(points, got, strict=True):
        far = _exact_distance(name, dtype, args, float(value))
        if far is not None:
            judged += 1
            if far > largest:
                largest, where = far, args
    return largest, where, judged


def _exact_distance(name: str, dtype: DType, args: tuple[float, ...], got: float) -> float | None:
    """By mpmath; None where an argument or the result is no finite, nonzero number, which needs no digits."""
    if not (got != 0 and all(map(np.isfinite, (got, *args))) and (len(args) == 1 or all(args))):
        return None
    exact = exactly(name, *args)
    mantissa, least, _ = LIMITS[dtype]
    unit = max(int(mp.frexp(exact)[1]) - 1 - mantissa, least)
    with mp.workprec(300):
        return float(abs(mp.mpf(got) - exact) * mp.mpf(2) ** -unit)
