"""Launches on Vulkan: memory, batches, results, prints, errors, options; in the language as users write it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from vulkan_kit import backend

import adstack as qd
from adstack.errors import AdstackMemoryError, BackendUnavailableError
from adstack.ir.types import f32, i32, u8


@pytest.fixture
def vulkan():
    qd.init(arch=qd.vulkan)
    yield
    qd.reset()


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    import os

    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120
    )


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


MANY = """
import resource
import adstack as qd
qd.init(arch=qd.vulkan)
x = qd.field(qd.i32, shape=())

@qd.kernel
def step():
    x[None] += 1

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for _ in range(2000):
    step()
qd.sync()
before = peak()
for _ in range(20000):
    step()
assert x[None] == 22000
print(peak() - before)
"""


def test_launches_leave_nothing_behind():
    done = run(MANY)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2000


SAY = "import adstack as qd, json; from adstack import inspection; found = inspection.probe('vulkan'); "


class TestAbsence:
    def test_without_a_driver_it_says_so(self, tmp_path):
        none = tmp_path / "none.json"
        none.write_text("{}")
        code = SAY + "print(json.dumps([type(found).__name__, found.reason, found.fix]))"
        done = run(code, VK_ICD_FILENAMES=str(none), VK_DRIVER_FILES=str(none))
        name, reason, fix = json.loads(done.stdout)
        assert name == "Unavailable"
        assert reason
        assert "mesa-vulkan-drivers" in fix

    def test_a_device_that_is_not_there_is_named_with_those_that_are(self):
        code = SAY + "print(json.dumps([found.reason, found.fix]))"
        reason, fix = json.loads(run(code, ADSTACK_VULKAN_DEVICE="mainframe").stdout)
        assert reason == "ADSTACK_VULKAN_DEVICE is 'mainframe', and no device has that number or name"
        assert fix.startswith("choose one of 0: ")

    def test_a_device_is_chosen_by_number_or_part_of_its_name(self):
        whole = backend().capabilities.device
        for wanted in ("0", whole[:6].upper()):
            assert run(SAY + "print(found.device)", ADSTACK_VULKAN_DEVICE=wanted).stdout.strip() == whole

    def test_without_the_package_it_says_what_to_install(self):
        code = "import sys; sys.modules['vulkan'] = None; " + SAY + "print(found.fix)"
        assert run(code).stdout.strip() == "pip install 'adstack[vulkan]'"


def test_what_a_device_does_not_keep_is_refused_by_name():
    import dataclasses

    device = backend()
    poor = dataclasses.replace(device.capabilities, dtypes=(f32, i32))
    other = type(device)(poor, device._shared)
    with pytest.raises(BackendUnavailableError, match="does not keep u8 in memory"):
        other.allocate(u8, (3,))


def test_the_validation_layer_has_nothing_to_say():
    code = """
import adstack as qd
qd.init(arch=qd.vulkan, debug=DEBUG)
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
print("done")
"""
    for debug in ("True", "False"):
        done = run(code.replace("DEBUG", debug), ADSTACK_VULKAN_VALIDATION="1")
        assert done.stdout == "done\n", done.stdout + done.stderr


def test_two_processes_at_once():
    code = MANY.replace("20000", "500").replace("22000", "2500")
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    for process in both:
        process.communicate()
