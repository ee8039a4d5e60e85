"""Warnings about fractions that are lost, and what is suggested for unknown names."""

from __future__ import annotations

import linecache
import warnings

import pytest

import adstack as qd
from adstack.kernels.kernel import Kernel


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
    assert ":23:" in str(caught[0].message)


def test_updates_that_lose_fractions_are_warned_of() -> None:
    n = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(by: qd.f32) -> qd.f32:
        a = 2
        a /= 4
        n[0] = 5
        n[0] /= 2
        n[1] += by
        n[2] -= 1
        n[2] //= 2
        n[2] += 2.0
        return a

    with pytest.warns(UserWarning, match="loses the fraction") as caught:
        assert k(0.5) == 0
    said = [str(warning.message).split("'")[1] for warning in caught]
    assert (said, n.to_numpy().tolist()) == (["a", "n[0]", "n[1]"], [2, 0, 1])


def _kernel_that_warns() -> Kernel:
    @qd.kernel
    def k() -> qd.f32:
        a = 0
        a += 0.5
        return a

    return k


def test_a_warning_is_the_line_s_own_and_comes_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        _kernel_that_warns()()
        _kernel_that_warns()()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert linecache.getline(__file__, caught[0].lineno).strip() == "a += 0.5"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="adstack")
        warnings.filterwarnings("error", module=__name__)
        with pytest.raises(UserWarning, match="'a' began as an integer"):
            _kernel_that_warns()()


def test_updates_that_are_not_atomic_are_warned_of() -> None:
    s = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        w = [1, 1, 1, 1]
        pair = qd.Struct(a=1, b=2)
        v = qd.Vector([1, 2, 3, 4])
        for i in range(n):
            s[None] *= i
        for i in range(n):
            w[0] <<= i
        for i in range(n):
            v[(i + 1) % 4] += v[i]
        for i in range(n):
            v[i] *= 2  # an element for each iteration
            v[i] += i
        for i in range(n):
            v[0] += i  # atomic
        for i in range(n):
            pair.a *= i
        for i in range(n):
            pair.a += pair.b  # another member
        return w[0] + v[0]

    with pytest.warns(UserWarning, match="iterations run in parallel") as caught:
        k(2)
    said = [str(warning.message) for warning in caught]
    assert [text.split("read and write ")[1].split("\n")[0] for text in said] == [
        "s[None]",
        "the local 'w'",
        "the local 'v'",
        "the local 'pair'",
    ]
    assert "qd.atomic_mul(s[None], ...)" in "".join(said)


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
