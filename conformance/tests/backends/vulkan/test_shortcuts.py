"""Launches by machine code on Vulkan: the results and errors of launches by Python, whatever comes in between."""

from __future__ import annotations

import gc
import importlib.util
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls_kit import is_short, settled
from specialisation_kit import specialisations
from vulkan_kit import backend, shared_of

import adstack as qd
from adstack.backends.vulkan.hostcode.state import ARENA, LAUNCHES
from adstack.backends.vulkan.shortcuts import Launcher
from adstack.backends.vulkan.stream import aligned

pytestmark = pytest.mark.usefixtures("on_vulkan")


def by_machine_code(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, times: int = 0) -> Any:
    """What a call gives that asks Python only to see to the stream, and so often."""
    asked: list[int] = []
    stream = backend().stream
    room = stream.room

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Python was asked")

    with monkeypatch.context() as patch:
        patch.setattr(qd.kernels.kernel.Kernel, "_call", refuse)
        patch.setattr(stream, "room", lambda size: asked.append(size) or room(size))
        result = call()
    assert len(asked) <= times
    return result


def many(times: int, kernel: Any, *args: Any) -> None:
    """Call a kernel so often."""
    for _ in range(times):
        kernel(*args)


@qd.kernel
def fill(x: qd.types.ndarray(ndim=1), value: qd.f32):
    for i in x:
        x[i] = value


@qd.kernel
def put(x: qd.types.ndarray(dtype=qd.i64, ndim=1), at: qd.i32, value: qd.i64):
    x[at] = value


NUMBERS = {
    qd.i8: -100, qd.u8: 200, qd.i16: -30000, qd.u16: 60000, qd.i32: -(2**31), qd.u32: 2**32 - 1, qd.i64: -(2**63),
    qd.u64: 2**63 - 1, qd.f32: 0.1, qd.f64: 0.1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_numbers_arrive(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    y = qd.field(dtype, 2)

    @qd.kernel
    def keep(a: dtype, b: dtype):
        y[0], y[1] = a, b

    value = NUMBERS[dtype]
    zero = type(value)(0)
    settled(keep, zero, zero)
    qd.sync()
    by_machine_code(lambda: keep(value, zero), monkeypatch, times=1)
    assert y.to_numpy().tolist() == [np.asarray(value, dtype.numpy).item(), 0]
    by_machine_code(lambda: keep(zero, value), monkeypatch, times=1)
    assert y.to_numpy().tolist() == [0, np.asarray(value, dtype.numpy).item()]


def test_truth_values_and_numbers_too_large_for_machine_code_arrive() -> None:
    y = qd.field(qd.u64, 2)

    @qd.kernel
    def keep(a: qd.u1, b: qd.u64):
        y[0], y[1] = a, b

    settled(keep, False, 1)
    for a, b in ((True, 2), (False, 2**64 - 1), (True, 3)):
        keep(a, b)
        assert y.to_numpy().tolist() == [a, b]


def test_arrays_of_any_extent_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [qd.ndarray(qd.f32, n) for n in (3, 1000, 0, 65)]
    settled(fill, arrays[0], 0.0)
    for k, array in enumerate(arrays):
        fill(array, -1.0)  # it has a record now
        by_machine_code(lambda k=k, array=array: (fill(array, k + 0.5), fill(array, k + 1.5)), monkeypatch)
    for k, array in enumerate(arrays):
        assert array.to_numpy().tolist() == [k + 1.5] * array.shape[0]


def test_extents_that_depend_on_numbers_are_followed() -> None:
    y = qd.field(qd.i32, 100)

    @qd.kernel
    def raised(low: qd.i32, high: qd.i64):
        for i in range(low * 2, high - 1):
            y[i] += 1

    settled(raised, 0, 0)
    want = np.zeros(100, int)
    draw = random.Random(4)
    for _ in range(60):
        low, high = draw.randint(0, 49), draw.randint(-5, 101)
        raised(low, high)
        want[2 * low : max(high - 1, 2 * low)] += 1
    assert y.to_numpy().tolist() == want.tolist()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1.5, 1), "Invalid value for argument at - expected a number for i32"),
        (("1", 1), "Invalid value for argument at"),
        ((2**31, 1), "Invalid value for argument at - .*out of range"),
        ((0, None), "Invalid value for argument value"),
        ((0,), "Missing argument 'value'"),
        ((0, 1, 2), "Too many arguments"),
    ],
)
def test_wrong_arguments_get_the_errors_of_python(args: tuple[Any, ...], words: str) -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    with pytest.raises((qd.QuadrantsRuntimeTypeError, qd.QuadrantsSyntaxError, ValueError), match=words):
        put(x, *args)
    with pytest.raises(ValueError, match="ndim=1"):
        put(qd.ndarray(qd.i64, (3, 3)), 0, 1)
    with pytest.raises(ValueError, match="dtype=i64"):
        put(qd.ndarray(qd.i32, 3), 0, 1)
    put(x, 2, 7)
    assert x.to_numpy().tolist() == [1, 0, 7]


def test_numbers_of_other_kinds_and_arrays_of_numpy_are_taken() -> None:
    x, host = qd.ndarray(qd.i64, 4), np.zeros(4, np.int64)
    settled(put, x, 0, 1)
    put(x, np.int64(1), True)
    put(x, value=5, at=2)
    put(host, 3, 9)
    put(host, 2, 8)
    assert (x.to_numpy().tolist(), host.tolist()) == ([1, 1, 5, 0], [0, 0, 8, 9])


def test_what_python_has_to_look_after_is_not_short(capsys: pytest.CaptureFixture[str]) -> None:
    y = qd.field(qd.i32, ())

    @qd.kernel
    def gives() -> qd.i32:
        return y[None]

    @qd.kernel
    def prints():
        print(y[None])

    for kernel in (gives, prints):
        for _ in range(3):
            kernel()
        assert not is_short(kernel)
    assert capsys.readouterr().out == "0\n" * 3
    qd.init(arch=qd.vulkan, debug=True)
    x = qd.ndarray(qd.i64, 3)
    for _ in range(3):
        put(x, 0, 1)
    assert not is_short(put)
    with pytest.raises(IndexError):
        put(x, 3, 1)


def test_a_full_batch_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def step(a: qd.i32):
        x[None] += a

    settled(step, 0)
    qd.sync()
    before = backend().device.submitted
    by_machine_code(lambda: [step(k) for k in range(2000)], monkeypatch, times=8)
    assert x[None] == 1999 * 1000
    assert backend().device.submitted - before == 8


WIDE = """
import adstack as qd

def made(x):
    @qd.kernel
    def wide({params}):
        x[None] += {total}

    return wide
"""


def test_a_full_arena_is_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"a{k}" for k in range(300)]
    file = tmp_path / "wide.py"
    file.write_text(WIDE.format(params=", ".join(f"{n}: qd.i32" for n in names), total=" + ".join(names)))
    spec = importlib.util.spec_from_file_location("wide", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = qd.field(qd.i32, shape=())
    wide = settled(module.made(x), *range(300))
    qd.sync()
    x[None] = 0
    each = aligned(8 * 301)
    before, most = backend().device.submitted, ARENA // each
    assert most < LAUNCHES
    by_machine_code(lambda: [wide(*range(k, 300 + k)) for k in range(3 * most + 1)], monkeypatch, times=4)
    assert x[None] == sum(sum(range(k, 300 + k)) for k in range(3 * most + 1))
    assert 4 <= backend().device.submitted - before <= 5


def test_memory_goes_only_when_launches_by_machine_code_are_over() -> None:
    device = backend()
    qd.reset()
    gc.collect()
    device.synchronize()
    before = device.memory.used
    for turn in range(6):
        qd.init(arch=qd.vulkan)
        arrays = [qd.ndarray(qd.f32, 50_000) for _ in range(4)]
        for k in range(8):
            for array in arrays:
                fill(array, float(turn + k))
        assert is_short(fill)
        assert device.memory.used > before
        qd.reset()  # nobody has waited
    gc.collect()
    device.synchronize()
    assert device.memory.used == before


def test_a_read_waits_for_launches_by_machine_code_and_for_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    settled(fill, x, 0.0)
    fill(y, 0.0)
    qd.sync()
    device = backend().device
    before = device.submitted
    by_machine_code(lambda: fill(x, 3.0), monkeypatch, times=1)
    assert y.to_numpy().tolist() == [0] * 8
    assert device.submitted == before  # what is recorded does not concern it
    assert x.to_numpy().tolist() == [3] * 8
    assert device.submitted == before + 1


def test_kernels_go_while_their_launches_are_under_way() -> None:
    x = qd.field(qd.i32, ())

    def once(by: int) -> None:
        @qd.kernel
        def local():
            x[None] += by

        for _ in range(5):
            local()
        assert is_short(local)

    def kernels() -> int:
        gc.collect()
        return sum(type(o) is Launcher for o in gc.get_objects())

    before = kernels()
    for k in range(6):
        once(k)
    assert kernels() == before
    assert x[None] == 5 * sum(range(6))


def test_a_new_runtime_is_not_reached_by_old_ways() -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    qd.init(arch=qd.vulkan)
    with pytest.raises(RuntimeError, match="gone"):
        put(x, 0, 2)
    other = qd.ndarray(qd.i64, 3)
    settled(put, other, 1, 4)
    put(other, 2, 5)
    assert other.to_numpy().tolist() == [0, 4, 5]


@pytest.mark.parametrize("function", ["vkQueueSubmit", "vkBeginCommandBuffer"])
def test_a_lost_device_is_an_error_of_the_call(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    device = backend().device
    qd.sync()
    with monkeypatch.context() as lost:
        lost.setitem(device.vk, function, lambda *rest: -4)
        with pytest.raises(RuntimeError, match="the device was lost"):
            many(1000, put, x, 0, 3)
    for _ in range(3):
        put(x, 1, 4)
    assert x.to_numpy()[1] == 4
    assert is_short(put)


def test_what_interrupts_a_call_is_raised_and_the_next_call_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    qd.sync()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backend().stream, "room", interrupted)
        with pytest.raises(KeyboardInterrupt):
            put(x, 1, 2)
    put(x, 2, 3)
    assert x.to_numpy().tolist() == [1, 0, 3]


def test_a_call_waits_for_the_thread_that_has_the_stream() -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    lock, held, order = shared_of(backend()).lock, threading.Event(), []

    def hold() -> None:
        with lock:
            held.set()
            threading.Event().wait(0.05)
            order.append("held")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    put(x, 1, 2)
    order.append("put")
    thread.join()
    assert order == ["held", "put"]
    assert x.to_numpy().tolist() == [1, 2, 0]


def test_threads_launch_and_read_at_the_same_time() -> None:
    wrong: list[Any] = []
    shared = qd.field(qd.i64, ())

    @qd.kernel
    def count():
        shared[None] += 1

    def work(number: int) -> None:
        x, y = qd.ndarray(qd.f32, 100), qd.ndarray(qd.i64, 2)
        for k in range(150):
            fill(x, float(number + k))
            put(y, k % 2, number * 1000 + k)
            count()
            if k % 7 == number and (x.to_numpy() != number + k).any():
                wrong.append((number, k))
            if k % 11 == number and y[k % 2] != number * 1000 + k:
                wrong.append((number, k, "y"))

    settled(count)
    settled(fill, qd.ndarray(qd.f32, 3), 1.0)
    settled(put, qd.ndarray(qd.i64, 3), 0, 1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    assert shared[None] == 2 + 4 * 150


def test_the_last_launch_is_known_whoever_made_it() -> None:
    x = qd.ndarray(qd.i64, 3)
    settled(put, x, 0, 1)
    device = qd.kernels.kernel.state.active().backend
    (specialisation,) = specialisations(put)
    plan, numbers = specialisation.plan, []
    for k in range(4):
        put(x, k % 3, k)
        numbers.append(plan.number)
        assert list(plan.scalars) == [k % 3, k]
    put(x, np.int64(2), 11)
    numbers.append(plan.number)
    assert list(plan.scalars) == [2, 11]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == device.launches


def test_what_is_outside_is_raised_later_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())

    @qd.kernel
    def put(i: qd.i32):
        x[i] = 7

    @qd.kernel
    def after():
        out[None] += 1

    settled(put, 1)
    for look in (qd.sync, x.to_numpy):
        by_machine_code(lambda: put(8), monkeypatch, times=1)
        after()
        with pytest.raises(qd.AdstackOutOfBoundsError, match=r"at \(8\), outside its extents \(8\)"):
            look()
        qd.sync()
    assert x.to_numpy().tolist() == [0, 7, 0, 0, 0, 0, 0, 0]
    assert out[None] == 2


def test_what_is_outside_is_raised_though_the_kernel_is_gone() -> None:
    x = qd.field(qd.i32, shape=8)

    def launched() -> Any:
        @qd.kernel
        def put(i: qd.i32):
            x[i] = 7

        return put

    put = launched()
    put(8)
    del put
    gc.collect()
    with pytest.raises(qd.AdstackOutOfBoundsError):
        qd.sync()
    qd.sync()
