"""Reverse modes that machine code serves: what they do, and refuse, is what Python would do with each call."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from graph_kit import slowly_falling
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly_kit import examples

import adstack as qd
from adstack.errors import AdstackDataAccessError, AdstackError, AdstackRuntimeTypeError, AdstackStaleBoundError
from adstack.runtime import state

MANY = 5


@pytest.fixture(autouse=True)
def cpu(monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cpu, offline_cache=False)
    yield
    qd.reset()


def settled(kernel: Any, *args: Any) -> Any:
    """The kernel, called and differentiated often enough with these arguments for machine code to serve both."""
    for _ in range(3):
        kernel(*args)
        kernel.grad(*args)
    assert is_served(kernel)
    return kernel


def is_served(kernel: Any) -> bool:
    """Whether machine code takes calls of a kernel's reverse mode first."""
    return kernel.grad.__call__ != kernel.grad.serve


ARRAY = qd.types.ndarray(dtype=qd.f64, ndim=1)


def loops(x: Any, y: Any, n: Any) -> dict[str, Any]:
    """Kernels whose reverse modes run loops: bounds in memory, as an argument, with arrays."""

    @qd.kernel
    def power():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = v * v * 0.5 + x[i]
            y[i] = v

    @qd.kernel
    def scaled(k: qd.i32, s: qd.f64):
        for i in x:
            v = x[i] * s
            for _ in range(k):
                v = v * v
            y[i] += v

    @qd.kernel
    def arrays(a: ARRAY, b: ARRAY, turns: qd.i32):
        for i in a:
            v = a[i]
            for _ in range(turns):
                v = v * a[i]
            b[i] = v * x[i]

    return {"power": power, "scaled": scaled, "arrays": arrays}


def straight_line(x: Any, y: Any) -> dict[str, Any]:
    """A kernel whose reverse mode keeps nothing."""

    @qd.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    return {"square": square}


def writers(x: Any, n: Any) -> dict[str, Any]:
    """Kernels that write what the others read."""

    @qd.kernel
    def move():
        for i in x:
            x[i] = x[i] * 0.5 + 0.125

    @qd.kernel
    def more():
        n[None] = (n[None] + 1) % 4

    return {"move": move, "more": more}


class Data:
    """Fields and arrays, kernels on them, and what a program may do to them; `straight` asks Python each time."""

    def __init__(self, straight: bool) -> None:
        self.straight = straight
        self.x, self.y = (qd.field(qd.f64, MANY, needs_grad=True) for _ in range(2))
        self.n = qd.field(qd.i32, ())
        self.a, self.b = (qd.ndarray(qd.f64, (MANY,), needs_grad=True) for _ in range(2))
        self.kernels = loops(self.x, self.y, self.n) | straight_line(self.x, self.y) | writers(self.x, self.n)
        self.x.from_numpy(np.linspace(0.1, 0.9, MANY))
        self.a.from_numpy(np.linspace(0.5, 1.5, MANY))
        self.n[None] = 2

    def host(self, where: str, number: int) -> None:
        """The host writes."""
        at = number % MANY
        match where:
            case "x":
                self.x[at] = number / 8
            case "same":
                self.x[at] = self.x[at]
            case "all":
                self.x.from_numpy(self.x.to_numpy())
            case "n":
                self.n[None] = number
            case "a":
                self.a.fill(number / 4)

    def more_of(self, what: str) -> None:
        """There is something more."""
        if what == "fields":
            qd.field(qd.f32, 3, needs_grad=True).fill(1.0)
        else:
            self.kernels["late"] = writers(self.x, self.n)["move"]
            self.kernels["late"]()

    def seed(self, number: int) -> None:
        for one in (self.y, self.b):
            one.grad.fill(1.0 + number)

    def do(self, what: str, number: int) -> None:
        kind, _, rest = what.partition(" ")
        match kind:
            case "host":
                self.host(rest, number)
            case "more":
                self.more_of(rest)
            case "seed":
                self.seed(number)
            case _:
                self.call(self.kernels.get(rest, self.kernels["move"]), kind, rest, number)

    def call(self, kernel: Any, mode: str, name: str, number: int) -> None:
        args = {"scaled": (number, 0.75), "arrays": (self.a, self.b, number % 3)}.get(name, ())
        if mode in ("call", "both"):
            kernel(*args)
        if mode in ("grad", "both"):
            (kernel.grad.serve if self.straight else kernel.grad)(*args)

    def attempt(self, what: str, number: int) -> tuple[str, str]:
        """What went wrong; numbers of launches and names of memory are not compared."""
        try:
            self.do(what, number)
        except AdstackError as error:
            return type(error).__name__, str(error).split("(")[0]
        return "", ""

    @property
    def memory(self) -> list[bytes]:
        arrays = (self.x, self.y, self.a, self.b)
        return [one.to_numpy().tobytes() for array in arrays for one in (array, array.grad)]


CALLS = [f"{mode} {name}" for mode in ("call", "grad", "both") for name in ("power", "scaled", "arrays", "square")]
WRITES = ["host x", "host same", "host all", "host n", "host a", "seed", "call late", "call move", "call more"]
STEPS = st.lists(
    st.tuples(st.sampled_from([*CALLS, *WRITES, "more kernels", "more fields"]), st.integers(0, 3), st.integers(1, 3)),
    min_size=10,
    max_size=40,
)


@pytest.mark.parametrize("arch", ["cpu", "cuda", "vulkan"])
@given(steps=STEPS)
@settings(deadline=None, max_examples=examples(40))
def test_machine_code_serves_what_python_would(arch, steps):
    qd.init(arch=arch, offline_cache=True)
    served, straight = Data(straight=False), Data(straight=True)
    for what, number, times in steps:
        for _ in range(times):
            assert served.attempt(what, number) == straight.attempt(what, number), what
            assert served.memory == straight.memory, what


def test_calls_are_served_and_leave_the_same_gradients():
    data = Data(straight=False)
    calls = {"power": (), "scaled": (2, 0.5), "arrays": (data.a, data.b, 2), "square": ()}
    for name, given_ in calls.items():
        kernel = data.kernels[name]
        gradients = []
        for _ in range(4):
            for array in (data.x, data.a):
                array.grad.fill(0.0)
            for array in (data.y, data.b):
                array.grad.fill(1.0)
            kernel(*given_)
            kernel.grad(*given_)
            gradients.append((data.x.grad.to_numpy().tobytes(), data.a.grad.to_numpy().tobytes()))
        assert is_served(kernel)
        assert len(set(gradients)) == 1


@pytest.mark.parametrize("by", ["host", "kernel"])
def test_a_bound_that_changed_is_noticed(by):
    data = Data(straight=False)
    power, more = data.kernels["power"], data.kernels["more"]
    more()
    settled(power)
    if by == "host":
        data.n[None] = 1
    else:
        more()
    for _ in range(2):
        with pytest.raises(AdstackStaleBoundError):
            power.grad()
    power()
    power.grad()


@pytest.mark.parametrize("beforehand", [True, False])
def test_a_kernel_that_overwrites_what_is_read_is_noticed(beforehand):
    data = Data(straight=False)
    square, move = data.kernels["square"], data.kernels["move"]
    if beforehand:
        move()
    settled(square)
    move()
    with pytest.raises(AdstackDataAccessError, match="since by move"):
        square.grad()
    square()
    square.grad()


def test_what_is_overwritten_after_the_first_call_is_noticed_though_gradients_came_before_it():
    data = Data(straight=False)
    scaled, move = data.kernels["scaled"], data.kernels["move"]
    move()
    for _ in range(2):
        scaled.grad(2, 0.5)
    assert is_served(scaled)
    scaled(2, 0.5)
    move()
    with pytest.raises(AdstackDataAccessError, match="since by move"):
        scaled.grad(2, 0.5)


def test_a_field_that_gets_its_gradient_later_has_its_share():
    x, w, y = qd.field(qd.f64), qd.field(qd.f64), qd.field(qd.f64)
    qd.root.dense(qd.i, 2).place(x, x.grad, w)
    qd.root.dense(qd.i, 2).place(y, y.grad)

    @qd.kernel
    def product():
        for i in x:
            y[i] = x[i] * w[i]

    x.fill(3.0)
    w.fill(5.0)
    for _ in range(3):
        y.grad.fill(1.0)
        product()
        product.grad()
    assert is_served(product)
    qd.root.dense(qd.i, 2).place(w.grad)
    y.grad.fill(1.0)
    product.grad()
    assert w.grad.to_numpy().tolist() == [3.0, 3.0]


class Simulation:
    def __init__(self) -> None:
        self.x = qd.field(qd.f32, 3, needs_grad=True)
        self.loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def step(self, s: qd.f32):
        for i in self.x:
            self.loss[None] += self.x[i] * self.x[i] * s


Simulation = qd.data_oriented(Simulation)


def test_arrays_of_their_own_are_told_apart_without_waiting_for_the_device(monkeypatch):
    qd.init(arch=qd.vulkan, offline_cache=False)
    data = Data(straight=False)
    arrays = data.kernels["arrays"]
    monkeypatch.setattr(type(state.current().backend), "host_view", None)
    for _ in range(3):
        arrays(data.a, data.b, 2)
        arrays.grad.serve(data.a, data.b, 2)


@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_devices_of_their_own_serve_what_keeps_nothing(arch):
    qd.init(arch=arch, offline_cache=False)
    data = Data(straight=False)
    square = data.kernels["square"]
    for _ in range(4):
        data.y.grad.fill(1.0)
        square()
        square.grad()
        assert is_served(square)
    assert data.x.grad.to_numpy().tolist() == (2 * data.x.to_numpy() * 4).tolist()
    data.kernels["move"]()
    with pytest.raises(AdstackDataAccessError, match="since by move"):
        square.grad()


def test_methods_are_served_with_their_objects():
    one, other = Simulation(), Simulation()
    for simulation, s in ((one, 1.0), (other, 2.0)) * 3:
        simulation.x.fill(3.0)
        simulation.x.grad.fill(0.0)
        simulation.loss.grad[None] = 1.0
        simulation.step(s)
        simulation.step.grad(s)
        assert simulation.x.grad.to_numpy().tolist() == [6.0 * s] * 3
    assert is_served(one.step.kernel)


def test_arrays_that_are_one_are_refused_even_where_machine_code_serves():
    data = Data(straight=False)
    kernel = data.kernels["arrays"]
    settled(kernel, data.a, data.b, 1)
    kernel(data.a, data.a, 1)
    with pytest.raises(AdstackDataAccessError, match="share memory"):
        kernel.grad(data.a, data.a, 1)


def test_an_array_that_lost_its_gradient_is_not_taken_for_one_that_has_it():
    data = Data(straight=False)
    kernel = data.kernels["arrays"]
    settled(kernel, data.a, data.b, 1)
    a = data.a.grad
    data.a.grad = None
    kernel(data.a, data.b, 1)
    before = a.to_numpy().tobytes()
    data.b.grad.fill(1.0)
    kernel.grad(data.a, data.b, 1)  # of x alone
    assert a.to_numpy().tobytes() == before
    data.a.grad = a
    kernel(data.a, data.b, 1)
    data.b.grad.fill(1.0)
    kernel.grad(data.a, data.b, 1)
    assert a.to_numpy().tobytes() != before


def test_what_has_no_room_runs_again_from_snapshots_when_machine_code_serves():
    turns = (3, 5_000, 4, 20_000, 3)

    def gradients(**options: Any) -> list[bytes]:
        qd.init(arch=qd.cpu, offline_cache=False, **options)
        x, y, run = slowly_falling()
        settled(run, 3)
        grads = []
        for n in turns:
            x.grad.fill(0.0)
            y.grad.fill(1.0)
            run(n)
            run.grad(n)
            assert x.grad.to_numpy().all()
            grads.append(x.grad.to_numpy().tobytes())
        assert is_served(run)
        return grads

    want = gradients()
    before = qd.stats()["checkpointed"]
    assert gradients(ad_stack_heap_limit=4096) == want
    assert qd.stats()["checkpointed"] == before + 2


def test_depths_for_arguments_of_machine_code_are_not_taken_for_those_of_python():
    data = Data(straight=False)
    kernel = data.kernels["scaled"]
    for k in (3, 3, 3):
        kernel(k, 0.5)
        kernel.grad(k, 0.5)
    kernel.grad.serve(3, 0.5)
    kernel.grad(1, 0.5)  # fewer slots
    kernel(3, 0.5)
    kernel.grad.serve(3, 0.5)
    kernel.grad.serve(3, 0.5)


def test_depths_that_depend_on_nothing_in_memory_are_computed_once():
    x, y = (qd.field(qd.f64, MANY, needs_grad=True) for _ in range(2))

    @qd.kernel
    def triangle():
        for i in x:
            v = x[i]
            for _ in range(i):
                v = v * v
            y[i] = v

    x.fill(1.0)
    for turn in range(4):
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        triangle()
        before = qd.stats()
        triangle.grad()
        assert qd.stats()["size_evaluations"] - before["size_evaluations"] == (turn == 0)
        assert x.grad.to_numpy().tolist() == [2.0**i for i in range(MANY)]
    assert is_served(triangle)


def test_a_tape_and_debug_mode_see_every_call():
    data = Data(straight=False)
    power = data.kernels["power"]
    settled(power)
    with qd.graph() as g:
        power()
        power.grad()
    assert len(g) == 2
    qd.init(arch=qd.cpu, offline_cache=False, debug=True)
    power = Data(straight=False).kernels["power"]
    for _ in range(3):
        power()
        power.grad()
    assert not is_served(power)


def test_keywords_and_wrong_arguments_are_served_by_python():
    kernel = Data(straight=False).kernels["scaled"]
    settled(kernel, 2, 0.5)
    kernel.grad(k=2, s=0.5)
    with pytest.raises(AdstackError, match="Missing argument"):
        kernel.grad(2)
    with pytest.raises(AdstackRuntimeTypeError):
        kernel.grad(2, "much")


def test_kernels_that_are_served_go_when_nobody_has_them():
    data = Data(straight=False)
    settled(data.kernels["power"])
    gone = [weakref.ref(kernel) for kernel in data.kernels.values()]
    del data
    gc.collect()
    assert [one() for one in gone] == [None] * len(gone)
