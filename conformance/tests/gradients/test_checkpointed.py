"""Memory never ends a reverse pass that could run: with less of it, trips run again, and not a bit changes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import adstack as qd
from adstack.errors import AdstackMemoryError
from adstack.gradients.modes.checkpointed import Checkpointed
from adstack.runtime.adstacks.heap import HeapLimit

Array = npt.NDArray[Any]


def chaotic(arch: Any, limit: int, trips: int, lanes: int = 3, **options: Any) -> tuple[Array, Any]:
    """The gradient of a long recurrence whose derivative stays of the order of one, and the kernel."""
    qd.init(arch=arch, ad_stack_heap_limit=limit, offline_cache=False, **options)
    x = qd.field(qd.f32, lanes, needs_grad=True, name="x")
    y = qd.field(qd.f32, (), needs_grad=True, name="y")
    n = qd.field(qd.i32, (), name="n")

    @qd.kernel
    def long():
        for i in x:
            v = x[i]
            w = v * 0.5
            for t in range(n[None]):
                v, w = v + 0.001 * qd.sin(w), w - 0.001 * qd.cos(v) * v
            y[None] += v + w

    n[None] = trips
    x.from_numpy(np.linspace(0.1, 0.9, lanes).astype(np.float32))
    y.grad[None] = 1
    long()
    long.grad()
    return x.grad.to_numpy(), long


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu])
@pytest.mark.parametrize(("trips", "limit"), [(200, 1024), (200, 600), (77, 256), (1, 256), (0, 256)])
def test_gradients_are_the_same_bits_however_little_memory_there_is(arch: Any, trips: int, limit: int) -> None:
    plain, _ = chaotic(arch, 0, trips)
    little, kernel = chaotic(arch, limit, trips)
    assert np.all(plain != 0)
    assert little.tobytes() == plain.tobytes()
    needed = trips * 8
    assert bool(kernel.grad.adstack_report().checkpoints) == (needed > limit)


def test_a_million_steps_are_differentiated_within_a_heap_of_a_mebibyte() -> None:
    plain, _ = chaotic(qd.cpu, 0, 10**6, lanes=1)
    little, kernel = chaotic(qd.cpu, 2**20, 10**6, lanes=1)
    assert little.tobytes() == plain.tobytes()
    assert "snapshots" in kernel.explain()


def million(limit: int) -> tuple[Array, Any]:
    """The gradient of 10^6 steps of ten values, all of which the reversal needs, and the report."""
    qd.init(arch=qd.cpu, ad_stack_heap_limit=limit, offline_cache=False)
    x = qd.field(qd.f64, 10, needs_grad=True, name="x")
    y = qd.field(qd.f64, (), needs_grad=True, name="y")

    @qd.kernel
    def long(n: qd.i32):
        for _ in range(1):
            v = qd.Vector([x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]])
            for t in range(n):
                for k in qd.static(range(10)):
                    v[k] = v[k] + 1e-6 * v[(k + 1) % 10] * (1.0 - v[k])
            y[None] += v.sum()

    x.from_numpy(np.linspace(0.1, 0.9, 10))
    y.grad[None] = 1
    long(10**6)
    long.grad(10**6)
    return x.grad.to_numpy(), long.grad.adstack_report(10**6)


def test_a_million_steps_that_keep_eighty_megabytes_are_differentiated_within_a_heap_of_64() -> None:
    plain, before = million(0)
    little, after = million(64 * 2**20)
    assert before.tasks[0].needed == 80_000_000
    assert not before.checkpoints
    assert after.checkpoints
    assert np.all(np.abs(plain) > 1e-3)
    assert little.tobytes() == plain.tobytes()


def test_what_checkpoints_are_chosen_is_remembered_and_shown() -> None:
    _, kernel = chaotic(qd.cpu, 1024, 500)
    (line,) = kernel.grad.adstack_report().checkpoints
    assert "snapshots" in line
    kernel.grad()
    assert kernel.grad.adstack_report().checkpoints == (line,)


def test_where_nothing_fits_the_error_tells_what_it_would_take() -> None:
    with pytest.raises(AdstackMemoryError, match="ad_stack_heap_limit is 4") as caught:
        chaotic(qd.cpu, 4, 100)
    assert "run again from snapshots" in str(caught.value)


def nested(limit: int) -> Array:
    """The gradient of a loop in a loop of changing length."""
    qd.init(arch=qd.cpu, ad_stack_heap_limit=limit)
    x = qd.field(qd.f32, 2, needs_grad=True, name="x")
    y = qd.field(qd.f32, (), needs_grad=True, name="y")
    n = qd.field(qd.i32, 64, name="n")
    n.from_numpy(np.arange(64, dtype=np.int32) * 7 % 30)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for t in range(64):
                for s in range(n[t]):
                    v = v + 0.01 * qd.sin(v)
            y[None] += v

    x.fill(0.3)
    y.grad[None] = 1
    k()
    k.grad()
    return x.grad.to_numpy()


def test_a_loop_in_a_loop_is_checkpointed_with_room_for_what_the_inner_one_keeps() -> None:
    assert nested(4096).tobytes() == nested(0).tobytes()


def taped(limit: int) -> Array:
    """The gradient of two long steps, recorded."""
    qd.init(arch=qd.cpu, ad_stack_heap_limit=limit)
    x = qd.field(qd.f32, 4, needs_grad=True, name="x")
    loss = qd.field(qd.f32, (), needs_grad=True, name="loss")

    @qd.kernel
    def step(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v + 0.01 * qd.sin(v)
            x[i] = v

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x.fill(0.3)
    with qd.ad.Tape(loss):
        step(300)
        step(200)
        total()
    return x.grad.to_numpy()


def test_a_tape_of_steps_runs_with_little_memory() -> None:
    plain = taped(0)
    assert np.all(plain != 0)
    assert taped(512).tobytes() == plain.tobytes()


def logging(x: Any, y: Any, z: Any) -> Any:
    """A loop that needs what an update found; then a long one."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(5):
                s = s + 0.1 * qd.atomic_add(z[i], 0.5 * qd.sin(s))
            for _ in range(n):
                s = s + 0.01 * qd.sin(s)
            y[None] += s

    return k


def repeating(x: Any, y: Any, z: Any) -> Any:
    """A loop that overwrites what it needs; then a long one."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            for _ in range(5):
                x[i] = x[i] * qd.sin(x[i]) + 1.0
            s = x[i]
            for _ in range(n):
                s = s + 0.01 * qd.sin(s)
            y[None] += s

    return k


def stepping(x: Any, y: Any, z: Any) -> Any:
    """Long loops that step in place, one inside the other; then one that overwrites what they read."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            for t in range(n // 4):
                x[i] = x[i] + 0.01 * qd.sin(x[i]) * z[i]
                for _ in range(t % 3):
                    z[i] += 0.01 * x[i] * qd.cos(z[i])
            for _ in range(n // 4):
                z[i] = z[i] * 0.999 + 0.01 * qd.sin(z[i] * x[i])
            y[None] += x[i] * z[i]

    return k


def reading(x: Any, y: Any, z: Any) -> Any:
    """A long loop of which each trip, and each branch, needs what an update found."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for t in range(n):
                s = s + 0.01 * qd.atomic_add(z[i], 0.01 * qd.sin(s))
                if t % 3 == 0:
                    s = s + 0.01 * qd.sin(z[i] * s)
                    z[i] = z[i] * 0.9
            y[None] += s

    return k


def hopeless(x: Any, y: Any, z: Any) -> Any:
    """A long loop that overwrites what it needs, and what other threads may touch."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            for t in range(n):
                if x[i] < 10.0:
                    x[i] = x[i] * qd.sin(x[i]) + 1.0
                    z[(i + t) % 4] = x[i] * z[(i + t) % 4]
            y[None] += x[i]

    return k


def counting(x: Any, y: Any, z: Any) -> Any:
    """A loop in a long loop that needs what updates found."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for t in range(n):
                for _ in range(t % 3):
                    s = s + 0.01 * qd.atomic_add(z[i], 0.01 * qd.sin(s))
            y[None] += s

    return k


def recorded(limit: int, make: Callable[..., Any]) -> tuple[Array, int]:
    """The gradient of a tape, and how many launches had checkpoints."""
    qd.init(arch=qd.cpu, ad_stack_heap_limit=limit, offline_cache=False)
    x, z = (qd.field(qd.f32, 4, needs_grad=True, name=name) for name in "xz")
    y = qd.field(qd.f32, (), needs_grad=True, name="y")
    kernel = make(x, y, z)
    x.fill(0.3)
    before = qd.stats()["checkpointed"]
    with qd.ad.Tape(y):
        kernel(1500)
    return x.grad.to_numpy(), qd.stats()["checkpointed"] - before


def flat(x: Any, y: Any, z: Any) -> Any:
    """A loop in a long loop that overwrites what it needs, in its thread's part of a flat field."""

    @qd.kernel
    def k(n: qd.i32):
        for i in range(2):
            s = x[i]
            for t in range(n // 3):
                for _ in range(3):
                    s = s + 0.01 * qd.sin(s)
                z[i * 2 + t % 2] = z[i * 2 + t % 2] * 0.9 + s * z[i * 2 + 1 - t % 2]
            y[None] += s + x[i + 2]

    return k


@pytest.mark.parametrize("make", [logging, repeating, stepping, reading, counting, flat])
def test_loops_that_log_or_store_and_those_beside_them_are_checkpointed(make: Callable[..., Any]) -> None:
    plain, without = recorded(0, make)
    little, with_checkpoints = recorded(1024, make)
    assert (without, with_checkpoints) == (0, 1)
    assert np.all(plain != 0)
    assert little.tobytes() == plain.tobytes()


def test_what_other_loops_keep_is_left_to_them_at_the_second_try() -> None:
    less, short = Checkpointed.less, HeapLimit("k", "k.0", 7000, 4000)
    assert less(4000, short, refused=False) == 4000 * 4000 // 7000
    assert less(4000, short, refused=True) == 1000
    assert less(1000, short, refused=True) == 1000 * 4000 // 7000
    assert less(4000, HeapLimit("k", "k.0", 7000), refused=True) == 2000


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu])
def test_a_nest_is_checkpointed_level_by_level(arch: Any) -> None:
    plain, little = (levels(arch, limit) for limit in (0, 160))
    assert np.all(plain[0] != 0)
    assert little[0].tobytes() == plain[0].tobytes()
    assert [line.split(": ")[1].split(",")[0] for line in little[1]] == ["checkpointed"] * 3
    assert not plain[1]


def levels(arch: Any, limit: int) -> tuple[Array, tuple[str, ...]]:
    """The gradient of three loops inside each other, and what was done about them."""
    qd.init(arch=arch, ad_stack_heap_limit=limit, offline_cache=False)
    x = qd.field(qd.f64, 3, needs_grad=True, name="x")
    y = qd.field(qd.f64, (), needs_grad=True, name="y")

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for a in range(3):
                w = v * 0.5
                for b in range(n):
                    c = 0
                    while c < n + b:
                        w = w + 0.01 * qd.sin(w * v)
                        c += 1
                    v = v + 0.01 * qd.cos(w) * w
                v = v * 0.9 + 0.1 * w
            y[None] += v

    x.from_numpy(np.linspace(0.1, 0.9, 3))
    y.grad[None] = 1
    k(5)
    k.grad(5)
    return x.grad.to_numpy(), k.grad.adstack_report(5).checkpoints


def test_an_error_says_why_a_loop_can_not_run_again_and_what_it_takes() -> None:
    line = inspect.getsourcelines(hopeless)[1] + 9
    undone = rf"to put them back would undo what other threads have stored \({Path(__file__).name}, line {line}\)"
    why = f"to run again it needs z as it was, .* {undone}"
    with pytest.raises(AdstackMemoryError) as caught:
        recorded(1024, hopeless)
    text = str(caught.value)
    assert re.search(f"This loop can't be checkpointed: {why}", text)
    assert "ad_stack_heap_limit is 1024" in text
    assert re.search(r"raise ad_stack_heap_limit to \d+ or more", text)


def beside(x: Any, y: Any, z: Any) -> Any:
    """Nests: one that overwrites what other threads may touch, and one that can run again."""

    @qd.kernel
    def k(n: qd.i32):
        for i in range(2):
            s = x[i]
            for t in range(n // 50):
                for _ in range(10):
                    s = s + 0.01 * qd.sin(s)
                z[(i * 2 + t % 2) % 4] = z[(i * 2 + t % 2) % 4] * 0.9 + s * z[(i * 2 + (t + 1) % 2) % 4]
            for _ in range(n // 50):
                for _ in range(50):
                    s = s + 0.01 * qd.sin(s)
            y[None] += s + x[i + 2]

    return k


@pytest.mark.parametrize("make", [beside, stepping])
def test_what_an_error_advises_is_the_least_that_does(make: Callable[..., Any]) -> None:
    plain, _ = recorded(0, make)
    assert np.all(plain != 0)
    with pytest.raises(AdstackMemoryError) as caught:
        recorded(4, make)
    takes = re.search(r"of one thread of .* take (\d+) bytes", str(caught.value))
    advice = re.search(r"raise ad_stack_heap_limit to (\d+) or more", str(caught.value))
    assert takes is not None
    assert advice is not None
    advised = int(advice[1])
    assert advised < int(takes[1])
    assert recorded(advised, make)[0].tobytes() == plain.tobytes()
    with pytest.raises(AdstackMemoryError, match=f"to {advised} or more"):
        recorded(advised - 1, make)


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu])
def test_an_error_says_what_is_there_at_once_at_least(arch: Any) -> None:
    qd.init(arch=arch, ad_stack_heap_limit=64, offline_cache=False)
    x, y = (qd.field(qd.f32, 3, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k():
        for i in x:
            v = qd.Vector([x[i]] * 9)
            for _ in range(3):
                for _ in range(400):
                    for j in qd.static(range(9)):
                        v[j] = qd.sin(v[(j + 1) % 9]) + v[j]
            y[i] = v.sum()

    k()
    with pytest.raises(AdstackMemoryError) as caught:
        k.grad()
    total = re.search(r"it still takes (\d+) bytes", str(caught.value))
    parts = re.findall(r"line \d+: a state of (\d+) bytes, (\d+) that a trip keeps", str(caught.value))
    assert total is not None
    assert [sum(map(int, part)) for part in parts] == [44, 80]  # nine values and a number; and what nine sines need
    assert int(total[1]) == (124 if arch is qd.reference else 128)  # a lane's rows have an even number of floats


def test_an_error_says_that_a_launch_has_changed_memory_before() -> None:
    short = HeapLimit("k", "k.1", 7000, 4000, touched=True)
    unused: Any = None
    with pytest.raises(HeapLimit, match="what the launch has changed before: it can't begin again"):
        Checkpointed(unused, unused).run(unused, short)


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu, qd.vulkan])
def test_a_loop_whose_depth_grows_behind_another_one_is_checkpointed_when_it_no_longer_fits(arch: Any) -> None:
    qd.init(arch=arch, ad_stack_heap_limit=1024, offline_cache=False)
    x, y, z = (qd.field(qd.f32, 3, needs_grad=True) for _ in range(3))
    n = qd.field(qd.i32, ())

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(n[None]):
                s = qd.sin(s)
            y[i] = s
        for i in x:
            z[i] = 2.0 * x[i]

    def slope(trips: int) -> list[float]:
        n[None] = trips
        x.fill(0.5)
        k()
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        z.grad.fill(1.0)
        k.grad()
        return list(x.grad.to_numpy())

    def wanted(trips: int) -> float:
        s, gradient = 0.5, 1.0
        for _ in range(trips):
            s, gradient = np.sin(s), gradient * np.cos(s)
        return 2.0 + gradient

    for trips in (20, 20, 0, 20, 3000, 20, 500, 30, 30):
        assert slope(trips) == pytest.approx([wanted(trips)] * 3, rel=1e-4)
