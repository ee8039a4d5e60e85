"""Nobody looks for cycles of garbage while a kernel is compiled; afterwards everything is as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

import adstack as qd
from adstack.runtime.threads.collection import uncollected


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_pauses_and_goes_on_even_after_an_error() -> None:
    def fails() -> None:
        with uncollected():
            assert not gc.isenabled()
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with uncollected(), uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_a_kernel_is_compiled_without_collecting() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, 4)

    @qd.kernel
    def long():
        for i in x:
            v = x[i]
            for k in qd.static(range(30)):
                v = qd.sin(v) * (v + k) - qd.cos(v) / (v - k)
            x[i] = v

    assert collections_of(lambda: long.prepared((), {})) <= 2  # what stands around the compiler is no part of this
    assert collections_of(lambda: [[] for _ in range(10_000)]) > 2


def collections_of(work: Callable[[], object]) -> int:
    """How often the youngest generation is looked through."""
    before = gc.get_stats()[0]["collections"]
    kept = work()
    del kept
    return int(gc.get_stats()[0]["collections"]) - before
