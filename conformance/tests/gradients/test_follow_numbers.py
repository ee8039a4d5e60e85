"""Numbers that a followed tape was called with: those that launches are handed, and those that are compiled in."""

from __future__ import annotations

import pytest
from follow_kit import ARCHES, begin_in_test

import adstack as qd

N = 5


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


def test_numbers_that_are_compiled_in_are_told_apart_from_those_that_a_launch_is_handed() -> None:
    x, y = (qd.field(qd.f64, shape=N, needs_grad=True) for _ in range(2))
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def put(scale: qd.template(), dst: qd.template(), c: qd.f64, times: qd.template()):
        for i in x:
            dst[i] = x[i] * c * scale * times

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def tape(c: float) -> qd.ad.Tape:
        x.fill(1.0)
        with qd.ad.Tape(loss) as one:
            put(3, y, c, 2)
            total()
        assert x.grad.to_numpy().tolist() == [6 * c] * N
        return one

    tapes = [tape(c) for c in (1.0, 2.0, 4.0, 0.5)]  # each is asked what it was when the next one is followed
    assert [one.calls[0] for one in tapes] == [(put, (3, y, c, 2)) for c in (1.0, 2.0, 4.0, 0.5)]
