"""`FwdMode`: directions, duals, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def arch(request: Any) -> str:
    qd.init(arch=request.param, default_fp=qd.f64)
    name: str = request.param
    return name


def duals(shape: Any) -> Any:
    return qd.field(qd.f64, shape=shape, needs_dual=True)


def test_duals_are_the_derivative_along_the_seed() -> None:
    x, y, z = duals(3), duals(()), duals(())

    @qd.kernel
    def run():
        for i in x:
            y[None] += x[i] * x[i]
            z[None] += x[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with qd.ad.FwdMode(loss=[y, z], param=x, seed=[1.0, 0.0, 0.5]) as mode:
        run()
    assert (y.dual[None], z.dual[None]) == (2.0 + 3.0, 1.5)
    assert (y[None], z[None]) == (14.0, 6.0)
    assert x.dual.to_numpy().tolist() == [0.0] * 3
    assert mode.calls == [(run, ())]


def test_the_seed_may_be_left_out_for_one_number() -> None:
    x, y = duals(()), duals(())

    @qd.kernel
    def run():
        y[None] += qd.exp(x[None])

    for _ in range(2):
        with qd.ad.FwdMode(loss=y, param=x):
            run()
        assert y.dual[None] == 1.0


def test_duals_may_be_kept() -> None:
    x, y = duals(()), duals(())

    @qd.kernel
    def run():
        y[None] += 2.0 * x[None]

    for _ in range(2):
        with qd.ad.FwdMode(loss=y, param=x, clear_gradients=False):
            run()
    assert y.dual[None] == 4.0


def test_a_store_replaces_the_dual() -> None:
    x, y = duals(()), duals(())

    @qd.kernel
    def run():
        y[None] = 2.0 * x[None]
        y[None] = 5.0 * x[None]

    @qd.kernel
    def forget():
        y[None] = 1.0

    with qd.ad.FwdMode(loss=y, param=x):
        run()
        run()
        assert y.dual[None] == 5.0
        forget()
    assert y.dual[None] == 0.0


def test_tangents_pass_from_launch_to_launch_and_past_the_host() -> None:
    x, m, y = duals(2), duals(2), duals(())

    @qd.kernel
    def first():
        for i in x:
            m[i] = x[i] * x[i]

    @qd.kernel
    def second():
        for i in m:
            y[None] += m[i] * 3.0

    x.from_numpy(np.array([2.0, 5.0]))
    with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 1.0]):
        first()
        m[1] = 7.0
        second()
    assert y.dual[None] == 12.0


def test_seeds_of_vector_fields_are_flat() -> None:
    v, y = qd.Vector.field(2, qd.f64, shape=2, needs_dual=True), duals(())

    @qd.kernel
    def run():
        for i in v:
            y[None] += v[i][0] * v[i][1]

    v.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with qd.ad.FwdMode(loss=y, param=v, seed=[1.0, 0.0, 0.0, 10.0]):
        run()
    assert y.dual[None] == 2.0 + 30.0


@pytest.mark.parametrize("seed", [None, [1.0, 0.0]])
def test_the_seed_has_one_number_for_each_in_the_parameter(seed: Any) -> None:
    x, y = duals(3), duals(())
    with pytest.raises(qd.AdstackRuntimeError, match=r"`seed`.* holds 3"):
        qd.ad.FwdMode(loss=y, param=x, seed=seed)


def test_what_has_no_dual_is_refused() -> None:
    x, y = duals(()), duals(())
    with pytest.raises(TypeError, match="FwdMode takes fields, got Ndarray"):
        qd.ad.FwdMode(loss=qd.ndarray(qd.f64, shape=1), param=x)
    with pytest.raises(TypeError, match="i32 has no dual"):
        qd.ad.FwdMode(loss=y, param=qd.field(qd.i32, shape=()))
    with pytest.raises(RuntimeError, match="has not been placed, check whether `needs_dual=True`"):
        qd.ad.FwdMode(loss=qd.field(qd.f64, shape=()), param=x)


def test_modes_are_not_nested() -> None:
    x, y = duals(()), duals(())
    with (
        pytest.raises(qd.AdstackRuntimeError, match="inside another"),
        qd.ad.FwdMode(loss=y, param=x),
        qd.ad.FwdMode(loss=y, param=x),
    ):
        pass
    assert x.dual[None] == 0.0


def test_kernels_that_touch_nothing_with_a_dual_run_as_they_are() -> None:
    x, y, n = duals(()), duals(()), qd.field(qd.f64, shape=())

    @qd.kernel
    def run() -> qd.f64:
        n[None] += 1.0
        return n[None]

    with qd.ad.FwdMode(loss=y, param=x):
        assert run() == 1.0


def test_what_a_kernel_returns_comes_back() -> None:
    x, y = duals(()), duals(())

    @qd.kernel
    def run() -> qd.types.vector(2, qd.f64):
        y[None] = x[None]
        return qd.Vector([x[None], 2.0])

    x[None] = 4.0
    with qd.ad.FwdMode(loss=y, param=x):
        assert list(run()) == [4.0, 2.0]


def test_a_kernel_about_duals_is_refused() -> None:
    x, y = duals(()), duals(())

    @qd.kernel
    def run():
        y[None] = x.dual[None]

    with (
        pytest.raises(qd.AdstackRuntimeError, match="Cannot automatically differentiate through a grad tensor"),
        qd.ad.FwdMode(loss=y, param=x),
    ):
        run()
