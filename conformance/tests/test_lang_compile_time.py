"""static, ndrange, grouped and hints on the host."""

from __future__ import annotations

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
