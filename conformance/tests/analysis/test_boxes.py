"""Sets of boxes: nothing is lost, and what makes one box is one box."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from adstack.analysis.boxes import MOST, Box, include, intersection, slices


def points(boxes: list[Box]) -> set[Any]:
    return {point for box in boxes for point in product(*(range(lo, hi + 1) for lo, hi in box))}


@pytest.mark.parametrize("seed", range(20))
def test_a_set_of_few_boxes_holds_exactly_what_was_included(seed: int) -> None:
    random = Random(seed)
    boxes: list[Box] = []
    included: list[Box] = []
    for _ in range(12):
        box = tuple((lo := random.randrange(6), lo + random.randrange(4)) for _ in range(2))
        include(boxes, box)
        included.append(box)
        assert points(boxes) == points(included)


def test_rows_one_after_the_other_are_one_box() -> None:
    boxes: list[Box] = []
    for row in (0, 2, 1, 3):
        include(boxes, ((row, row), (0, 9)))
    assert boxes == [((0, 3), (0, 9))]


def test_many_boxes_become_one_around_all() -> None:
    boxes: list[Box] = []
    for k in range(MOST + 1):
        include(boxes, ((2 * k, 2 * k), (3 * k, 3 * k)))
    assert boxes == [((0, 2 * MOST), (0, 3 * MOST))]


def test_boxes_without_axes_hold_the_one_element() -> None:
    boxes: list[Box] = []
    include(boxes, ())
    include(boxes, ())
    assert boxes == [()]
    assert intersection((), ()) == ()
    assert np.ones(())[slices(())] == 1.0


def test_intersections() -> None:
    assert intersection(((0, 3), (2, 5)), ((2, 9), (0, 2))) == ((2, 3), (2, 2))
    assert intersection(((0, 3),), ((4, 9),)) is None
    assert np.arange(10)[slices(((2, 4),))].tolist() == [2, 3, 4]
