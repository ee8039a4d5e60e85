"""Launches that write what others' gradients need: Python announces them, and machine code makes them."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackDataAccessError
from adstack.runtime import plans


@pytest.fixture(autouse=True)
def arch(compiled_arch: str) -> str:
    qd.init(arch=compiled_arch)
    return compiled_arch


@qd.data_oriented
class Steps:
    """A history, and a grid that every step computes anew."""

    def __init__(self, count: int = 4) -> None:
        self.count, self.rate = count, 2.0
        self.x = qd.field(qd.f32, shape=(count + 1, 8), needs_grad=True)
        self.grid = qd.field(qd.f32, shape=8, needs_grad=True)

    @qd.kernel
    def fill(self, t: qd.i32) -> None:
        for i in range(8):
            self.grid[i] = self.rate * self.x[t, i] * self.x[t, i]

    @qd.kernel
    def move(self, t: qd.i32) -> None:
        for i in range(8):
            self.x[t + 1, i] = 0.25 * self.grid[i] * self.grid[i]

    @qd.kernel
    def scale(self, by: qd.f32) -> None:
        for i in range(8):
            self.grid[i] = self.grid[i] * by

    @qd.kernel
    def empty(self) -> None:
        for i in range(8):
            self.grid[i] = 0.0

    @qd.kernel
    def add(self, t: qd.i32) -> None:
        for i in range(8):
            self.grid[i] += self.x[t, i]

    def forward(self) -> None:
        for t in range(self.count):
            self.fill(t)
            self.move(t)


def settled() -> Steps:
    steps = Steps()
    steps.x.from_numpy(np.full((5, 8), 0.5, np.float32))
    for _ in range(3):
        steps.forward()
    return steps


def functions(work: Callable[[], object]) -> int:
    """How many functions of Python it calls."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_machine_code_makes_them_and_few_functions_of_python_run(arch: str, by_machine: list[bool]) -> None:
    steps = settled()
    by_machine.clear()
    assert functions(steps.forward) < 8 * (60 if arch == "cpu" else 110)  # devices make copies
    assert by_machine == [True] * 8


def test_what_they_overwrite_is_known(by_machine: list[bool]) -> None:
    steps = settled()
    steps.fill(0)
    steps.move(0)
    steps.fill(1)
    steps.move.grad(1)  # of the grid of now
    with pytest.raises(AdstackDataAccessError, match=r"\[0\] as the launch found it"):
        steps.move.grad(0)
    steps.fill(0)
    steps.move.grad(0)  # the same launch has computed it again
    steps.x[0, 3] = 0.75
    steps.fill(0)
    with pytest.raises(AdstackDataAccessError, match=r"\[3\] as the launch found it"):
        steps.move.grad(0)
    assert by_machine
    assert all(by_machine)


def test_what_machine_code_refuses_python_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, other = settled(), settled()
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        steps.forward()
        steps.fill(2)
    other.forward()
    other.fill(2)
    assert (steps.x.to_numpy() == other.x.to_numpy()).all()
    assert (steps.grid.to_numpy() == other.grid.to_numpy()).all()
    for one in (steps, other):
        one.x.grad.fill(1.0)
        one.move.grad(2)
        with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
            one.move.grad(3)
    assert (steps.grid.grad.to_numpy() == other.grid.grad.to_numpy()).all()


def test_a_write_that_was_announced_and_not_made_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = settled()
    steps.fill(0)
    steps.grid.buffer.write(np.full(8, 3.0))  # what the next launch finds, fill(0) has not computed

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", interrupted)
        with pytest.raises(KeyboardInterrupt):
            steps.fill(0)
    steps.move(0)
    steps.fill(0)
    with pytest.raises(AdstackDataAccessError, match=r"\[0\] as the launch found it, 3"):
        steps.move.grad(0)


def test_what_is_announced_again_is_not_taken_for_two_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = settled()
    for _ in range(3):
        steps.empty()
        steps.add(0)
    steps.empty()
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        steps.add(0)
    steps.move(0)
    steps.empty()
    steps.add(0)
    steps.add(0)
    with pytest.raises(AdstackDataAccessError, match=r"\[0\] as the launch found it, 0.5"):
        steps.move.grad(0)


def test_attributes_may_change(by_machine: list[bool]) -> None:
    steps = settled()
    for rate in (2.0, 3.0, 2.0, 5.0):
        steps.rate = rate
        for _ in range(3):
            steps.x[0, 0] = 1.0
            steps.fill(0)
            assert steps.grid[0] == rate
    assert sum(by_machine) > 4


def test_numbers_are_told_apart_by_their_bits_and_types() -> None:
    steps = settled()
    for _ in range(3):
        steps.scale(1.0)
    for number in (0.0, -0.0, 2, True, np.float32(3.0), 0.0):
        steps.grid.fill(1.0)
        steps.scale(number)
        assert str(steps.grid[0]) == str(float(np.float32(number)))
    with pytest.raises(qd.AdstackError, match="argument t"):
        steps.fill(1.5)
    steps.fill(t=1)
    steps.fill(np.int32(1))


def test_objects_are_not_kept(by_machine: list[bool]) -> None:
    steps = settled()
    assert all(by_machine[-8:])
    gone = weakref.ref(steps)
    del steps
    gc.collect()
    assert gone() is None
    again = settled()
    again.forward()
    assert all(by_machine[-8:])


def test_memory_that_was_dropped_is_refused() -> None:
    tree = qd.FieldsBuilder()
    x, y = (qd.field(qd.f32, needs_grad=True) for _ in range(2))
    tree.dense(qd.i, 4).place(x, y, x.grad, y.grad)
    built = tree.finalize()

    @qd.kernel
    def there(t: qd.i32) -> None:
        for i in range(4):
            y[i] = x[i] * x[i] + t

    @qd.kernel
    def back() -> None:
        for i in range(4):
            x[i] = y[i]

    for _ in range(4):
        there(0)
        back()
    built.destroy()
    for kernel, args in ((there, (0,)), (back, ())):
        with pytest.raises(qd.AdstackError, match="destroyed"):
            kernel(*args)


class Powers:
    """A step of a history in which loops of data-dependent length multiply: its reverse mode needs adstacks."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f32, shape=(4, 64), needs_grad=True)
        self.n = qd.field(qd.i32, shape=64)
        x, n = self.x, self.n

        @qd.kernel
        def step(t: qd.i32):
            for i in range(64):
                v = x[t, i]
                for _ in range(n[i]):
                    v = v * v + 0.125 * x[t, i]
                x[t + 1, i] = v

        self.step = step
        x.fill(0.5)
        n.from_numpy(np.arange(64, dtype=np.int32) % 7)

    def gradient(self) -> list[list[float]]:
        for t in range(3):
            self.step(t)
        self.x.grad.fill(0.0)
        for i in range(64):
            self.x.grad[3, i] = 1.0
        for t in reversed(range(3)):
            self.step.grad(t)
        slopes: list[list[float]] = self.x.grad.to_numpy().tolist()
        return slopes


def by_python(powers: Powers, monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        return powers.gradient()


def test_reverse_modes_with_adstacks_are_made_by_machine_code(
    by_machine: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    powers = Powers()
    right = powers.gradient()
    for _ in range(3):
        assert powers.gradient() == right
    by_machine.clear()
    assert powers.gradient() == right
    assert by_machine == [True] * 6  # steps and their gradients
    assert by_python(powers, monkeypatch) == right
    powers.n.fill(9)  # deeper stacks
    deeper = powers.gradient()
    assert deeper == powers.gradient() == by_python(powers, monkeypatch)
    assert deeper != right


def test_reverse_modes_without_room_run_again_from_snapshots(arch: str, by_machine: list[bool]) -> None:
    def gradients() -> list[list[list[float]]]:
        powers = Powers()
        powers.n.fill(3000)
        powers.x.fill(0.25)
        return [powers.gradient() for _ in range(3)]

    right = gradients()
    qd.init(arch=arch, ad_stack_heap_limit=4096)
    before = qd.stats()["checkpointed"]
    assert gradients() == right
    assert qd.stats()["checkpointed"] == before + 9
    assert all(by_machine)


def test_what_a_gradient_needs_is_looked_at_each_time(by_machine: list[bool]) -> None:
    powers = Powers()
    for _ in range(3):
        right = powers.gradient()
    powers.x[1, 5] = 0.75
    with pytest.raises(qd.AdstackError, match=r"\[1, 5\] as the launch found it"):
        powers.step.grad(1)
    powers.step.grad(2)
    powers.n[3] = 5
    with pytest.raises(qd.AdstackError, match=r"needs bound .*\[3\] as the launch found it"):
        powers.step.grad(2)
    powers.n[3] = 3
    powers.x.fill(0.5)
    assert powers.gradient() == right


def test_depths_are_those_of_the_memory_of_now_where_machine_code_is_made_late() -> None:
    """It is made for the first gradient after a tape; what depths depend on was written since Python computed them."""
    x, y = (qd.field(qd.f32, shape=shape, needs_grad=True) for shape in (4, ()))
    n = qd.field(qd.i32, shape=4)
    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0], np.float32))

    @qd.kernel
    def powers(by: qd.i32) -> None:
        for i in x:
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a * by

    def gradient(trips: int, *args: int, **kwargs: int) -> list[float]:
        n.fill(trips)
        x.grad.fill(0.0)
        y.grad[None] = 1.0
        powers(1)
        powers.grad(*args, **kwargs)
        return list(x.grad.to_numpy())

    with qd.ad.Tape(y):
        powers(1)
    assert gradient(0, by=1) == [0.0] * 4  # Python serves calls by keywords
    assert gradient(3, 1) == [3.0, 12.0, 27.0, 48.0]
    assert gradient(2, 1) == [2.0, 4.0, 6.0, 8.0]


class Chain:
    """A history in one ndarray."""

    def __init__(self) -> None:
        self.x = qd.ndarray(qd.f32, (5, 8), needs_grad=True)
        loss = self.loss = qd.field(qd.f32, (), needs_grad=True)
        self.x.fill(1.0)

        @qd.kernel
        def square(x: qd.types.ndarray(), t: qd.i32):
            for i in range(8):
                x[t + 1, i] = x[t, i] * x[t, i]

        @qd.kernel
        def total(x: qd.types.ndarray()):
            for i in range(8):
                loss[None] += x[4, i]

        self.square, self.total = square, total

    def there_and_back(self) -> None:
        for t in range(4):
            self.square(self.x, t)
        for t in reversed(range(4)):
            self.square.grad(self.x, t)


def test_what_launches_need_is_kept_anew_after_a_tape_has_forgotten_those_before_it() -> None:
    chain = Chain()
    for _ in range(3):
        chain.there_and_back()
        with qd.ad.Tape(chain.loss):
            chain.square(chain.x, 0)
            chain.total(chain.x)
    chain.square(chain.x, 1)
    chain.x[1, 3] = 7.0
    with pytest.raises(AdstackDataAccessError, match="needs x"):
        chain.square.grad(chain.x, 1)


def test_a_kernel_that_returns_a_number_is_made_by_machine_code_where_an_array_is_watched(
    arch: str, by_machine: list[bool]
) -> None:
    chain = Chain()

    @qd.kernel
    def energy(x: qd.types.ndarray(), t: qd.i32) -> qd.f32:
        e = 0.0
        for _ in range(1):
            e += x[t, 0] * x[t, 0]
        return e

    @qd.kernel
    def steps(x: qd.types.ndarray(), t: qd.i32) -> qd.i32:
        for i in range(8):
            x[t + 1, i] = x[t, i] * x[t, i] + 1.0
        return t + 1

    for _ in range(4):
        by_machine.clear()
        seen = [number for t in range(4) for number in (steps(chain.x, t), energy(chain.x, t + 1))]
    assert seen == [1, 4.0, 2, 25.0, 3, 676.0, 4, 458329.0]
    assert by_machine == ([True] * 8 if arch == "cpu" else [])  # Python waits for a device, and fetches the number
    energy.grad(chain.x, 3, seed=0.5)
    assert chain.x.grad.to_numpy()[3, 0] == 26.0
    energy.grad(chain.x, 3)
    assert chain.x.grad.to_numpy()[3, 0] == 26.0 + 52.0
    chain.x[3, 0] = 1.0
    with pytest.raises(AdstackDataAccessError, match="needs x"):
        energy.grad(chain.x, 3)


def test_launches_that_keep_what_they_overwrite_are_made_by_machine_code(
    by_machine: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, v = (qd.ndarray(qd.f32, (5, 8), needs_grad=True) for _ in range(2))

    @qd.kernel
    def move(x: qd.types.ndarray(), v: qd.types.ndarray(), t: qd.i32, dt: qd.f32):
        for i in range(8):  # x and v may be one array
            v[t + 1, i] = v[t, i] - dt * x[t, i] * x[t, i]
            x[t + 1, i] = x[t, i] + dt * v[t, i] * v[t, i]

    def gradients() -> list[list[float]]:
        x.fill(0.5)
        v.fill(0.25)
        for t in range(4):
            move(x, v, t, 0.5)
        for one in (x, v):
            one.grad.fill(1.0)
        by_machine.clear()
        for t in range(4):
            move(x, v, t, 0.5)
        for t in reversed(range(4)):
            move.grad(x, v, t, 0.5)
        return [one.grad.to_numpy()[0].tolist() for one in (x, v)]

    for _ in range(3):
        by_machines = gradients()
    assert by_machine[:4] == [True] * 4
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        assert gradients() == by_machines
