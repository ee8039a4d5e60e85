"""Forward mode in memory that numpy may write without a word: what the host stores by adstack is not numpy's."""

from __future__ import annotations

import pytest

import adstack as qd


@pytest.fixture(params=["reference", "cpu"])
def fields(request):
    qd.init(arch=request.param, default_fp=qd.f64)
    x, y, z = (qd.field(qd.f64, shape=2, needs_grad=True, needs_dual=True) for _ in range(3))
    x.fill(2.0)
    return x, y, z, y.to_numpy(copy=False)


@pytest.mark.parametrize("whole", [False, True])
def test_a_linked_number_keeps_its_tangent_where_numpy_has_the_memory(fields, whole):
    x, y, z, view = fields

    @qd.kernel
    def total() -> qd.f64:
        t = 0.0
        for i in range(2):
            t += x[i]
        return t

    @qd.kernel
    def triple():
        for i in y:
            z[i] = y[i] * 3.0

    with qd.ad.FwdMode(loss=z, param=x, seed=[5.0, 2.0]):
        triple()  # what it leaves in memory is compared with what is there later
        number = total()
        if whole:
            y.fill(number)
        else:
            y[0] = number
        triple()
    assert list(z.dual.to_numpy()) == [21.0, 21.0 if whole else 0.0]
    with qd.ad.FwdMode(loss=z, param=x, seed=[5.0, 2.0]):
        triple()
        y[0] = total()
        view[0] = 8.0
        triple()
    assert list(z.dual.to_numpy()) == [0.0, 0.0]  # the last write is numpy's: a constant
