"""The largest error of a math function over all arguments of a format, or a sample of them.

The error is the distance from the exact value in units in the last place (ulp) of the format at the exact value: one ulp
of a value v with 2^e <= |v| < 2^(e+1) is 2^(e - p + 1), and 2^-149 below the normal range of f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass
class Worst:
    """The largest error seen, the arguments it was seen at, and how many were tried.

    Attributes:
        ulp: the largest finite distance.
        at: the arguments.
        wrong: arguments whose result is of another kind than the exact value (NaN, infinity or zero's sign); at most 8.
    """

    ulp: float = 0.0
    at: tuple[float, ...] = ()
    count: int = 0
    wrong: tuple[tuple[float, ...], ...] = ()

    def add(self, args: tuple[Array, ...], got: Array, exact: Array) -> None:
        """Take in a batch; `exact` holds wider values, good far beyond the last place of `got`."""
        self.count += got.size
        distance, kind = distances(got, exact)
        k = int(np.argmax(distance))
        if distance[k] > self.ulp:
            self.ulp, self.at = float(distance[k]), tuple(float(a[k]) for a in args)
        for i in np.flatnonzero(kind)[: 8 - len(self.wrong)]:
            self.wrong += (tuple(float(a[i]) for a in args),)


def distances(got: Array, exact: Array) -> tuple[Array, Array]:
    """The distance in ulp (0 where a result is not finite), and where the kinds differ.

    A result past the largest finite value may round either to it or to infinity: the distance counts from the ulp there.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(exact)
        unit = np.maximum(np.exp2(np.floor(np.log2(size)) - info.nmant), float(info.smallest_subnormal))
        unit = np.where(size == 0, float(info.smallest_subnormal), unit)
        limit = exact.dtype.type(info.max) * (1 + exact.dtype.type(2.0) ** -(info.nmant + 2))
        rounded = np.where(size >= limit, np.copysign(np.inf, exact), exact)
        finite = np.isfinite(got) & np.isfinite(rounded)
        distance = np.where(finite, np.abs(got.astype(exact.dtype) - exact) / unit, 0.0)
        near_limit = (size >= float(info.max)) & (size < 2.0 * exact.dtype.type(info.max))
        kind = (np.isnan(got) != np.isnan(exact)) | (~finite & ~np.isnan(exact) & (got != rounded) & ~near_limit)
        kind |= (exact == 0) & (got == 0) & (np.signbit(got) != np.signbit(exact))
    return distance, kind


def all_f32(batch: int = 1 << 20, first: int = 0, last: int = 1 << 32) -> Iterator[Array]:
    """Every f32, in batches, by the order of their bits."""
    for start in range(first, last, batch):
        yield np.arange(start, min(start + batch, last), dtype=np.uint64).astype(np.uint32).view(np.float32)


def sweep(compiled: Callable[..., Array], exact: Callable[..., Array], batches: Iterator[tuple[Array, ...]]) -> Worst:
    """Compare a compiled function with an f64 one over batches of arguments."""
    worst = Worst()
    for args in batches:
        with np.errstate(all="ignore"):
            wide = np.float64 if args[0].dtype == np.float32 else np.longdouble
            truth = exact(*(a.astype(wide) for a in args))
        worst.add(args, compiled(*args), truth)
    return worst
