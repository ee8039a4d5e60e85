"""What strangers do: sizes that no machine has, nests deeper than anybody reads; an error of adstack's, or it works."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd

ARCHES = ["reference", "cpu", "vulkan"]


def kernel_of(text: str, **names: Any) -> Any:
    """The kernel `k` of a program's text."""
    file = f"<stranger {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names["qd"] = qd
    exec(compile(text, file, "exec"), names)
    return names["k"]


def chain(length: int) -> str:
    branches = "".join(
        f"        {'el' if k else ''}if x[i] == {k}:\n            y[i] = {k + 1}.0 * x[i]\n" for k in range(length)
    )
    return f"@qd.kernel\ndef k():\n    for i in x:\n{branches}"


def calls(depth: int) -> str:
    functions = "".join(f"@qd.func\ndef f{k + 1}(a):\n    return 2.0 * f{k}(a)\n" for k in range(depth))
    head = f"@qd.func\ndef f0(a):\n    return a\n{functions}"
    return f"{head}@qd.kernel\ndef k():\n    for i in x:\n        y[i] = f{depth}(x[i])\n"


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("text", [chain(60), calls(40)], ids=["elif", "functions"])
def test_deep_programs_run_and_have_gradients(arch: str, text: str) -> None:
    qd.init(arch=arch)
    x, y = (qd.field(qd.f32, 2, needs_grad=True) for _ in range(2))
    k = kernel_of(text, x=x, y=y)
    x[1] = 59.0
    y.grad.fill(1.0)
    k()
    k.grad()
    factor = 60.0 if "elif" in text else 2.0**40
    assert (y[1], x.grad[1]) == (factor * 59.0, factor)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("text", [chain(65), chain(200), chain(900), calls(200), calls(900)])
def test_programs_that_are_too_deep_say_so(arch: str, text: str) -> None:
    qd.init(arch=arch)
    x, y = (qd.field(qd.f32, 2, needs_grad=True) for _ in range(2))
    with pytest.raises(qd.AdstackCompilationError) as caught:
        kernel_of(text, x=x, y=y)()
    assert "do: " in str(caught.value)
    assert caught.value.loc is not None


def test_a_call_where_no_stack_is_left_says_so() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, 2)

    @qd.kernel
    def k():
        for i in x:
            x[i] = 1.0

    def deep() -> None:
        try:
            deep()
        except RecursionError:
            k()

    with pytest.raises(qd.AdstackError, match=r"stack is too small|nested too deeply|RecursionError") as caught:
        deep()
    assert "do: " in str(caught.value)
    k()
    assert x[1] == 1.0


SHAPES = [2**57, 2**62, 2**63, 2**64, (2**31, 2**31), (2**40, 2**40)]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_more_elements_than_any_memory_holds_are_refused_when_they_are_asked_for(arch: str, shape: Any) -> None:
    qd.init(arch=arch)
    makers: list[Callable[[], Any]] = [
        lambda: qd.field(qd.f64, shape),
        lambda: qd.field(qd.i8, shape, needs_grad=False),
        lambda: qd.ndarray(qd.f64, shape),
        lambda: qd.Vector.field(4, qd.f64, shape),
        lambda: qd.root.dense(qd.ij, shape if isinstance(shape, tuple) else (shape, 1)),
        lambda: qd.root.dense(qd.i, 2**40).dense(qd.i, 2**40),
    ]
    for make in makers:
        with pytest.raises(qd.AdstackMemoryError, match="no memory holds"):
            make()


def test_more_axes_than_arrays_of_the_host_have_are_refused() -> None:
    qd.init(arch=qd.reference)
    assert qd.field(qd.i8, (1,) * 30).to_numpy().ndim == 30
    makers: list[Callable[[], Any]] = [lambda: qd.field(qd.i8, (1,) * 31), lambda: qd.ndarray(qd.i8, (1,) * 70)]
    for make in makers:
        with pytest.raises(qd.AdstackArgumentError, match="has at most 30 axes"):
            make()


@pytest.mark.parametrize("arch", ARCHES)
def test_a_loop_over_as_many_axes_as_there_can_be_is_compiled_at_once(arch: str) -> None:
    """Polynomials in the extents have a term per axis, not one per set of axes."""
    qd.init(arch=arch)
    total = qd.field(qd.f32, ())
    k = kernel_of(
        "@qd.kernel\ndef k(a: qd.types.ndarray()):\n    for I in qd.grouped(a):\n        total[None] += a[I]\n",
        total=total,
    )
    k(np.full((1,) * 30, 3.0, np.float32))
    assert total[None] == 3.0


@pytest.mark.parametrize("arch", ARCHES)
def test_more_than_this_machine_has_is_refused_when_it_is_used(arch: str) -> None:
    qd.init(arch=arch)
    x = qd.field(qd.f32, 2**44)
    with pytest.raises(qd.AdstackMemoryError):
        x[0] = 1.0
    with pytest.raises(qd.AdstackMemoryError):
        qd.ndarray(qd.f32, 2**44)


def test_vectors_have_a_size_that_code_can_be_made_for() -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackTypeError, match="at most 1024 elements along an axis"):
        qd.Vector.field(2**40, qd.f32, 3)
    with pytest.raises(qd.AdstackTypeError, match="at most 1024"):
        qd.types.matrix(3, 2000, qd.f32)


def test_five_thousand_threads_do_the_work_of_one() -> None:
    qd.init(arch=qd.cpu, cpu_max_num_threads=5000)
    x = qd.field(qd.i32, 10_000)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i

    k()
    assert (x[0], x[9_999]) == (0, 9_999)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("size", [2**60, 2**63 - 1])
def test_the_largest_adstacks_are_right_or_refused_with_their_place(arch: str, size: int) -> None:
    qd.init(arch=arch, ad_stack_size=size)
    x, y = (qd.field(qd.f32, 2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v * v + 0.5
            y[i] = v

    x.fill(1.0)
    y.grad.fill(1.0)
    try:
        k.grad(2)
    except qd.AdstackMemoryError as error:
        assert error.loc is not None  # noqa: PT017 - either is right
    else:
        assert x.grad[1] == 2.0 * 1.5 * 2.0 * 1.0
