"""Tapes that follow what earlier ones have learned give the bits of tapes that record each launch."""

from __future__ import annotations

import gc
import resource
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from follow_kit import ARCHES, begin_in_test, recorded_only, served
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.backends.cuda.emulator import EmulatedGraph
from adstack.gradients.tapes import follow
from adstack.gradients.tapes.fallbacks import FALLBACKS
from adstack.gradients.tapes.program import Span

N, STEPS = 5, 4
Do = Callable[[int, float], object]


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


class World:
    """Fields, an ndarray, and kernels of many kinds."""

    def __init__(self) -> None:
        self.a, self.b = (qd.field(qd.f64, shape=N, needs_grad=True) for _ in range(2))
        self.h = qd.field(qd.f64, shape=(STEPS + 1, N), needs_grad=True)
        self.m = qd.field(qd.i32, shape=())
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        self.u = qd.ndarray(qd.f64, shape=N, needs_grad=True)
        self.do = {**self.in_memory(), **self.with_arguments(), **self.with_loops(), **self.on_the_host()}

    def in_memory(self) -> dict[str, Do]:
        """Calls of kernels that overwrite memory."""
        a, b = self.a, self.b

        @qd.kernel
        def square():
            for i in a:
                a[i] = a[i] * a[i] * 0.9

        @qd.kernel
        def scale(c: qd.f64):
            for i in a:
                b[i] = c * a[i] * b[i]

        @qd.kernel
        def add(src: qd.template(), dst: qd.template()):
            for i in src:
                dst[i] += src[i] * src[i]

        return {
            "square": lambda k, c: square(),
            "scale": lambda k, c: scale(c),
            "add": lambda k, c: add(a, b) if k % 2 else add(b, a),
            "a whole number": lambda k, c: scale(k),
        }

    def with_arguments(self) -> dict[str, Do]:
        """Calls of kernels whose arguments say what they work on."""
        a, h, u = self.a, self.h, self.u

        @qd.kernel
        def history(t: qd.i32, c: qd.f64):
            for i in range(N):
                h[t + 1, i] = qd.sin(h[t, i]) * a[i] + c

        @qd.kernel
        def array(v: qd.types.ndarray(), c: qd.f64):
            for i in range(N):
                v[i] = v[i] * a[i] + c

        return {
            "history": lambda k, c: history(k % STEPS, c),
            "history by name": lambda k, c: history(c=c, t=k % STEPS),
            "array": lambda k, c: array(u, c),
        }

    def with_loops(self) -> dict[str, Do]:
        """Calls of kernels with adstacks."""
        a, b, m = self.a, self.b, self.m

        @qd.kernel
        def iterate(n: qd.i32):
            for i in a:
                v = a[i]
                for _ in range(n):
                    v = qd.sin(v) * 1.1 + v * v * 0.1
                b[i] = v

        @qd.kernel
        def bounded():
            for i in a:
                v = a[i]
                for _ in range(m[None]):
                    v = qd.sin(v) * 1.25
                b[i] += v

        return {"iterate": lambda k, c: iterate(k), "bounded": lambda k, c: bounded()}

    def on_the_host(self) -> dict[str, Do]:
        """What the host does between calls; `total` computes the loss."""
        a, b, h, m, u, loss = self.a, self.b, self.h, self.m, self.u, self.loss

        @qd.kernel
        def total(v: qd.types.ndarray()):
            for i in a:
                loss[None] += a[i] * b[i] + v[i] + h[STEPS, i] * h[1, i]

        @qd.kernel
        def mean() -> qd.f64:
            s = 0.0
            for i in range(N):
                s += a[i] * b[i]
            return s

        @qd.kernel
        def twice():
            for i in a:
                a[i] = 2 * a[i]

        @qd.ad.no_grad
        def constant():
            twice()

        self.total = total
        return {
            "write": lambda k, c: a.__setitem__(k % N, c),
            "fill": lambda k, c: h.fill(c),
            "write a bound": lambda k, c: m.__setitem__(None, k % 3),
            "write a gradient": lambda k, c: u.grad.__setitem__(k % N, c),
            "read": lambda k, c: a[k % N],
            "link": lambda k, c: b.__setitem__(k % N, c * a[(k + 1) % N]),
            "return": lambda k, c: b.__setitem__(k % N, c * mean()),
            "constant": lambda k, c: constant(),
        }

    def start(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for one in (self.a, self.b, self.h, self.u):
            one.from_numpy(rng.uniform(0.25, 1.0, one.shape))
        self.m[None] = 2

    def tape(self, script: list[tuple[str, int]], seed: int, fails: int) -> list[Any]:
        """One tape; what is there afterwards."""
        self.start(seed)
        rng = np.random.default_rng(seed)
        try:
            with qd.ad.Tape(self.loss) as tape:
                for number, (name, k) in enumerate(script):
                    if number == fails:
                        raise KeyError(name)
                    self.do[name](k, float(rng.uniform(0.5, 1.0)))
                self.total(self.u)
                arrays = [self.a.grad, self.b.grad, self.h.grad, self.u.grad]
        except KeyError:
            arrays = []  # gradients of ndarrays start from zero sooner or later
        arrays += [self.a, self.b, self.h, self.u, self.loss]
        calls = [[arg for arg in args if isinstance(arg, (int, float))] for _, args in tape.calls]
        return [*(array.to_numpy().tobytes() for array in arrays), calls]


NAMES = (
    *("square", "scale", "history", "history by name", "add", "array", "iterate", "bounded", "a whole number", "write"),
    *("fill", "write a bound", "write a gradient", "read", "link", "return", "constant"),
)
SCRIPTS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 7)), min_size=1, max_size=9)
ORDERS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 40)), min_size=3, max_size=9)
"""Which script, from which state, and at which call it fails."""


def test_followed_tapes_are_recorded_tapes_to_the_bit(arch: str) -> None:
    one, other = World(), World()

    @settings(max_examples=150 if arch == "cpu" else 50, deadline=None)
    @given(st.lists(SCRIPTS, min_size=1, max_size=3), ORDERS)
    def compare(scripts: list[list[tuple[str, int]]], order: list[tuple[int, int, int]]) -> None:
        follow._LEARNED.begin(0)
        for which, seed, fails in order:
            script = scripts[which % len(scripts)]
            with recorded_only():
                expected = other.tape(script, seed, fails)
            assert one.tape(script, seed, fails) == expected

    compare()


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


def test_memory_stays_as_it_is_over_many_tapes() -> None:
    chain = Chain(1)
    sizes = []
    for _ in range(4):
        for _ in range(1000):
            chain.tape()
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert sizes[-1] - sizes[1] <= 1024  # KiB: the step in which a driver on the processor takes memory


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


def test_what_is_overwritten_time_and_again_is_kept() -> None:
    x = qd.field(qd.f64, shape=N, needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def bend(c: qd.f64):
        for i in x:
            x[i] = qd.sin(x[i]) * c

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def tape(c: float) -> tuple[int, bytes, bytes]:
        x.from_numpy(np.linspace(0.5, 1.5, N))
        with qd.ad.Tape(loss) as tape:
            for k in range(300):  # more than a batch has
                bend(c + k / 1000)
            total()
        return served(tape), x.grad.to_numpy().tobytes(), x.to_numpy().tobytes()

    tape(1.0)
    for c in (1.0, 1.1):
        with recorded_only():
            _, *expected = tape(c)
        count, *gradients = tape(c)
        assert (count, gradients) == (301, expected)


def test_what_is_overwritten_in_part_is_kept_beside_the_rest() -> None:
    x = qd.field(qd.f64, shape=(2, N), needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def bend(c: qd.f64):
        for i in range(N):
            x[1, i] = x[1, i] * x[1, i] * x[0, i] + c

    @qd.kernel
    def total():
        for i in range(N):
            loss[None] += x[1, i] * x[0, i]

    def tape(c: float) -> tuple[int, bytes, bytes]:
        x.from_numpy(np.linspace(0.5, 1.0, 2 * N).reshape(2, N))
        with qd.ad.Tape(loss) as tape:
            for k in range(4):
                bend(c + k / 8)
            total()
        return served(tape), x.grad.to_numpy().tobytes(), x.to_numpy().tobytes()

    tape(0.25)
    for c in (0.25, 0.5):
        with recorded_only():
            _, *expected = tape(c)
        count, *gradients = tape(c)
        assert (count, gradients) == (5, expected)
