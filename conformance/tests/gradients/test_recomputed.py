"""States that a program computes again for its gradients, whose last bits differ: as with float atomics on a device."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.gradients.memory.undo import Change, undone
from adstack.runtime import plans
from adstack.runtime.adstacks import budget

CELLS, COUNT, STEPS = 3, 6, 4
OTHERWISE = 1e-7
"""By how much sums differ that were added up in another order, as parts of them."""


class Particles:
    """Particles that add to a grid which each step clears, and are moved by it; the grid is computed for each step."""

    def __init__(self, arch: str = "cpu") -> None:
        qd.init(arch=arch, default_fp=qd.f64)
        rows = (STEPS + 1, COUNT)
        self.x = x = qd.field(qd.f64, rows, needs_grad=True, name="x")
        self.start = start = qd.field(qd.f64, COUNT, needs_grad=True, name="start")
        self.grid = grid = qd.field(qd.f64, CELLS, needs_grad=True, name="grid")
        start.from_numpy(np.linspace(0.1, 0.5, COUNT))

        @qd.kernel
        def begin():
            for p in start:
                x[0, p] = start[p]

        @qd.kernel
        def clear():
            for c in grid:
                grid[c] = 0.0

        @qd.kernel
        def scatter(t: qd.i32, scale: qd.f64):
            for p in start:
                grid[p % CELLS] += scale * x[t, p] * x[t, p]

        @qd.kernel
        def move(t: qd.i32):
            for p in start:
                x[t + 1, p] = 0.5 * x[t, p] + grid[p % CELLS] * grid[p % CELLS]

        self.begin, self.clear, self.scatter, self.move = begin, clear, scatter, move

    def fill_grid(self, t: int, part: float = 0.0) -> None:
        """The grid of a step; its bits are a little different."""
        self.clear()
        self.scatter(t, 1.0)
        self.disturb(part)

    def disturb(self, part: float) -> None:
        """Change the grid behind adstack's back, as a device does that adds in another order."""
        if part and self.grid.buffer.view() is not None:
            self.grid.buffer.view()[...] *= 1.0 + part

    def forward(self) -> None:
        self.begin()
        for t in range(STEPS):
            self.fill_grid(t)
            self.move(t)

    def differentiate(self) -> np.ndarray:
        """The gradient of the sum of all that is left in the end."""
        self.forward()
        self.x.grad.from_numpy(np.eye(STEPS + 1)[STEPS][:, None] * np.ones(COUNT))
        self.start.grad.fill(0.0)
        for t in reversed(range(STEPS)):
            self.fill_grid(t, OTHERWISE)
            self.grid.grad.fill(0.0)
            self.move.grad(t)
            self.scatter.grad(t, 1.0)
        self.begin.grad()
        return self.start.grad.to_numpy()


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python it calls."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_no_iteration_costs_more_than_those_before_and_nothing_piles_up() -> None:
    particles = Particles()
    right = particles.differentiate()
    steps = particles.x.to_numpy()
    slope = np.ones(COUNT)
    for t in reversed(range(STEPS)):  # by hand
        grid = np.array([(steps[t, c::CELLS] ** 2).sum() for c in range(CELLS)])
        pushed = np.array([(2.0 * grid[c] * slope)[c::CELLS].sum() for c in range(CELLS)])
        slope = 0.5 * slope + 2.0 * steps[t] * np.tile(pushed, COUNT // CELLS)
    assert np.allclose(right, slope, rtol=1e-5)
    calls, objects = [], []
    for _ in range(3):
        for _ in range(40):
            assert np.allclose(particles.differentiate(), right, rtol=1e-5)
        calls.append(calls_of(lambda: [particles.differentiate() for _ in range(10)]))
        gc.collect()
        objects.append(len(gc.get_objects()))
    assert calls[2] < 1.02 * calls[0]
    assert objects[2] < 1.01 * objects[0]


def test_what_is_kept_of_overwritten_memory_is_kept_where_earlier_states_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices finish all work before they give or take memory, so that nothing is allocated time and again."""
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    particles = Particles("cuda")
    for k in range(3):
        particles.start.fill(-k)  # what is computed again is not kept
        particles.differentiate()
    counts = Counter[str]()
    device = type(particles.grid.buffer.backend)
    for name in ("allocate", "copy_parts", "download", "download_at", "upload", "upload_at"):
        monkeypatch.setattr(device, name, counting(counts, name, getattr(device, name)))
    for k in range(10):
        particles.start.fill(k)
        particles.differentiate()
    assert counts["copy_parts"] >= 10 * 2 * STEPS
    assert counts["allocate"] < 10
    assert counts["download"] + counts["download_at"] == 10  # what the test itself reads: no gradient waits


def counting(counts: Counter[str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which counts its calls; of copies each part."""

    def counted(*args: Any) -> Any:
        counts[name] += len(args[1]) if name == "copy_parts" else 1
        return method(*args)

    return counted


def kept_by(particles: Particles) -> Counter[int]:
    """How many pieces of memory are kept of what was overwritten: of `x`, and of the grid."""
    watches = particles.x.buffer.watch, particles.grid.buffer.watch
    return Counter({k: sum(len(one.patches) for one in watch.saved) for k, watch in enumerate(watches)})


@pytest.mark.parametrize("arch", ["reference", "cpu", "cuda"])
def test_nothing_is_kept_of_what_launches_compute_again(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    particles = Particles(arch)
    particles.differentiate()
    particles.forward()
    before = kept_by(particles)
    for _ in range(3):
        particles.begin()  # row 0 is what it was
        particles.move(STEPS - 1)  # the last row, of the row before and the grid
    assert kept_by(particles) == before
    particles.start[1] = 0.7
    particles.begin()
    assert kept_by(particles)[0] == before[0] + 1  # scatter(0) has found another row
    with pytest.raises(qd.AdstackDataAccessError, match=r"x.* since by"):
        particles.scatter.grad(0, 1.0)


@pytest.mark.parametrize("arch", ["reference", "cpu", "cuda"])
@pytest.mark.parametrize("launched", [False, True])
def test_what_a_launch_that_failed_was_to_compute_again_is_not_known(
    monkeypatch: pytest.MonkeyPatch, arch: str, launched: bool
) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    particles = Particles(arch)
    particles.forward()
    if launched:
        particles.x[1, 0] = particles.x[1, 0]  # which has it kept
        particles.begin()
        particles.scatter(0, 1.0)  # there was a launch since the last write of its row

    with monkeypatch.context() as patched:
        patched.setattr(type(particles.x.buffer.backend), "launch", interrupted)
        patched.setattr(plans, "launched", interrupted)
        with pytest.raises(KeyboardInterrupt):
            particles.begin()
    with pytest.raises(qd.AdstackDataAccessError, match=r"a launch of begin .*has failed"):
        particles.scatter.grad(0, 1.0)
    particles.scatter.grad(1, 1.0)  # of another row
    particles.begin()
    particles.scatter(0, 1.0)
    particles.scatter.grad(0, 1.0)


def test_a_launch_that_fails_takes_nothing_from_those_before_it() -> None:
    particles = Particles()
    particles.forward()
    particles.begin()  # row 0 again
    particles.clear()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plans, "launched", interrupted)
        with pytest.raises(KeyboardInterrupt):
            particles.move(0)  # another row 1
    particles.scatter.grad(0, 1.0)


def interrupted(*_: object) -> None:
    """A launch in the place of which Ctrl-C comes."""
    raise KeyboardInterrupt


def changes(particles: Particles) -> dict[str, Callable[[], None]]:
    """Other ways to a grid than that of the first step."""
    grid = particles.grid

    @qd.kernel
    def noise():
        for c in grid:
            grid[c] += 0.25 * qd.random(qd.f64)

    def scattered(t: int, scale: float = 1.0) -> None:
        particles.clear()
        particles.scatter(t, scale)

    def by_the_host() -> None:
        particles.x[0, 0] = particles.x[0, 0]
        scattered(0)

    def another_start() -> None:
        particles.start.from_numpy(particles.start.to_numpy())
        particles.begin()
        scattered(0)

    def twice() -> None:
        scattered(0)
        particles.scatter(0, 1.0)

    def with_noise() -> None:
        scattered(0)
        noise()

    def without_clearing() -> None:
        particles.scatter(0, 1.0)

    def stopped() -> None:
        scattered(0)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(particles.grid.buffer.backend, "launch", interrupted)
            patched.setattr(plans, "launched", interrupted)
            with pytest.raises(KeyboardInterrupt):
                particles.clear()
        particles.scatter(0, 1.0)

    return {
        "another row": lambda: scattered(1),
        "another number": lambda: scattered(0, 1.0 + 1e-12),
        "what the host wrote": by_the_host,
        "a start that the host wrote": another_start,
        "twice": twice,
        "random numbers": with_noise,
        "not cleared": without_clearing,
        "a launch that failed": stopped,
    }


OTHER_WAYS = (
    *("another row", "another number", "what the host wrote", "a start that the host wrote", "twice"),
    *("random numbers", "not cleared", "a launch that failed"),
)


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_what_was_computed_in_another_way_is_refused(way: str) -> None:
    particles = Particles()
    particles.differentiate()
    particles.forward()
    changes(particles)[way]()
    particles.disturb(OTHERWISE)
    with pytest.raises(qd.AdstackDataAccessError, match=r"grid.* since by"):
        particles.move.grad(0)


class Drawn:
    """Numbers that a kernel draws, and another one takes the squares of."""

    def __init__(self, by: str) -> None:
        qd.init(arch="cpu", default_fp=qd.f64)
        self.tickets = tickets = qd.field(qd.i32, ())
        self.x = x = qd.field(qd.f64, COUNT, needs_grad=True)
        y = qd.field(qd.f64, (), needs_grad=True)

        @qd.kernel
        def begin():
            tickets[None] = COUNT - 1 if qd.static(by == "random") else 0

        @qd.kernel
        def draw():
            for i in x:
                if qd.static(by == "random"):
                    x[i] = qd.random(qd.f64)
                else:
                    x[i] = qd.cast(qd.atomic_add(tickets[None], 1), qd.f64)

        @qd.kernel
        def use():
            for i in range(tickets[None]):
                y[None] += x[i] * x[i]

        self.begin, self.draw, self.use = begin, draw, use
        for _ in range(2):  # from the second time on it is known where contents come from
            self.again()
            use()

    def again(self) -> None:
        self.begin()
        self.draw()


def test_what_followed_from_the_order_of_atomics_is_not_computed_again() -> None:
    drawn = Drawn(by="atomics")
    drawn.again()
    drawn.use.grad()  # they came in the same order
    elements = drawn.x.buffer.view()
    elements[[0, 1]] = elements[[1, 0]]  # behind adstack's back, as if they had not
    with pytest.raises(qd.AdstackDataAccessError, match="draw"):
        drawn.use.grad()


def test_random_numbers_are_not_drawn_again() -> None:
    drawn = Drawn(by="random")
    drawn.again()
    with pytest.raises(qd.AdstackDataAccessError, match="draw"):
        drawn.use.grad()


def test_what_was_computed_in_the_same_way_is_taken() -> None:
    particles = Particles()
    particles.differentiate()
    particles.forward()
    particles.begin()
    for t in (2, 0):
        particles.fill_grid(t, OTHERWISE)
        particles.move.grad(t)


def test_memory_that_was_wound_back_for_a_gradient_is_known_afterwards() -> None:
    particles = Particles()
    grid = particles.grid

    particles.forward()
    particles.fill_grid(0)
    particles.move(0)
    before = grid.buffer.watch.history.origins(grid.buffer.box)
    with undone([Change("grid", grid.buffer, np.array([1]), np.array([7.0]))]):
        assert grid.buffer.watch.history.origins(grid.buffer.box) != before
    assert grid.buffer.watch.history.origins(grid.buffer.box) == before
    particles.fill_grid(0, OTHERWISE)
    particles.move.grad(0)


def test_memory_of_earlier_states_goes_back_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    particles = Particles("cuda")
    right = [particles.differentiate() for _ in range(4)]
    device: Any = particles.grid.buffer.backend
    spare, free = budget.current().spare, device.driver.available()
    assert spare > 0
    assert budget.current().relieve()
    assert budget.current().spare == 0
    assert device.driver.available() >= free + spare
    assert not budget.current().relieve()
    assert (particles.differentiate() == right[-1]).all()


class Pair:
    """Two fields, of which a kernel takes squares and another one overwrites both."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
        qd.init(arch=qd.cuda, offline_cache=False)
        a, b = (qd.field(qd.f32, 8, needs_grad=True) for _ in range(2))
        loss = qd.field(qd.f32, (), needs_grad=True)

        @qd.kernel
        def use():
            for i in a:
                loss[None] += a[i] * a[i] + b[i] * b[i]

        @qd.kernel
        def overwrite(value: qd.f32):
            for i in a:
                a[i] = value
                b[i] = value

        self.a, self.use, self.overwrite, self.device = a, use, overwrite, type(a.buffer.backend)
        a.fill(1.0)
        b.fill(2.0)
        use()


def test_what_a_launch_is_about_to_overwrite_is_copied_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, batches = Pair(monkeypatch), list[int]()
    copy_parts = pair.device.copy_parts

    def noted(self: Any, parts: Any) -> None:
        batches.append(len(parts))
        copy_parts(self, parts)

    monkeypatch.setattr(pair.device, "copy_parts", noted)
    for value in (3.0, 4.0, 5.0):
        pair.overwrite(value)
    assert batches == [2]
    pair.use()
    pair.overwrite(6.0)
    assert batches == [2, 2]


def test_where_copying_was_interrupted_a_gradient_is_refused_and_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch)

    def interrupted(self: object, parts: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pair.device, "copy_parts", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pair.overwrite(3.0)
    assert pair.a.to_numpy().tolist() == [1.0] * 8
    pair.overwrite(0.0)  # what new memory holds
    with pytest.raises(qd.AdstackDataAccessError):
        pair.use.grad()
    pair.use()
    pair.use.grad()
