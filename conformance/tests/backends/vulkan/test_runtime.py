"""Launches on Vulkan: memory, batches, results, prints, errors, options; in the language as users write it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from vulkan_kit import backend, run, shared_of

import adstack as qd
from adstack.backends.vulkan import layout, transfers
from adstack.backends.vulkan.driver.api import ffi
from adstack.errors import AdstackMemoryError, BackendUnavailableError, InternalError
from adstack.ir.types import f32, i32, i64, u8


@pytest.fixture
def vulkan():
    qd.init(arch=qd.vulkan)
    yield
    qd.reset()


@pytest.mark.usefixtures("vulkan")
class TestLaunches:
    def test_many_launches_are_run_in_order(self):
        x = qd.field(qd.i64, shape=())

        @qd.kernel
        def step(a: qd.i64):
            x[None] = x[None] * 3 + a

        want = 0
        for k in range(1500):
            step(k)
            want = (want * 3 + k) % 2**64
        assert x[None] % 2**64 == want

    def test_a_result_waits_for_its_launch(self):
        x = qd.field(qd.f64, shape=100)

        @qd.kernel
        def total(a: qd.f64) -> qd.f64:
            for i in x:
                x[i] = a
            s = qd.f64(0)
            for _ in range(1):
                for i in range(100):
                    s += x[i]
            return s

        assert total(0.5) == 50.0
        assert total(2.0) == 200.0

    def test_a_loop_without_iterations_dispatches_nothing(self):
        x = qd.field(qd.i32, shape=4)

        @qd.kernel
        def k(n: qd.i32):
            for i in range(n):
                x[i] += 1

        batch = backend().device.submitted
        k(0)
        k(-5)
        qd.sync()
        assert backend().device.submitted <= batch + 1
        k(3)
        assert x.to_numpy().tolist() == [1, 1, 1, 0]

    def test_extents_that_only_the_device_knows(self):
        n, x = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=100_000)

        @qd.kernel
        def k():
            n[None] = n[None] * 2
            for i in range(n[None]):
                x[i] += i

        n[None] = 50_000
        k()
        assert (x.to_numpy() == np.arange(100_000)).all()

    def test_more_iterations_than_threads(self):
        x = qd.field(qd.i32, shape=(700, 701))

        @qd.kernel
        def k():
            for i, j in x:
                x[i, j] = i * 1000 + j

        k()
        want = np.arange(700)[:, None] * 1000 + np.arange(701)
        assert (x.to_numpy() == want).all()

    def test_scalars_of_every_kind_arrive(self):
        y = qd.field(qd.f64, shape=3)

        @qd.kernel
        def k(a: qd.i64, b: qd.f32, c: qd.u8):
            y[0], y[1], y[2] = a, b, c

        k(-(2**40), -0.1, 255)
        assert y.to_numpy().tolist() == [-(2.0**40), float(np.float32(-0.1)), 255.0]

    def test_gradients_flow(self):
        x, y = qd.field(qd.f32, shape=64, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
        n = qd.field(qd.i32, shape=())

        @qd.kernel
        def k():
            for i in x:
                v = x[i]
                for _ in range(n[None]):
                    v = v * v
                y[None] += v

        x.fill(2.0)
        n[None] = 3
        y.grad[None] = 1
        k()
        k.grad()
        assert y[None] == 64 * 256
        assert (x.grad.to_numpy() == 8 * 2.0**7).all()
        n[None] = 2
        x.grad.fill(0)
        k()
        y.grad[None] = 1
        k.grad()
        assert (x.grad.to_numpy() == 4 * 2.0**3).all()


class TestWords:
    def test_prints_come_in_the_order_of_serial_code(self, capsys):
        qd.init(arch=qd.vulkan)

        @qd.kernel
        def k(n: qd.i32):
            for _ in range(1):
                for i in range(n):
                    print("i =", i, 0.1 * i)

        k(3)
        assert capsys.readouterr().out == "i = 0 0.0\ni = 1 0.1\ni = 2 0.2\n"
        qd.reset()

    def test_more_than_fits_is_an_error_and_the_next_launch_prints(self, capsys):
        qd.init(arch=qd.vulkan)

        @qd.kernel
        def k(n: qd.i32):
            for i in range(n):
                print(i)

        with pytest.raises(RuntimeError, match="printed more than fits"):
            k(100_000)
        k(1)
        assert capsys.readouterr().out == "0\n"
        qd.reset()

    def test_an_index_out_of_bounds_ends_the_launch_and_names_the_iteration(self):
        qd.init(arch=qd.vulkan, debug=True)
        x, y = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=())

        @qd.kernel
        def k(at: qd.i32):
            for i in range(4):
                x[i + at] = 1
            y[None] = 1

        with pytest.raises(IndexError, match=r"at \(4\), outside its extents \(4\), in iteration \(3\)"):
            k(1)
        assert y[None] == 0
        k(0)
        assert y[None] == 1
        qd.reset()


class TestMemory:
    def test_what_was_freed_is_used_again_and_zero(self):
        device = backend()
        kept = device.memory.used
        for _ in range(200):
            piece = device.allocate(i32, (1000, 1000))
            device.upload(piece, np.ones((1000, 1000), np.int32))
            device.free(piece)
        assert device.memory.used == kept
        piece = device.allocate(i32, (1000, 1000))
        assert not device.download(piece).any()
        device.free(piece)

    def test_pieces_do_not_overlap(self):
        device = backend()
        rng = np.random.default_rng(1)
        held = []
        for turn in range(300):
            if held and rng.random() < 0.4:
                device.free(held.pop(int(rng.integers(len(held))))[0])
            else:
                piece = device.allocate(u8, (int(rng.integers(1, 70_000)),))
                device.upload(piece, np.full(piece.shape, turn % 251, np.uint8))
                held.append((piece, turn % 251))
        assert all((device.download(piece) == number).all() for piece, number in held)
        for piece, _ in held:
            device.free(piece)

    def test_more_than_there_is_is_an_error_with_a_remedy(self):
        with pytest.raises(AdstackMemoryError, match="bytes are in use") as caught:
            backend().allocate(f32, (1 << 50,))
        assert "smaller shape" in str(caught.value)
        piece = backend().allocate(f32, (4,))
        backend().free(piece)

    def test_memory_that_the_host_does_not_see_is_copied(self, monkeypatch):
        device = backend()
        monkeypatch.setattr(device.memory, "mapped", False)
        piece = device.allocate(f32, (1000,))
        assert piece.block.host is None
        assert device.host_view(piece) is None
        assert not device.download(piece).any()
        values = np.arange(1000, dtype=np.float32)
        device.upload(piece, values)
        assert (device.download(piece) == values).all()
        device.free(piece)

    @pytest.mark.parametrize("shown", [True, False])
    def test_large_memory_behind_a_bus_is_copied_by_the_device_in_steps(self, shown, monkeypatch):
        device = backend()
        monkeypatch.setattr(device.memory, "mapped", shown)
        monkeypatch.setattr(transfers, "_STEP", 4096)
        piece = device.allocate(i64, (3001,))
        assert (piece.block.host is not None) == shown
        monkeypatch.setattr(piece.block, "cached", False)
        assert device.host_view(piece) is None
        values = np.arange(3001)
        device.upload(piece, values)
        assert (device.download(piece) == values).all()
        assert device.download_at(piece, 1000, 2).tolist() == [1000, 1001]
        assert device.download_at(piece, 700, 2000).tolist() == values[700:2700].tolist()
        device.upload_at(piece, 2999, np.array([-1, -2]))
        device.upload_at(piece, 1, -values[1:1001])
        values[2999:], values[1:1001] = [-1, -2], -values[1:1001]
        assert (device.download(piece) == values).all()
        device.free(piece)
        device.synchronize()
        again, small = device.allocate(i64, (3001,)), device.allocate(f32, (16,))
        assert (again.block, small.block, again.offset) == (piece.block, piece.block, piece.offset)
        assert not device.download(again).any()
        assert (device.host_view(small) is not None) == shown
        device.free(again)
        device.free(small)


MANY = """
import resource
import adstack as qd
qd.init(arch=qd.vulkan)
x, y = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

@qd.kernel
def step():
    x[None] += 1

@qd.kernel
def spread():
    for i in y:
        y[i] += 1

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def turn(count):
    for _ in range(count):
        step()
        step()
        step()
        spread()
    qd.sync()

turn(1000)
before = peak()
turn(25000)
assert x[None] == 78000
assert y[2] == 26000
print(peak() - before)
"""


def test_launches_leave_nothing_behind():
    done = run(MANY)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2000


class TestFailures:
    @pytest.fixture
    def step(self):
        qd.init(arch=qd.vulkan)
        x = qd.field(qd.i32, shape=5)

        @qd.kernel
        def step():
            for i in x:
                x[i] += 1

        step()
        assert x.to_numpy().tolist() == [1] * 5
        yield step
        qd.reset()

    @pytest.mark.parametrize("function", ["vkQueueSubmit", "vkWaitSemaphores"])
    def test_a_lost_device_is_an_error_wherever_it_is_noticed(self, step, function, monkeypatch):
        with monkeypatch.context() as lost:
            lost.setitem(backend().device.vk, function, lambda *rest: -4)
            for _ in range(2):
                step()
                with pytest.raises(RuntimeError, match="the device was lost") as caught:
                    qd.sync()
                assert "start Python again" in str(caught.value)
        step()
        qd.sync()

    @pytest.mark.parametrize("result", [-1, -2])
    def test_memory_that_the_driver_refuses_is_an_error_and_nothing_is_taken(self, result, monkeypatch):
        device = backend()
        before = device.memory.taken, device.memory.used
        with monkeypatch.context() as full:
            full.setitem(device.device.vk, "vkAllocateMemory", lambda *rest: result)
            with pytest.raises(AdstackMemoryError, match="bytes are in use"):
                device.allocate(u8, (64 << 20,))
        assert (device.memory.taken, device.memory.used) == before
        piece = device.allocate(u8, (64 << 20,))
        device.free(piece)
        device.synchronize()
        assert (device.memory.taken, device.memory.used) == before

    @pytest.mark.usefixtures("vulkan")
    def test_memory_of_the_process_that_the_driver_does_not_take_is_the_drivers(self, monkeypatch):
        refused: list[object] = []
        monkeypatch.setattr(layout, "imported", lambda *rest: refused.append(rest))
        x = qd.field(qd.i32, 8 << 20)
        assert not x.buffer.is_by_page
        assert len(refused) == 1
        x.fill(3)
        assert x[(8 << 20) - 1] == 3

    @pytest.mark.parametrize("address", [0, 2**64 - 1])
    def test_memory_that_the_driver_maps_nowhere_is_an_error_and_given_back(self, address, monkeypatch):
        device = backend()
        vk, before = device.device.vk, (device.memory.taken, device.memory.used)
        freed: list[object] = []

        def mapped(*rest: Any) -> int:
            rest[-1][0] = ffi().cast("void *", address)
            return 0

        def free(handle: object, memory: object, allocator: object) -> None:
            freed.append(memory)
            original(handle, memory, allocator)

        with monkeypatch.context() as full:
            full.setattr(device.device, "imports", False)
            original = vk["vkFreeMemory"]
            full.setitem(vk, "vkMapMemory", mapped)
            full.setitem(vk, "vkFreeMemory", free)
            with pytest.raises(AdstackMemoryError, match="can't be mapped to addresses of this process"):
                device.allocate(u8, (64 << 20,))
        assert len(freed) == 1
        assert (device.memory.taken, device.memory.used) == before

    def test_a_kernel_that_the_driver_refuses_is_an_error_and_others_still_run(self, step, monkeypatch):
        @qd.kernel
        def other():
            for i in range(3):
                print(i)

        with monkeypatch.context() as refusing:
            refusing.setitem(backend().device.vk, "vkCreateComputePipelines", lambda *rest: -13)
            with pytest.raises(RuntimeError, match="the Vulkan driver refuses the code of other"):
                other()
        step()
        qd.sync()

    def test_what_the_validation_layer_finds_is_raised_by_whoever_waits(self, step):
        messages = backend().device.instance.messages
        messages.append("something is wrong")
        with pytest.raises(InternalError, match="validation layer found: something is wrong"):
            qd.sync()
        assert messages == []
        step()
        qd.sync()


def test_what_a_device_does_not_keep_is_refused_by_name():
    device = backend()
    poor = replace(device.capabilities, dtypes=(f32, i32))
    other = type(device)(poor, shared_of(device))
    with pytest.raises(BackendUnavailableError, match="does not keep u8 in memory"):
        other.allocate(u8, (3,))


LISTENED = """
import adstack as qd
for debug in (True, False):
    qd.init(arch=qd.vulkan, debug=debug)
    x, y = qd.field(qd.f32, shape=64, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    n = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in x:
            v = x[i] * 0.5
            for _ in range(n[None]):
                v = qd.sin(v)
            y[None] += v

    n[None] = 5
    y.grad[None] = 1
    k()
    k.grad()
    k.grad()
    x.to_numpy()
    qd.sync()
    qd.reset()
print("done")
"""


@pytest.mark.validation_layer
def test_the_validation_layer_has_nothing_to_say():
    done = run(LISTENED, ADSTACK_VULKAN_VALIDATION="1")
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_two_processes_at_once():
    code = MANY.replace("25000", "500").replace("78000", "4500").replace("26000", "1500")
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    for process in both:
        process.communicate()
