"""Single elements from the host: the quick way does what the careful way does, with keys and values of any kind."""

from __future__ import annotations

import math
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import adstack as qd
from adstack.data.hostarrays import _NO_READ, _NO_STORE

SHAPES = ((), (3,), (2, 3), (2, 1, 2))
INDICES = st.sampled_from([0, 1, 2, 3, -1, True, 2.0, np.int32(1), None, slice(0, 1), 2**70])
KEYS = st.one_of(INDICES, st.lists(INDICES, max_size=3).map(tuple), st.lists(INDICES, max_size=2))
VALUES = st.sampled_from([0, 1, -1, 2**40, True, 1.5, math.nan, math.inf, -0.0, 1e300, np.float32(2.5), "1", [1.0]])


@pytest.fixture(autouse=True)
def _cpu() -> None:
    qd.init(arch=qd.cpu)


def outcome(act: Any) -> object:
    """What it gives, by its bits, or its error."""
    try:
        value = act()
    except Exception as error:  # noqa: BLE001 -- any error is an outcome, to be the same in both
        return type(error), str(error)
    return type(value), repr(value)


@hypothesis.given(st.sampled_from(SHAPES), st.sampled_from(["f32", "f64", "i32", "u8", "u1"]), KEYS, VALUES)
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], max_examples=400)
def test_quick_and_careful_access_agree(shape: tuple[int, ...], dtype: str, key: Any, value: Any) -> None:
    quick, careful = (qd.field(getattr(qd, dtype), shape=shape, name="x") for _ in range(2))
    for field in (quick, careful):
        field.fill(1)
    assert quick._read[1] is not None, "there is a quick way"
    careful._read, careful._store = _NO_READ, _NO_STORE
    stored = [outcome(lambda field=field: field.__setitem__(key, value)) for field in (quick, careful)]
    assert stored[0] == stored[1]
    read = [outcome(lambda field=field: field[key]) for field in (quick, careful)]
    assert read[0] == read[1]
    assert quick.to_numpy().tobytes() == careful.to_numpy().tobytes()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_launch_notices_what_the_host_stores_the_quick_way(shape: tuple[int, ...]) -> None:
    x, y = (qd.field(qd.f64, shape=shape, needs_grad=True) for _ in range(2))

    @qd.kernel
    def square() -> None:
        for at in qd.grouped(x):
            y[at] = x[at] * x[at]

    key = tuple(n - 1 for n in shape) if shape else None
    x[key] = 3.0
    square()
    x[key] = 5.0
    with pytest.raises(qd.AdstackDataAccessError, match="changed to 5"):
        square.grad()
    x[key] = 3.0
    y.grad.fill(1.0)
    square.grad()
    assert x.grad[key] == 6.0
