"""Which calls of a tape are followed, what is seen that others do in between, and what following takes."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
import weakref
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from follow_kit import ARCHES, begin_in_test, recorded_only, served

import adstack as qd
from adstack.backends.cuda.emulator import EmulatedGraph
from adstack.gradients.tapes.fallbacks import FALLBACKS
from adstack.gradients.tapes.program import Span

N = 5


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


class Chain:
    """A history in one field, one kernel a step, with a number that is not the same each time."""

    def __init__(self, steps: int = 20) -> None:
        self.steps = steps
        x = self.x = qd.field(qd.f64, shape=(steps + 1, N), needs_grad=True)
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32, c: qd.f64):
            for i in range(N):
                x[t + 1, i] = c * x[t, i] * x[t, i]

        @qd.kernel
        def total():
            for i in range(N):
                loss[None] += x[steps, i]

        self.step, self.total = step, total
        x.fill(1.0)

    def tape(self, c: float = 1.0, steps: int | None = None) -> Any:
        with qd.ad.Tape(self.loss) as tape:
            for t in range(self.steps if steps is None else steps):
                self.step(t, c)
            self.total()
        return tape


def test_from_the_second_tape_on_machine_code_serves_the_calls_with_the_numbers_that_they_have() -> None:
    chain = Chain(2)
    counts = [served(chain.tape(c)) for c in (1.0, 0.5, 2.0)]
    assert counts == [0, 3, 3]
    assert chain.x.grad.to_numpy()[0].tolist() == [2.0**3 * 4] * N
    assert [args for _, args in chain.tape(0.25).calls] == [(0, 0.25), (1, 0.25), ()]


def test_a_tape_that_is_followed_takes_few_calls_of_python() -> None:
    chain, count, inside = Chain(400), [0], [0]
    for _ in range(3):
        chain.tape()

    def seen(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code is EmulatedGraph.launch.__code__:  # what plays a device is no part of the product
            inside[0] += {"call": 1, "return": -1}.get(event, 0)
        count[0] += event == "call" and not inside[0]

    sys.setprofile(seen)
    try:
        chain.tape()
    finally:
        sys.setprofile(None)
    assert count[0] <= 3 * 401


def test_a_tape_that_is_shorter_or_longer_is_followed_as_far_as_it_is_known() -> None:
    chain = Chain(8)
    chain.tape()
    counts = [served(chain.tape(0.5, steps)) for steps in (4, 4, 8, 6, 4, 6)]
    assert counts == [4, 5, 9, 7, 5, 7]


def test_what_calls_do_together_is_found_once_however_often_a_tape_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain, spans = Chain(40), []
    of = Span.of
    monkeypatch.setattr(Span, "of", lambda steps: spans.append(1) or of(steps))

    def interrupted() -> int:
        spans.clear()
        with qd.ad.Tape(chain.loss) as tape:
            for t in range(chain.steps):
                chain.x[0, 0] = 1.0
                chain.step(t, 1.0)
            chain.total()
        return served(tape)

    assert [interrupted() for _ in range(3)][-1] == chain.steps + 1
    assert interrupted() == chain.steps + 1
    assert not spans


def test_numbers_that_a_followed_tape_was_called_with_stay_when_it_is_followed_again() -> None:
    chain = Chain(2)
    chain.tape()
    tape = chain.tape(0.5)
    chain.tape(0.25)
    assert [args for _, args in tape.calls] == [(0, 0.5), (1, 0.5), ()]


def test_arrays_that_a_tape_has_learned_with_go_when_their_owner_lets_go_of_them() -> None:
    chain = Chain(1)

    @qd.kernel
    def scale(v: qd.types.ndarray()):
        for i in range(N):
            chain.x[0, i] = 2 * v[i]

    def once() -> weakref.ReferenceType[Any]:
        v = qd.ndarray(qd.f64, shape=N, needs_grad=True)
        for _ in range(2):
            with qd.ad.Tape(chain.loss) as tape:
                scale(v)
                chain.step(0, 1.0)
                chain.total()
        assert served(tape) == 3
        return weakref.ref(v.buffer)

    buffer = once()
    gc.collect()
    assert buffer() is None
    once()


def test_a_gradient_that_is_placed_later_is_seen() -> None:
    x = qd.field(qd.f64, shape=N)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += 3 * x[i]

    def tape() -> None:
        with qd.ad.Tape(loss):
            total()

    tape()
    tape()
    qd.root.dense(qd.i, N).place(x.grad)
    tape()
    assert x.grad.to_numpy().tolist() == [3.0] * N


def test_an_attribute_that_was_baked_in_and_changes_is_seen() -> None:
    @qd.data_oriented
    class Model:
        def __init__(self) -> None:
            self.factor = 2.0
            self.x = qd.field(qd.f64, shape=(), needs_grad=True)
            self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def total(self):
            self.loss[None] += self.factor * self.x[None]

    model, gradients = Model(), []
    for factor in (2.0, 2.0, 5.0, 5.0, 2.0):
        model.factor = factor
        with qd.ad.Tape(model.loss):
            model.total()
        gradients.append(model.x.grad[None])
    assert gradients == [2.0, 2.0, 5.0, 5.0, 2.0]


@pytest.mark.parametrize("arch", ["cpu"], indirect=True)
def test_a_field_whose_memory_numpy_gets_is_recorded_from_then_on() -> None:
    chain = Chain(2)
    chain.tape()
    view = chain.x.to_numpy(copy=False)
    with qd.ad.Tape(chain.loss) as tape:
        chain.step(0, 1.0)
        view[0] = 3.0
        chain.step(1, 1.0)
        chain.total()
    assert served(tape) == 0
    assert chain.x.grad.to_numpy()[0].tolist() == [4.0] * N  # of the values that the first launch found


def test_a_launch_outside_is_known_to_have_been_overwritten_by_a_tape() -> None:
    chain = Chain(2)
    chain.tape()
    chain.step(1, 1.0)
    chain.x.grad.fill(1.0)
    chain.step(0, 1.0)
    chain.tape(0.5)  # writes x[1], which the launch needs
    with pytest.raises(qd.AdstackDataAccessError):
        chain.step.grad(1, 1.0)


def test_another_threads_write_is_from_outside() -> None:
    chain = Chain(2)
    chain.tape()
    with qd.ad.Tape(chain.loss) as tape:
        chain.step(0, 1.0)
        thread = threading.Thread(target=lambda: chain.x.__setitem__((1, 0), 3.0))
        thread.start()
        thread.join()
        chain.step(1, 1.0)
        chain.total()
    assert served(tape) == 3
    assert chain.x.grad.to_numpy()[:2].tolist() == [[0.0, *[4.0] * (N - 1)], [6.0, *[0.0] * (N - 1)]]


def test_two_threads_with_tapes_get_the_gradients_of_their_own() -> None:
    chains, done = [Chain(30) for _ in range(2)], []

    def work(chain: Chain) -> None:
        for _ in range(30):
            chain.tape(0.5)
        done.append(chain.x.grad.to_numpy()[30 - 1].tolist())

    threads = [threading.Thread(target=work, args=(chain,)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with recorded_only():
        chains[0].tape(0.5)
    assert done == [chains[0].x.grad.to_numpy()[30 - 1].tolist()] * 2


@pytest.mark.alone
def test_memory_stays_as_it_is_over_many_tapes() -> None:
    chain = Chain(1)
    sizes = []
    for _ in range(4):
        for _ in range(1000):
            chain.tape()
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert sizes[-1] - sizes[1] <= 1024  # KiB: the step in which a driver on the processor takes memory


@pytest.mark.alone
@pytest.mark.parametrize("arch", ["cpu"], indirect=True)
def test_memory_stays_as_it_is_over_a_hundred_thousand_tapes() -> None:
    chain = Chain(1)
    sizes = []
    for _ in range(10):
        for _ in range(10_000):
            chain.tape()
        sizes.append(resident())
    assert max(sizes) - sizes[0] <= 256  # KiB


def resident() -> int:
    """KiB of memory that this process takes now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_reasons_for_calls_that_are_not_followed_are_counted() -> None:
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def one() -> qd.f64:
        return 1.0

    @qd.kernel
    def total():
        loss[None] += 1.0

    before = FALLBACKS["returns"]
    with qd.ad.Tape(loss):
        one()
        total()
    assert FALLBACKS["returns"] == before + 1
