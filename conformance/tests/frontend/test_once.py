"""Warnings about fractions that are lost, and what is suggested for unknown names."""

from __future__ import annotations

import warnings

import pytest

import adstack as qd


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def test_an_integer_that_a_float_updates_is_warned_of() -> None:
    @qd.kernel
    def k() -> qd.f32:
        a = 0
        a += 0.5
        return a

    with pytest.warns(UserWarning, match=r"'a' began as an integer \(i32\) and loses the fraction") as caught:
        assert [k(), k()] == [0, 0]
    assert len(caught) == 1
    assert "a += 0.5\n    ^^^^^^^^" in str(caught[0].message)
    assert ":21:" in str(caught[0].message)


def test_a_type_that_was_chosen_is_not_warned_of() -> None:
    @qd.kernel
    def k() -> qd.f32:
        a = qd.i32(0)
        a += 0.5
        b = 0
        b += 2
        c = 0.0
        c += 0.5
        return a + b + c

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert k() == 2.5


def test_unknown_names_are_answered_with_near_ones() -> None:
    @qd.kernel
    def local() -> qd.i32:
        total = 1
        return totl + total  # type: ignore[name-defined]  # noqa: F821

    @qd.kernel
    def function() -> qd.f32:
        return qd.sqt(2.0)  # type: ignore[attr-defined]

    with pytest.raises(qd.QuadrantsNameError, match=r"did you mean total\?"):
        local()
    with pytest.raises(qd.QuadrantsNameError, match=r"did you mean sqrt or rsqrt\?"):
        function()
