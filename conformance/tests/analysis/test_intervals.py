"""Interval arithmetic holds what the operations of the table give, and is exact where both ends are reached."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.analysis.intervals import RULES, hull
from adstack.ir.ops import TABLE
from adstack.ir.types import i64

NUMBERS = st.integers(-300, 300) | st.integers(-(2**31), 2**31 - 1)


def intervals(numbers=NUMBERS):
    return st.tuples(numbers, numbers).map(sorted).map(tuple)


def inside(data, interval):
    """A number of an interval; its ends are likely."""
    return data.draw(st.sampled_from(interval) | st.integers(*interval))


@pytest.mark.parametrize("name", sorted({row.name for row in RULES} - {"cast"}))
@given(data=st.data())
def test_the_result_of_an_operation_is_in_the_interval_of_its_rule(name, data):
    row = TABLE[name]
    amounts = NUMBERS if name not in ("shl", "shr") else st.integers(-2, 20)
    operands = [data.draw(intervals(amounts if k else NUMBERS)) for k in range(len(row.signature.inputs))]
    interval = RULES[TABLE[name]](*operands)
    if interval is None or max(map(abs, interval)) >= 2**63:
        return  # nothing is known, or the result may wrap around
    numbers = [np.array([inside(data, one)], np.int64) for one in operands]
    if row.trap is not None and np.any(row.trap.when(*numbers)):
        return
    result = int(row.meaning(i64, *numbers)[0])
    assert interval[0] <= result <= interval[1], (operands, numbers)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("mod", ((5, 12), (8, 8)), (0, 7)),
        ("mod", ((5, 6), (8, 9)), (5, 6)),
        ("mod", ((0, 3), (5, 8)), (0, 3)),
        ("mod", ((-1, 3), (5, 8)), (0, 7)),
        ("mod", ((0, 3), (0, 8)), None),
        ("raw_mod", ((-1, 3), (8, 8)), None),
        ("floordiv", ((-7, 7), (2, 3)), (-4, 3)),
        ("floordiv", ((1, 7), (-2, 3)), None),
        ("mul", ((-2, 3), (-5, 4)), (-15, 12)),
        ("abs", ((-7, 3),), (0, 7)),
        ("abs", ((-7, -3),), (3, 7)),
        ("and", ((-9, 9), (0, 7)), (0, 7)),
        ("and", ((-9, 9), (-1, 7)), None),
        ("xor", ((0, 5), (0, 8)), (0, 15)),
        ("shl", ((-1, 3), (0, 4)), (-16, 48)),
        ("shr", ((0, 9), (1, 2)), (0, 4)),
    ],
)
def test_rules(name, operands, expected):
    assert RULES[TABLE[name]](*operands) == expected


@given(intervals(), intervals())
def test_a_hull_holds_both(a, b):
    lo, hi = hull(a, b)
    assert (lo, hi) == (min(*a, *b), max(*a, *b))


def test_nothing_is_known_of_a_shift_that_never_happens():
    """Under conditions that exclude each other an interval may be empty."""
    assert RULES[TABLE["shl"]]((0, 3), (0, -1)) is None
