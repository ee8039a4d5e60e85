"""Vectors and matrices by value, right and wrong, for kernels that take them: a part of `both_ways_kit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

import adstack as qd

Make = Callable[[Any], Any]


def kernels() -> dict[str, Any]:
    """A kernel that stores a vector, and one that gives a number made of a matrix and of flags."""

    @qd.kernel
    def three(x: qd.types.ndarray(dtype=qd.f32, ndim=1), v: qd.types.vector(3, qd.i32), a: qd.f32):
        for k in qd.static(range(3)):
            if k < x.shape[0]:
                x[k] = v[k] + a

    @qd.kernel
    def square(m: qd.types.matrix(2, 2, qd.f64), flags: qd.types.vector(2, qd.u1)) -> qd.f64:
        s = m[0, 0] + 10.0 * m[0, 1] + 100.0 * m[1, 0] + 1000.0 * m[1, 1]
        return qd.select(flags[0], s, qd.select(flags[1], -s, 2.0 * s))

    return {"three": three, "square": square}


def warm_up(kernels: Mapping[str, Any], x: Any) -> None:
    """Let machine code serve what it can."""
    for v in (qd.Vector([1, 2, 3]), [4, 5, 6]):
        kernels["three"](x, v, 0.5)
    kernels["square"](qd.Matrix([[1, 2.5], [3, 4]]), [True, False])


def _as(kind: Callable[[Any], Any], numbers: list[Any]) -> Any:
    """Numbers in a container of a kind, or in a list, if there is none of these numbers."""
    try:
        return kind(numbers)
    except (qd.AdstackError, TypeError, ValueError, OverflowError):
        return numbers


@st.composite
def vectors(draw: st.DrawFn, numbers: st.SearchStrategy[Make], extent: int) -> Make:
    """A vector: of some extent, of numbers of any kind, however it is written down."""
    count = draw(st.sampled_from((extent, extent, extent, extent, extent - 1, extent + 1)))
    kind = draw(st.sampled_from((list, list, tuple, qd.Vector, qd.Vector, qd.Vector, np.array, qd.Matrix)))
    whole = draw(st.sampled_from((st.integers(0, 127), st.booleans(), st.integers(0, 127) | st.booleans())))
    plain = draw(st.lists(whole, min_size=count, max_size=count))
    if draw(st.booleans()):
        return lambda world: _as(kind, plain)
    makes = [draw(numbers) for _ in range(count)]
    return lambda world: _as(kind, [make(world) for make in makes])


@st.composite
def matrices(draw: st.DrawFn, numbers: st.SearchStrategy[Make]) -> Make:
    """A matrix of 2 x 2 numbers, or nearly so."""
    if draw(st.integers(0, 7)) == 0:
        return draw(vectors(numbers, 4))
    rows, columns = draw(st.sampled_from(((2, 2), (2, 2), (2, 2), (1, 4), (4, 1), (2, 3))))
    kind = draw(st.sampled_from((list, qd.Matrix, qd.Matrix, qd.Matrix, np.array)))
    makes = [[draw(numbers) for _ in range(columns)] for _ in range(rows)]
    return lambda world: _as(kind, [[make(world) for make in row] for row in makes])
