"""static, ndrange, grouped and hints on the host."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackSyntaxError


def test_static_is_the_identity_on_the_host() -> None:
    assert qd.static(3) == 3
    assert qd.static(1, 2) == (1, 2)


def test_ndrange_runs_with_the_last_axis_fastest() -> None:
    assert list(qd.ndrange(2, (1, 3))) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_grouped_gives_vectors() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, shape=(1, 2), offset=(3, -1))
    assert [at.to_list() for at in qd.grouped(x)] == [[3, -1], [3, 0]]
    assert [at.to_list() for at in qd.grouped(qd.ndrange(2))] == [[0], [1]]


def test_hints_have_a_meaning_in_kernels_only() -> None:
    with pytest.raises(AdstackSyntaxError, match="only in a kernel"):
        qd.loop_config(serialize=True)
    assert qd.block_local() is None
    assert repr(qd.template()) == "template()"


def test_a_static_assert_of_the_host_is_an_assert():
    qd.static_assert(True)
    with pytest.raises(AssertionError, match="static_assert: two"):
        qd.static_assert(False, "two")


def test_a_static_assert_refuses_what_is_known_later():
    qd.init(arch=qd.reference)

    @qd.kernel
    def k(a: qd.i32):
        qd.static_assert(a > 0)

    with pytest.raises(qd.AdstackTypeError, match=r"static_assert must be known while compiling, this is <runtime u1>"):
        k(1)


def test_a_static_print_prints_once_per_version(capsys):
    qd.init(arch=qd.reference)

    @qd.kernel
    def k(n: qd.template(), x: qd.f32):
        qd.static_print("n", n, x, sep="|")

    for n in (1, 1, 2, 1):
        k(n, 0.5)
    assert capsys.readouterr().out == "n|1|<runtime f32>\nn|2|<runtime f32>\n"


def test_the_axes_of_ndrange_may_run_in_another_order() -> None:
    qd.init(arch=qd.reference)
    order = qd.field(qd.i32, (2, 3, 2))
    seen = qd.field(qd.i32, ())

    @qd.kernel
    def run(grouped: qd.template()):
        seen[None] = 0
        qd.loop_config(serialize=True)
        if qd.static(grouped):
            for at in qd.grouped(qd.ndrange(2, (0, 3), 2, axes=(2, 0, 1))):
                order[at] = seen[None]
                seen[None] += 1
        else:
            for i, j, k in qd.ndrange(2, (0, 3), 2, axes=(2, 0, 1)):
                order[i, j, k] = seen[None]
                seen[None] += 1

    points = sorted(np.ndindex(2, 3, 2), key=lambda at: (at[2], at[0], at[1]))
    for grouped in (False, True):
        order.fill(0)
        run(grouped)
        assert [order[at] for at in points] == list(range(12))
    assert list(qd.ndrange(2, 3, 2, axes=(2, 0, 1))) == points
    with pytest.raises(qd.AdstackTypeError, match=r"axes=\(1, 1\) of ndrange must have the number of each axis once"):
        qd.ndrange(2, 3, axes=(1, 1))
