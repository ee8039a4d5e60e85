"""Gradients of loops in which few iterations push: memory is for those, whichever threads come to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sizing_kit import gated_gradient, miscounted
from vulkan_kit import backend, compiled

import adstack as qd
from adstack.backends.shared.layouts import Layouts
from adstack.errors import AdstackAssertionError, AdstackMemoryError
from adstack.runtime.adstack_report import TaskRow

MANY = 20_000
STEPS = 50


def gradient(arch: str, pushing: Sequence[int], **options: Any) -> tuple[np.ndarray[Any, Any], TaskRow]:
    """Of a loop that only some iterations run; and the memory that it took."""
    return gated_gradient(arch, MANY, STEPS, pushing, **options)


@pytest.mark.parametrize(
    "pushing", [[], [7], [0, 63, 64, MANY - 1], range(1000, 1100), range(0, MANY, 40), range(MANY)], ids=len
)
def test_memory_is_taken_for_iterations_that_push(pushing: Sequence[int]):
    want, _ = gradient("reference", pushing)
    grads, row = gradient("vulkan", pushing)
    assert grads.tobytes() == want.tobytes()
    assert row.stride == (4 * STEPS if pushing else 0)
    assert row.lanes is not None
    assert row.lanes <= max(1, len(pushing))
    if len(pushing) <= 500:
        assert row.lanes == max(1, len(pushing))
    assert row.needed == row.lanes * row.stride


def test_with_less_memory_than_that_fewer_threads_run_and_gradients_are_the_same():
    pushing, limit = range(0, MANY, 40), 100 * 4 * STEPS
    want, _ = gradient("reference", pushing)
    grads, row = gradient("vulkan", pushing, ad_stack_heap_limit=limit)
    assert grads.tobytes() == want.tobytes()
    assert row.allocated is not None
    assert 0 < row.allocated <= limit


def test_the_reference_counts_the_same_iterations():
    for pushing in ([], [3], range(100)):
        _, row = gradient("reference", pushing)
        assert row.lanes == max(1, len(pushing))
        assert row.allocated == len(pushing) * 4 * STEPS


def test_what_can_not_be_known_ahead_takes_rows_for_all_threads():
    qd.init(arch=qd.vulkan, offline_cache=False)
    x, y = (qd.field(qd.f32, 256, needs_grad=True) for _ in range(2))
    y.grad.fill(1.0)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(3):
                s = s * s
            y[i] = s

    k.grad()
    assert k.grad.adstack_report().tasks[0].lanes == 256


def test_what_the_device_may_use_is_shared_by_data_and_adstacks():
    pushing, data = range(0, MANY, 40), 5 * 4 * MANY
    want, _ = gradient("reference", pushing)
    grads, row = gradient("vulkan", pushing, device_memory_GB=(data + 5000) / 2**30)
    assert grads.tobytes() == want.tobytes()
    assert row.allocated is not None
    assert 0 < row.allocated <= 5000
    kept = qd.ndarray(qd.u8, data)  # what the gradient took is dropped by now
    with pytest.raises(AdstackMemoryError, match=f"{data} are taken by fields and arrays"):
        qd.ndarray(qd.f32, 10_000)
    assert kept.shape == (data,)


def test_a_limit_below_one_row_is_still_an_error():
    with pytest.raises(AdstackMemoryError, match="the adstacks of one thread"):
        gradient("vulkan", [1], ad_stack_heap_limit=4)


def test_more_iterations_than_were_counted_are_an_error_and_stay_inside_the_heap():
    launch = miscounted(compiled)
    with pytest.raises(AdstackAssertionError, match="more iterations push than were counted ahead"):
        launch()


def powers(size: int, **options: Any) -> tuple[Any, Any, Any, Any]:
    """(x, how often each is squared, their sum, the kernel)."""
    qd.init(arch=qd.vulkan, offline_cache=False, **options)
    x, y = qd.field(qd.f64, size, needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    n = qd.field(qd.i32, ())

    @qd.kernel
    def squares():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = v * v
            y[None] += v

    x.from_numpy(2.0 ** (np.arange(size) % 3 - 1))  # nothing is rounded
    y.grad[None] = 1
    return x, n, y, squares


def test_adstacks_are_laid_out_again_only_where_something_has_changed(monkeypatch: pytest.MonkeyPatch):
    laid_out, really = [], Layouts.lay_out

    def spy(layouts: Layouts, number: int, threads: int, depths: Sequence[int]) -> list[int]:
        laid_out.append(threads)
        return really(layouts, number, threads, depths)

    monkeypatch.setattr(Layouts, "lay_out", spy)
    x, n, _, squares = powers(300)

    def step(turns: int, *, anew: int) -> None:
        laid_out.clear()
        n[None] = turns
        for _ in range(5):
            x.grad.fill(0)
            squares()
            squares.grad()
        values = x.to_numpy()
        want = 2.0**turns * values ** (2.0**turns - 1)
        assert (x.grad.to_numpy() == want).all()
        assert len(laid_out) == anew

    step(3, anew=1)
    step(3, anew=0)
    step(5, anew=1)  # another depth
    y, z = qd.field(qd.f64, 9000, needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    m = qd.field(qd.i32, ())

    @qd.kernel
    def other():
        for i in y:
            v = y[i]
            for _ in range(m[None]):
                v = v * v
            z[None] += v

    m[None] = 40
    other()
    other.grad()  # the heap is another one now
    step(5, anew=1)
    step(5, anew=0)


def test_a_launch_whose_adstacks_stand_keeps_its_words_with_the_others():
    _, n, _, squares = powers(100)
    n[None] = 4
    for _ in range(3):
        squares()
        squares.grad()
    stream = backend().stream
    qd.sync()
    squares.grad()
    before, batch = stream.state.used, stream.batch
    squares.grad()
    assert stream.batch == batch
    assert stream.state.used > before
