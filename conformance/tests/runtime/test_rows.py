"""When boxes were last written, against an array that has the count of each element."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.analysis.boxes import Box, slices
from adstack.runtime.memory.rows import MOST, Latest

SHAPES = [(), (7,), (9, 4), (40, 3, 2)]


def some_box(draw: np.random.Generator, shape: tuple[int, ...]) -> Box:
    ends = (sorted(draw.integers(0, extent, 2).tolist()) for extent in shape)
    return tuple((low, high) for low, high in ends)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whether_elements_were_written_since_is_known_of_each(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(1)
    latest, model = Latest(), np.full(shape, -1)
    assert not latest.reaches(0, [some_box(draw, shape)])
    for n in range(300):
        box = some_box(draw, shape)
        latest.put(box, n // 3)
        model[slices(box)] = n // 3
        asked = [some_box(draw, shape), some_box(draw, shape)]
        last = max(int(model[slices(one)].max()) for one in asked)
        assert latest.number == n // 3
        assert [latest.reaches(number, asked) for number in (max(last, 0), last + 1)] == [last >= 0, False]


def test_of_many_boxes_it_may_be_said_that_they_were_written_later_never_earlier() -> None:
    latest = Latest()
    for n in range(MOST + 1):
        latest.put(((n, n),), n)
    assert latest.reaches(MOST, [((MOST, MOST),)])
    assert not latest.reaches(MOST, [((0, MOST - 1),)])
    assert latest.reaches(MOST - 1, [((0, 0),)])  # it was not, but that is not known any more
    assert not latest.reaches(MOST, [((0, 0),)])


def test_boxes_that_are_told_apart_again_are_looked_up_anew() -> None:
    latest = Latest()
    latest.put(((0, MOST),), 1)
    for n in range(MOST):
        latest.put(((n, n),), 2)
    assert latest.reaches(2, [((0, MOST),)])
    latest.put(((0, 0),), 3)
    assert [latest.reaches(3, [((row, row + 1),)]) for row in (0, 1)] == [True, False]
