"""Rows of the adstack heap for those iterations alone that push, with the host playing the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cuda_kit import compiled
from sizing_kit import gated_gradient, miscounted

import adstack as qd
from adstack.errors import AdstackOverflowError
from adstack.runtime.adstack_report import TaskRow

MANY, STEPS = 500, 20
THREADS = 32
"""As many as the host plays at once."""


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")


def gradient(arch: str, pushing: Sequence[int], **options: Any) -> tuple[np.ndarray[Any, Any], TaskRow]:
    """Of a loop that only some iterations run, twice with different ones; and the memory that the second took."""
    return gated_gradient(arch, MANY, STEPS, range(0, MANY, 7), pushing, **options)


@pytest.mark.parametrize("pushing", [[], [7], [0, 31, 32, MANY - 1], range(100, 400), range(MANY)], ids=len)
def test_memory_is_taken_for_iterations_that_push(pushing: Sequence[int]) -> None:
    want, _ = gradient("reference", pushing)
    grads, row = gradient("cuda", pushing)
    assert grads.tobytes() == want.tobytes()
    assert row.lanes == max(1, min(len(pushing), THREADS))
    assert row.needed == min(len(pushing), THREADS) * 4 * STEPS


def test_with_less_memory_than_that_fewer_threads_run_and_gradients_are_the_same() -> None:
    want, _ = gradient("reference", range(100, 400))
    grads, row = gradient("cuda", range(100, 400), ad_stack_heap_limit=10 * 4 * STEPS)
    assert grads.tobytes() == want.tobytes()
    assert row.lanes == 10


def test_a_loop_of_which_the_host_knows_the_extent_has_no_more_lanes_than_iterations() -> None:
    qd.init(arch=qd.cuda, offline_cache=False)
    x, y = (qd.field(qd.f32, 5, needs_grad=True) for _ in range(2))
    turns = qd.field(qd.i32, ())
    turns[None] = 7
    y.grad.fill(1.0)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(turns[None]):
                s = 0.5 * s * s + 0.2
            y[i] = s

    k.grad()
    assert k.grad.adstack_report().tasks[0].lanes == 5


def test_more_iterations_than_were_counted_overflow_and_stay_inside_the_heap() -> None:
    launch = miscounted(compiled)
    with pytest.raises(AdstackOverflowError, match="more iterations than were counted"):
        launch()
