"""`FwdMode`: directions, duals, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


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


def test_a_parameter_that_is_a_loss_too_keeps_its_dual() -> None:
    x = duals(3)

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with qd.ad.FwdMode(loss=x, param=x, seed=[1.0, 0.5, -1.0]):
        square()
        square()
    assert x.dual.to_numpy().tolist() == [4.0, 4.0 * 8 * 0.5, -4.0 * 27]


def arrays(shape: Any) -> Any:
    return qd.ndarray(qd.f64, shape=shape, needs_dual=True)


def test_ndarrays_have_duals_as_fields_do() -> None:
    a, b, y = arrays(3), arrays(3), duals(())
    c = np.array([1.0, 10.0, 100.0])

    @qd.kernel
    def run(a: qd.types.ndarray(), b: qd.types.ndarray(), c: qd.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i] * c[i]
        for i in b:
            y[None] += b[i]

    a.from_numpy(np.array([1.0, 2.0, 3.0]))
    b.dual.fill(7.0)
    for _ in range(2):
        with qd.ad.FwdMode(loss=[b, y], param=a, seed=[1.0, 0.5, -1.0]):
            run(a, b, c)
        assert b.dual.to_numpy().tolist() == [2.0, 20.0, -600.0]
        assert y.dual[None] == -578.0
        assert a.dual.to_numpy().tolist() == [0.0] * 3
    run(a, b, c)
    assert y[None] == 3 * 941.0


def test_ndarrays_of_vectors_and_captured_ones_have_duals() -> None:
    v = qd.Vector.ndarray(2, qd.f64, shape=(2,), needs_grad=True, needs_dual=True)
    y = arrays(())

    @qd.kernel
    def run(v: qd.types.ndarray(dtype=qd.types.vector(2, qd.f64), ndim=1)):
        for i in v:
            y[None] += v[i].dot(v[i])

    v.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with qd.ad.FwdMode(loss=y, param=v, seed=[1.0, 0.0, 0.0, 0.25]):
        run(v)
    assert y.dual[None] == 2.0 + 2.0


def test_what_the_host_writes_to_an_ndarray_is_constant() -> None:
    a, b = arrays(2), arrays(2)

    @qd.kernel
    def double(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = 2.0 * a[i]

    with qd.ad.FwdMode(loss=b, param=a, seed=[1.0, 1.0]):
        double(a, b)
        b[1] = 5.0
        double(b, a)
    assert b.dual.to_numpy().tolist() == [2.0, 0.0]


def test_an_annotation_may_cut_the_dual() -> None:
    a, y = arrays(2), duals(())

    @qd.kernel
    def run(a: qd.types.ndarray(needs_grad=False), b: qd.types.ndarray()):
        for i in a:
            y[None] += a[i] * b[i]

    a.fill(3.0)
    with qd.ad.FwdMode(loss=y, param=a, seed=[1.0, 1.0]):
        run(a, a)
    assert y.dual[None] == 6.0


def test_arrays_with_and_without_a_dual_are_told_apart() -> None:
    with_dual, without, y = arrays(2), qd.ndarray(qd.f64, shape=2), duals(())

    @qd.kernel
    def run(a: qd.types.ndarray()):
        for i in a:
            y[None] += a[i]

    for a, expected in ((with_dual, 2.0), (without, 0.0), (with_dual, 2.0)):
        run(a)
        with qd.ad.FwdMode(loss=y, param=with_dual, seed=[1.0, 1.0]):
            run(a)
        assert y.dual[None] == expected


def test_kernels_may_use_the_dual_of_an_argument() -> None:
    a = arrays(2)

    @qd.kernel
    def fill(a: qd.types.ndarray()):
        for i in a:
            a.dual[i] = 3.0 + i

    fill(a)
    fill(a)
    assert a.dual.to_numpy().tolist() == [3.0, 4.0]


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
    with pytest.raises(TypeError, match=r"FwdMode takes fields and ndarrays, got numpy\.ndarray"):
        qd.ad.FwdMode(loss=np.zeros(1), param=x)
    with pytest.raises(TypeError, match=r"the ndarray of f64 has no dual\n.*make it with needs_dual=True"):
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


def test_a_seed_is_of_numbers() -> None:
    x, y = duals(()), duals(())
    with pytest.raises(qd.AdstackArgumentError, match="`seed` must be numbers, got 'a'"):
        qd.ad.FwdMode(loss=y, param=x, seed="a")
