"""Memory that others write without saying so: `.grad()` outside a tape is right or refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackDataAccessError, AdstackMemoryError
from adstack.gradients.memory import contents
from adstack.runtime.memory.ledger import LEDGER


@pytest.fixture(params=["reference", "cpu"])
def arch(request: Any) -> str:
    name: str = request.param
    return name


def squares(takes: bool) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """x, y, a kernel that adds the squares of x to y, and its arguments."""
    x, y = (qd.field(qd.f64, shape, needs_grad=True) for shape in ((3,), ()))

    @qd.kernel
    def plain():
        for i in x:
            y[None] += x[i] * x[i]

    @qd.kernel
    def scaled(s: qd.i32):
        for i in x:
            y[None] += s * x[i] * x[i]

    return x, y, scaled if takes else plain, (1,) if takes else ()


def products() -> tuple[Any, Any, Any]:
    """x, y, and a kernel that adds the products of x and an array to y."""
    x, y = (qd.field(qd.f64, shape, needs_grad=True) for shape in ((3,), ()))

    @qd.kernel
    def product(a: qd.types.ndarray()):
        for i in x:
            y[None] += x[i] * a[i]

    return x, y, product


def reverse(x: Any, y: Any, kernel: Any, *args: Any) -> list[float]:
    x.grad.fill(0.0)
    y.grad[None] = 1.0
    kernel.grad(*args)
    result: list[float] = x.grad.to_numpy().tolist()
    return result


@pytest.mark.parametrize("takes", [False, True])
def test_a_field_that_numpy_writes_too_is_compared(arch: str, takes: bool) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    x, y, kernel, args = squares(takes)
    x.fill(1.0)
    view = np.from_dlpack(x)
    with qd.ad.Tape(y):
        kernel(*args)
    view[0] = 5.0
    with pytest.raises(AdstackDataAccessError, match="not kept"):
        reverse(x, y, kernel, *args)
    view[0] = 1.0
    assert reverse(x, y, kernel, *args) == [2.0, 2.0, 2.0]


def test_a_field_that_is_shared_after_the_tape_is_not_trusted(arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    x, y, kernel, args = squares(takes=True)
    x.fill(1.0)
    with qd.ad.Tape(y):
        kernel(*args)
    np.from_dlpack(x)[0] = 5.0
    with pytest.raises(AdstackDataAccessError, match="not kept"):
        reverse(x, y, kernel, *args)


@pytest.mark.parametrize("options", [{}, {"ad_snapshot": True}], ids=str)
@pytest.mark.parametrize("who", ["numpy", "kernel"])
def test_what_is_put_back_is_put_back_in_a_field_that_numpy_writes_too(arch: str, who: str, options: Any) -> None:
    qd.init(arch=arch, default_fp=qd.f64, **options)
    x, z = (qd.field(qd.f64, 3, needs_grad=True) for _ in range(2))

    @qd.kernel
    def shrink():
        for i in z:
            z[i] = z[i] * x[i]

    @qd.kernel
    def other():
        for i in x:
            x[i] = 7.0

    x.fill(2.0)
    z.fill(3.0)
    view = np.from_dlpack(x)
    shrink()
    if who == "numpy":
        view.fill(7.0)
    else:
        other()
    x.grad.fill(0.0)
    z.grad.fill(1.0)
    shrink.grad()
    assert (z.grad[1], x.grad[1], x[1], z[1]) == (2.0, 3.0, 7.0, 6.0)


def test_copies_that_were_given_up_are_of_no_use(arch: str, monkeypatch: Any) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    monkeypatch.setattr(LEDGER, "most", 0)  # what was kept last stays
    x, y, product = products()
    a, b = np.ones(3), np.full(3, 2.0)
    with qd.ad.Tape(y):
        product(a)
        product(b)
    assert reverse(x, y, product, b) == [2.0, 2.0, 2.0]
    with pytest.raises(AdstackDataAccessError, match="not kept"):
        reverse(x, y, product, a)


def test_without_memory_for_a_copy_the_launch_is_made_and_its_gradient_refused(arch: str, monkeypatch: Any) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    monkeypatch.setattr(contents, "keep", _no_memory)
    x, y, kernel, args = squares(takes=True)
    x.fill(1.0)
    np.from_dlpack(x)
    with qd.ad.Tape(y):
        kernel(*args)
    assert x.grad.to_numpy().tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(AdstackDataAccessError, match="not kept"):
        reverse(x, y, kernel, *args)


def _no_memory(*args: Any) -> Any:
    raise AdstackMemoryError("there is no memory")


def test_copies_are_shared_and_go_with_the_array(monkeypatch: Any) -> None:
    qd.init(arch="cpu", default_fp=qd.f64)
    _, y, product = products()
    copies: list[Any] = []
    real = contents.Contents
    monkeypatch.setattr(contents, "Contents", lambda memory: _noted(copies, real(memory)))
    a, b = np.ones(3), np.full(3, 2.0)
    with qd.ad.Tape(y):
        for _ in range(4):
            product(a)
        for _ in range(4):
            product(b)
    assert len(copies) == 2
    del b
    gc.collect()
    with qd.ad.Tape(y):
        product(a)
    assert copies[1]() is None


def _noted(copies: list[Any], one: Any) -> Any:
    copies.append(weakref.ref(one))
    return one


@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan"])
def test_a_gradient_of_another_kernel_leaves_the_last_launch_of_a_tape_as_it_was(arch: str) -> None:
    """Whether it is refused or not: what it puts back for a while, it puts back with its version."""
    qd.init(arch=arch)
    x, y = qd.field(qd.f32, 3, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def cube():
        for i in x:
            y[None] += x[i] ** 3

    @qd.kernel
    def double():
        for i in x:
            x[i] = 2 * x[i]

    @qd.kernel
    def weigh():
        for i in x:
            y[None] += x[i] * x[i]

    x.from_numpy(np.array([1, 2, 3], np.float32))
    cube()
    with qd.ad.Tape(y, clear_gradients=False):
        double()
        weigh()
    x.grad.fill(0)
    y.grad[None] = 1
    with pytest.raises(qd.AdstackDataAccessError, match="double"):
        cube.grad()
    weigh.grad()
    assert x.grad.to_numpy().tolist() == [4, 8, 12]
    assert x.to_numpy().tolist() == [2, 4, 6]
