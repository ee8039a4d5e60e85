"""Boxes with origins, against an array that has the origin of each element."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.analysis.boxes import Box, slices
from adstack.runtime.memory.origins import MOST, Origins, Tiles, clipped

SHAPES = [(), (7,), (9, 4), (6, 3, 2)]


def number(n: int) -> bytes:
    return n.to_bytes(16, "little")


def spread(origins: Origins, shape: tuple[int, ...]) -> np.ndarray:
    """The origin of each element, -1 where there is none: of those that hold an element the first one counts."""
    array = np.full(shape, -1)
    for box, origin in reversed(origins):
        array[slices(box)] = int.from_bytes(origin, "little")
    return array


def some_box(draw: np.random.Generator, shape: tuple[int, ...]) -> Box:
    ends = (sorted(draw.integers(0, extent, 2).tolist()) for extent in shape)
    return tuple((low, high) for low, high in ends)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_element_has_the_origin_that_was_put_last(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(1)
    tiles, model = Tiles(number(0)), np.zeros(shape, int)
    for n in range(1, 400):
        box = some_box(draw, shape)
        tiles.put(box, number(n))
        model[slices(box)] = n
        asked = some_box(draw, shape)
        seen, within = spread(tiles.within(asked), shape), spread(((asked, number(1)),), shape) == 1
        assert (seen[within] == model[within]).all()
        assert (seen[~within] == -1).all()
        inner = tuple((low, low + (high - low) // 2) for low, high in asked)
        narrowed = spread(clipped(tiles.within(asked), inner), shape)
        assert (narrowed[slices(inner)] == model[slices(inner)]).all()
        assert tiles.alone(box) == number(n)


def test_rows_of_a_long_history_are_told_apart_without_looking_at_all() -> None:
    tiles = Tiles(number(0))
    for n in range(MOST):
        tiles.put(((n, n), (0, 9)), number(n + 1))
    assert tiles.within(((17, 18), (3, 3))) == ((((17, 17), (3, 3)), number(18)), (((18, 18), (3, 3)), number(19)))
    assert tiles.within(((MOST, MOST), (0, 9))) == ((((MOST, MOST), (0, 9)), number(0)),)
    tiles.put(((MOST, MOST), (0, 9)), number(7))
    (joined,) = tiles.within(((17, 18), (3, 3)))
    assert joined[1] not in map(number, range(MOST + 1))  # no more of them are told apart
