"""Arrays of the host that followed calls are passed: the gradient is that of what each held when it was passed."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from follow_kit import ARCHES, begin_in_test, recorded_only, served

import adstack as qd
from adstack.errors import AdstackDataAccessError
from adstack.gradients.tapes import lending

N, STEPS = 5, 6
Pass = Callable[[int], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


class Chain:
    """A history in one field; each step reads weights and places, which are arrays of numpy."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=(STEPS + 1, N), needs_grad=True)
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32, w: qd.types.ndarray(), places: qd.types.ndarray()):
            for i in range(N):
                x[t + 1, i] = w[i] * x[t, places[i]] + x[t, i]

        @qd.kernel
        def total():
            for i in range(N):
                loss[None] += x[STEPS, i]

        self.step, self.total = step, total
        x.fill(1.0)

    def tape(self, passed: Pass, after: Callable[[int], object] = lambda t: None) -> Any:
        with qd.ad.Tape(self.loss) as tape:
            for t in range(STEPS):
                self.step(t, *passed(t))
                after(t)
            self.total()
        return tape


def derivative(weights: Iterable[np.ndarray], places: Iterable[np.ndarray]) -> list[float]:
    """Of the sum of the last state with respect to the first."""
    adjoint = np.ones(N)
    for w, p in reversed(list(zip(weights, places, strict=True))):
        through = adjoint * w
        np.add.at(adjoint, p, through)
    return adjoint.tolist()


def some(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each step is passed: halves, so that all products are exact."""
    draw = np.random.default_rng(seed)
    return [(draw.integers(1, 4, N) / 2.0, draw.integers(0, N, N, dtype=np.int32)) for _ in range(STEPS)]


def check(chain: Chain, steps: list[tuple[np.ndarray, np.ndarray]]) -> None:
    assert chain.x.grad.to_numpy()[0].tolist() == derivative(*zip(*steps, strict=True))


def count(arch: str) -> int:
    """How many calls of a tape are followed: kernels of a device work on copies of such arrays."""
    return STEPS + 1 if arch == "cpu" else 1


def test_the_same_arrays_in_each_call_are_followed_whatever_they_hold_in_the_next_tape(arch: str) -> None:
    chain, (weights, places) = Chain(), some(0)[0]
    counts = []
    for w, p in some(1)[:4]:
        weights[:], places[:] = w, p
        counts.append(served(chain.tape(lambda t: (weights, places))))
        check(chain, [(w, p)] * STEPS)
    assert counts == [0, *[count(arch)] * 3]


def test_an_array_that_is_written_anew_for_each_call_counts_as_what_it_held_then(arch: str) -> None:
    chain, (weights, places) = Chain(), some(0)[0]
    for seed in range(4):
        steps = some(seed)

        def passed(t: int, steps: Any = steps) -> tuple[np.ndarray, np.ndarray]:
            weights[:], places[:] = steps[t]
            return weights, places

        tape = chain.tape(passed, after=lambda t: weights.fill(7.0))
        check(chain, steps)
        assert weights.tolist() == [7.0] * N
    assert served(tape) == count(arch)


def test_other_arrays_each_time_are_followed_and_go_when_nobody_has_them(arch: str) -> None:
    chain = Chain()
    for seed in range(4):
        steps = some(seed)
        tape = chain.tape(lambda t, steps=steps: steps[t])
        check(chain, steps)
        assert [tuple(map(id, args[1:])) for _, args in tape.calls[:STEPS]] == [tuple(map(id, one)) for one in steps]
    assert served(tape) == count(arch)
    gone = weakref.ref(steps[2][0])
    del steps, tape
    gc.collect()
    assert gone() is None


def test_arrays_of_the_same_numbers_and_of_others_may_come_in_any_order() -> None:
    chain, steps = Chain(), some(0)
    same = [steps[0]] * STEPS
    for steps_now in (same, steps, same, steps[::-1], same):
        chain.tape(lambda t, now=steps_now: now[t])
        check(chain, steps_now)


def test_negative_zeros_and_numbers_that_are_none_are_told_from_others() -> None:
    x = qd.field(qd.f64, shape=(), needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def put(w: qd.types.ndarray()):
        loss[None] += x[None] / w[0]

    x[None] = 1.0
    w = np.zeros(1)
    for value in (0.0, -0.0, np.nan, 0.0, -0.0):
        w[0] = value
        with np.errstate(divide="ignore"), qd.ad.Tape(loss):
            put(w)
        assert str(x.grad[None]) == {"0.0": "inf", "-0.0": "-inf", "nan": "nan"}[str(value)]


def test_a_call_on_an_array_of_another_kind_is_recorded(arch: str) -> None:
    chain, steps = Chain(), some(0)
    for _ in range(2):
        chain.tape(lambda t: steps[t])
    odd = [steps[0], (np.repeat(steps[1][0], 2)[::2].copy()[::-1], steps[1][1]), *steps[2:]]
    longer = [(np.append(w, 9.0), p) for w, p in steps]
    readonly = [(w.copy(), p.copy()) for w, p in steps]
    for one in (array for pair in readonly for array in pair):
        one.flags.writeable = False
    odd[1] = np.ascontiguousarray(odd[1][0]), odd[1][1].astype(np.int64)
    for other in (odd, longer, readonly, longer):
        chain.tape(lambda t, now=other: now[t])
        check(chain, [(w[:N], p) for w, p in other])


def test_where_there_is_no_memory_for_more_the_others_are_recorded(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "_MOST_BYTES", 8 * N)
    chain, steps, (weights, places) = Chain(), some(0), some(1)[0]

    def passed(t: int) -> tuple[np.ndarray, np.ndarray]:
        weights[:], places[:] = steps[t // 2]
        return weights, places

    for _ in range(3):
        tape = chain.tape(passed)
        check(chain, [steps[t // 2] for t in range(STEPS)])
    assert served(tape) == (3 if arch == "cpu" else 1)  # those of the first numbers, and the last call


class Loops:
    """A history whose steps are loops as long as an array of numpy says."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=(STEPS + 1, N), needs_grad=True)
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32, lengths: qd.types.ndarray()):
            for i in range(N):
                value = x[t, i]
                for _ in range(lengths[i]):
                    value = value * value * 0.001 + value
                x[t + 1, i] = value

        @qd.kernel
        def total():
            for i in range(N):
                loss[None] += x[STEPS, i]

        self.step, self.total = step, total
        x.fill(0.5)

    def derivative(self, lengths: list[np.ndarray]) -> list[float]:
        value, slope = np.full(N, 0.5), np.ones(N)
        for one in lengths:
            for k in range(max(one)):
                slope = np.where(k < one, slope * (value * 0.002 + 1), slope)
                value = np.where(k < one, value * value * 0.001 + value, value)
        return slope.tolist()


@pytest.mark.parametrize("steps", [1, STEPS])
def test_loops_as_long_as_an_array_says_keep_as_much_as_they_need(steps: int) -> None:
    loops, passed, draw = Loops(), np.zeros(N, np.int32), np.random.default_rng(2)
    for most in (1, 2, 40, 1, 3):
        lengths = [draw.integers(0, most + 1, N) // (1 if t == STEPS - 1 else 20) for t in range(STEPS - steps, STEPS)]
        with qd.ad.Tape(loops.loss):
            for t, length in zip(range(STEPS - steps, STEPS), lengths, strict=True):
                passed[:] = length
                loops.step(t, passed)
            loops.total()
        slopes = loops.x.grad.to_numpy()[STEPS - steps].tolist()
        assert slopes == pytest.approx(loops.derivative(lengths), rel=1e-9)


def weighing() -> tuple[Any, Any, Any]:
    """A sum of squares of ones, weighted by an array of the host: x, the loss, and the kernel."""
    x = qd.field(qd.f64, shape=N, needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def weigh(w: qd.types.ndarray()):
        for i in x:
            loss[None] += x[i] * x[i] * w[i]

    x.fill(1.0)
    return x, loss, weigh


def test_a_gradient_outside_is_that_of_the_last_launch_or_refused() -> None:
    x, loss, weigh = weighing()
    w = np.full(N, 0.5)
    for change in (False, False, False, True):
        w[:] = 0.5
        with qd.ad.Tape(loss):
            weigh(w)
        if change:
            w[2] = 4.0
            with pytest.raises(AdstackDataAccessError, match="overwritten"):
                weigh.grad(w)
            w[2] = 0.5
        x.grad.fill(0.0)
        weigh.grad(w)
        assert x.grad.to_numpy().tolist() == [1.0] * N


def test_what_an_array_held_inside_a_tape_is_what_counts_outside() -> None:
    x, loss, weigh = weighing()
    w = np.full(N, 0.5)
    for _ in range(3):
        w[:] = 0.5
        with qd.ad.Tape(loss):
            weigh(w)
            w[:] = 2.0  # the launch has not found this
        assert x.grad.to_numpy().tolist() == [1.0] * N
        with pytest.raises(AdstackDataAccessError, match="overwritten"):
            weigh.grad(w)


def test_a_kernel_that_writes_the_array_between_two_calls_is_told_apart() -> None:
    chain, (weights, places) = Chain(), some(0)[0]

    @qd.kernel
    def double(w: qd.types.ndarray()):
        for i in range(N):
            w[i] = 2.0 * w[i]

    for seed in range(4):
        weights[:], places[:] = some(seed)[0]
        first = weights.copy()
        with qd.ad.Tape(chain.loss):
            for t in range(STEPS):
                chain.step(t, weights, places)
                if t == 2:
                    double(weights)
            chain.total()
        check(chain, [(first * (2.0 if t > 2 else 1.0), places) for t in range(STEPS)])
        assert weights.tolist() == (2.0 * first).tolist()


def test_a_tape_that_ended_can_be_differentiated_again_whatever_the_array_holds(arch: str) -> None:
    chain, steps = Chain(), some(0)
    for _ in range(2):
        tape = chain.tape(lambda t: steps[t])
    once = chain.x.grad.to_numpy()[0]
    chain.x.grad.fill(0.0)
    tape.grad()
    assert chain.x.grad.to_numpy()[0].tolist() == once.tolist()


@qd.data_oriented
class World:
    """Kernels that read arrays of numpy in many ways, and one that writes them."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f64, (STEPS + 1, N), needs_grad=True)
        self.z = qd.field(qd.f64, N, needs_grad=True)
        self.loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def step(self, t: qd.i32, c: qd.f64, w: qd.types.ndarray(), places: qd.types.ndarray()):
        for i in range(N):
            self.x[t + 1, i] = c * w[i] * self.x[t, places[i]] * self.z[i]

    @qd.kernel
    def own(self, w: qd.types.ndarray()):
        for i in range(N):
            self.z[i] = self.z[i] * self.z[i] * w[i] * 0.5

    @qd.kernel
    def both(self, a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in range(N):
            self.z[i] += a[i] * b[i] * self.x[0, i]

    @qd.kernel
    def write(self, w: qd.types.ndarray()):
        for i in range(N):
            w[i] = w[i] * 0.5 + self.z[i]

    @qd.kernel
    def total(self, w: qd.types.ndarray()):
        for i in range(N):
            self.loss[None] += self.x[STEPS, i] * w[i] + self.z[i]

    def play(self, draw: random.Random, steps: list[str]) -> list[Any]:
        """Do some steps under a tape, with numbers that are drawn; all that can be seen of it."""
        w, places = ([some(draw.randrange(99))[0][k] for _ in range(2)] for k in range(2))
        self.x.from_numpy(np.array([some(draw.randrange(99))[0][0] for _ in range(STEPS + 1)]))
        self.z.fill(draw.choice((0.5, 1.0)))
        with qd.ad.Tape(self.loss) as tape:
            for at, name in enumerate(steps):
                self._do(name, draw, w, places, at)
            self.total(w[0])
        seen: list[Any] = [(kernel.signature.name, *map(str, args)) for kernel, args in tape.calls]
        for kernel, args in ((self.both, w), (self.total, w[:1])):
            if draw.random() < 0.5:
                w[0][1] = 0.125
            try:
                kernel.grad(*args)
            except AdstackDataAccessError as error:
                seen.append(error.message)
        memory = (self.x, self.z, self.x.grad, self.z.grad)
        return [*seen, *(one.to_numpy().tolist() for one in memory), *(one.tolist() for one in (*w, *places))]

    def _do(self, name: str, draw: random.Random, w: list[np.ndarray], places: list[np.ndarray], at: int) -> None:
        one = draw.randrange(2)
        if name == "step":
            self.step(at % STEPS, 0.5, w[one], places[one])
        elif name == "both":
            self.both(w[one], w[draw.randrange(2)])
        elif name == "host":
            w[one][draw.randrange(N)] = draw.choice((0.25, 2.0))
        elif name == "new":
            w[one] = w[one].copy()
        else:
            getattr(self, name)(w[one])


@pytest.mark.parametrize("seed", range(12))
def test_what_is_followed_is_what_is_recorded(seed: int) -> None:
    world, draw = World(), random.Random(seed)
    names = ("step", "step", "step", "own", "both", "write", "host", "host", "new")
    steps = [draw.choice(names) for _ in range(draw.randrange(3, 12))]
    for again in range(5):
        with recorded_only():
            recorded = world.play(random.Random(again), steps)
        assert repr(world.play(random.Random(again), steps)) == repr(recorded)
