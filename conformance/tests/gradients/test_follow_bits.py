"""Tapes that follow what earlier ones have learned give the bits of tapes that record each launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from follow_kit import ARCHES, begin_in_test, recorded_only, served
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.gradients.tapes import follow

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
