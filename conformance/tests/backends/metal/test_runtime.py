"""The metal backend, with the host playing the device: what is honest about it, and that launches do what they do."""

from __future__ import annotations

import gc
import signal
import sys
import weakref

import numpy as np
import played_metal
import pytest
from sizing_kit import uneven_gradients

import adstack as qd
from adstack import inspection
from adstack.backends.metal import capability, emulator, native
from adstack.backends.metal.toolchain import host_library
from adstack.backends.shared import clang
from adstack.conformance.subjects.backends import backend_subject
from adstack.errors import InternalError
from adstack.runtime.protocol.backend import Capabilities, Unavailable


@pytest.fixture
def on_metal_host(monkeypatch):
    monkeypatch.setenv(capability.CHOICE, capability.HOST)
    qd.init(arch=qd.metal, offline_cache=False)


def test_it_is_unavailable_unless_the_host_is_asked_to_play_it(monkeypatch):
    monkeypatch.delenv(capability.CHOICE, raising=False)
    there = inspection.probe("metal")
    assert isinstance(there, Unavailable)
    assert "ADSTACK_METAL_DEVICE=host" in there.fix
    monkeypatch.setenv(capability.CHOICE, capability.HOST)
    there = inspection.probe("metal")
    assert isinstance(there, Capabilities)
    assert (there.kind, there.device) == ("emulated", "host")
    monkeypatch.setattr(capability, "compiler", lambda: None)
    there = inspection.probe("metal")
    assert isinstance(there, Unavailable)
    assert "clang" in there.fix


def test_it_is_a_subject_of_the_matrix_where_there_is_clang(monkeypatch):
    subject = backend_subject("metal:host")
    assert subject.title == ("metal", "emulated: host")
    assert {"f32", "i64"} <= set(subject.dtypes)
    assert "f64" not in subject.dtypes
    monkeypatch.setattr(capability, "compiler", lambda: None)
    subject = backend_subject("metal:host")
    assert not subject.is_available
    assert "apt-get install clang" in subject.fix


def in_memory_of_f64():
    x = qd.field(qd.f64, shape=1)

    @qd.kernel
    def k():
        x[0] = 1

    k()


def in_an_argument_of_f64():
    y = qd.field(qd.f32, shape=1)

    @qd.kernel
    def k(a: qd.f64):
        y[0] = qd.cast(a, qd.f32)

    k(0.5)


def in_an_update_of_64_bits():
    n, old = qd.field(qd.i64, shape=()), qd.field(qd.i64, shape=9)

    @qd.kernel
    def k():
        for i in range(9):
            old[i] = qd.atomic_add(n[None], qd.cast(i, qd.i64))

    k()


@pytest.mark.parametrize("number", range(3))
@pytest.mark.usefixtures("on_metal_host")
def test_it_refuses_in_the_words_that_the_matrix_knows(number):
    words, _ = capability.REFUSALS[number]
    refused = (in_memory_of_f64, in_an_argument_of_f64, in_an_update_of_64_bits)[number]
    with pytest.raises(qd.BackendUnavailableError, match=words):
        refused()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("float* p = launch.x; p[0] = 1;", "cannot initialize"),
        ("double d = 1; launch.x[0] = d;", "poisoned"),
        ("launch.x[0] = unknown(launch.x[1]);", "undeclared"),
    ],
)
def test_text_that_apples_compiler_would_refuse_is_refused(line, complaint):
    parameters = "device Launch& launch [[buffer(0)]], uint thread [[thread_position_in_grid]], uint threads"
    text = "#include <metal_stdlib>\nusing namespace metal;\nstruct Launch { device float* x; };\n"
    with pytest.raises(InternalError, match=complaint):
        host_library(f"{text}kernel void k({parameters}) {{ {line} }}\n", ["k"], keep=False)


def test_compiled_text_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(clang, "default_folder", lambda: tmp_path)
    kernel = "kernel void k(device Launch& launch, uint thread, uint threads) { launch.n = 7; }"
    text = f"#include <metal_stdlib>\nstruct Launch {{ int n; }};\n{kernel}\n"
    host_library(text, ["k"], keep=True)
    monkeypatch.setattr(clang, "_compiled", None)
    assert host_library(text, ["k"], keep=True)["grid_k"]


def logged_gradient():
    """Of a loop that overwrites its own bound: the launch logs, and counts how much room its logs want."""
    x, n = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.i32, shape=4)
    x.from_numpy(np.array([0.5, 3, -0.25, -1.5], np.float32))
    n.from_numpy(np.array([2, 0, 1, 3], np.int32))

    @qd.kernel
    def step():
        for i in x:
            for _ in range(n[i]):
                x[i] = x[i] * x[i] + 0.5
                n[i] = n[i] - 1

    x.grad.fill(1)
    step()
    step.grad()
    return x.grad.to_numpy().tobytes()


def counter():
    """A field, and a kernel that adds its argument to its element."""
    x = qd.field(qd.i32, shape=1)

    @qd.kernel
    def add(n: qd.i32):
        x[0] += n

    return x, add


@pytest.mark.usefixtures("on_metal_host")
class TestQueuedLaunches:
    """The host that plays the device runs nothing before somebody waits."""

    @pytest.fixture(autouse=True)
    def _count(self, monkeypatch):
        self.waits = []
        wait = emulator.Emulator.wait

        def counted(device, behind):
            self.waits.append(behind)
            wait(device, behind)

        monkeypatch.setattr(emulator.Emulator, "wait", counted)

    def test_each_has_arguments_of_its_own(self):
        x, add = counter()
        add(1)
        self.waits.clear()
        for number in range(100):
            add(number)
        assert not self.waits
        assert x[0] == 1 + sum(range(100))
        assert self.waits == [0]

    def test_so_many_are_under_way_at_most(self):
        x, add = counter()
        for number in range(1000):
            add(number)
        assert set(self.waits) == {4}
        assert x[0] == sum(range(1000))

    @pytest.mark.parametrize("look", ["sync", "item", "to_numpy", "put", "fill", "copy_from"])
    def test_who_looks_or_writes_waits(self, look):
        x, add = counter()
        y = qd.field(qd.i32, shape=1)
        add(3)
        if look == "sync":
            qd.sync()
            assert self.waits == [0]
        elif look == "put":
            x[0] = 5
        elif look == "fill":
            x.fill(5)
        elif look == "copy_from":
            y.copy_from(x)
            x.copy_from(y)
        elif look == "to_numpy":
            assert x.to_numpy().tolist() == [3]
        seen = x[0]
        assert seen == (5 if look in ("put", "fill") else 3)
        add(1)
        assert x[0] == seen + 1

    def test_a_result_is_waited_for(self):
        x, add = counter()

        @qd.kernel
        def doubled() -> qd.i32:
            return x[0] * 2

        add(4)
        assert doubled() == 8

    def test_memory_that_python_drops_stays_until_launches_are_over(self):
        @qd.kernel
        def number(a: qd.types.ndarray(qd.i32, ndim=1)):
            for i in a:
                a[i] = i

        first, second = (qd.ndarray(qd.i32, shape=1000) for _ in range(2))
        number(first)
        number(second)  # else the kernel would remember the first one
        memory = weakref.ref(first.buffer.storage.buffer)
        del first
        gc.collect()
        assert memory() is not None
        assert second.to_numpy().tolist() == list(range(1000))
        gc.collect()
        assert memory() is None

    def test_depths_are_looked_at_once_they_are_computed(self):
        """Sizers run before adstacks are laid out, whatever was queued before them."""
        x, y = (qd.field(qd.f32, shape=4, needs_grad=True) for _ in range(2))
        n = qd.field(qd.i32, shape=4)
        x.fill(0.5)

        @qd.kernel
        def grow():
            for i in n:
                n[i] += i

        @qd.kernel
        def step():
            for i in x:
                s = x[i]
                for _ in range(n[i]):
                    s = s * s + 0.25
                y[i] = s

        slots = []
        for _ in range(3):
            grow()
            step()
            y.grad.fill(1)
            x.grad.fill(0)
            step.grad()
            slots.append(step.grad.adstack_report(use=True).rows[0].used)
        assert slots == sorted(set(slots))

    def test_what_went_wrong_is_raised_once_where_somebody_waits(self):
        x = qd.field(qd.i32, shape=4, name="x")

        @qd.kernel
        def k(i: qd.i32):
            x[i] = 1

        k(9)
        k(2)
        with pytest.raises(qd.AdstackOutOfBoundsError, match=r"field x at \(9\)"):
            x.to_numpy()
        assert x.to_numpy().tolist() == [0, 0, 1, 0]

    def test_in_debug_mode_it_is_raised_at_the_launch(self):
        qd.init(arch=qd.metal, offline_cache=False, debug=True)
        x = qd.field(qd.i32, shape=4, name="x")

        @qd.kernel
        def k(i: qd.i32):
            x[i] = 1

        k(2)
        with pytest.raises(qd.AdstackOutOfBoundsError, match=r"field x at \(9\)"):
            k(9)

    def test_so_much_that_was_dropped_is_not_kept(self):
        x, add = counter()
        add(1)
        for _ in range(3):
            qd.ndarray(qd.f32, shape=(12 << 20,))
        assert self.waits
        assert x[0] == 1


@pytest.mark.usefixtures("on_metal_host")
class TestLaunches:
    def test_gradients_with_logs_are_the_references(self):
        qd.init(arch=qd.metal, offline_cache=False, ad_snapshot=True)
        first = logged_gradient()
        qd.init(arch=qd.reference, ad_snapshot=True)
        assert first == logged_gradient()

    def test_gradients_with_adstacks_are_the_references(self):
        first = uneven_gradients(qd.f32)
        qd.init(arch=qd.reference)
        assert first == uneven_gradients(qd.f32)

    def test_results_prints_and_arrays_of_the_host(self, capsys):
        a = np.arange(5, dtype=np.int64)

        @qd.kernel
        def k(a: qd.types.ndarray(), n: qd.i32) -> qd.f32:
            total = 0.0
            for i in range(5):
                a[i] += n
                total += a[i]
            print("sum", total)
            return total

        assert [k(a, 2), k(a, -1)] == [20.0, 15.0]
        assert a.tolist() == [1, 2, 3, 4, 5]
        assert capsys.readouterr().out == "sum 20.0\nsum 15.0\n"

    def test_what_is_out_of_bounds_is_told(self):
        x = qd.field(qd.i32, shape=4, name="x")

        @qd.kernel
        def k(i: qd.i32):
            x[i] = 1

        k(9)
        with pytest.raises(qd.AdstackOutOfBoundsError, match=r"Accessing field x at \(9\), outside its extents \(4\)"):
            qd.sync()
        k(3)
        assert x.to_numpy().tolist() == [0, 0, 0, 1]

    def test_floats_of_64_bits_are_refused_by_the_name_of_the_field(self):
        x = qd.field(qd.f64, shape=4, name="x")

        @qd.kernel
        def k():
            x[0] = 1

        with pytest.raises(qd.BackendUnavailableError, match="field x holds f64, a type that the Metal"):
            k()


class TestOnApplesSystem:
    """The calls that a device of Apple's would see, which a module in the place of pyobjc's plays."""

    @pytest.fixture(autouse=True)
    def played(self, monkeypatch):
        for name in ("Metal", "objc"):
            monkeypatch.setitem(sys.modules, name, played_metal)
        monkeypatch.setattr(native.platform, "system", lambda: "Darwin")
        monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: name)
        monkeypatch.setenv(capability.CHOICE, capability.DEFAULT)

    def test_a_device_has_to_be_asked_for(self, monkeypatch):
        monkeypatch.delenv(capability.CHOICE)
        there = inspection.probe("metal")
        assert isinstance(there, Unavailable)
        assert "ADSTACK_METAL_DEVICE=default" in there.fix

    def test_gradients_are_the_references(self):
        qd.init(arch=qd.metal, offline_cache=False)
        first = uneven_gradients(qd.f32)
        qd.init(arch=qd.reference)
        assert first == uneven_gradients(qd.f32)

    def test_threads_that_add_up_are_in_large_threadgroups(self, monkeypatch):
        device = played_metal.Device()
        monkeypatch.setattr(played_metal, "MTLCreateSystemDefaultDevice", lambda: device)
        qd.init(arch=qd.metal, offline_cache=False)
        x, y = qd.field(qd.i32, shape=300), qd.field(qd.i32, shape=())

        @qd.kernel
        def apart():
            for i in x:
                x[i] = i

        @qd.kernel
        def total():
            for i in x:
                y[None] += x[i]

        @qd.kernel
        def blocks():
            qd.loop_config(block_dim=128)
            for i in x:
                t = qd.simt.block.thread_idx()
                tile = qd.simt.block.SharedArray(128, qd.i32)
                tile[t] = x[i]
                qd.simt.block.sync()
                x[i] = tile[t ^ 1]

        apart()
        total()
        blocks()
        assert y[None] == 299 * 150
        assert x.to_numpy().tolist() == [i ^ 1 for i in range(300)]
        assert device.groups == [64, 96, 128]

    def test_what_the_device_refuses_is_told(self, monkeypatch):
        driver = native.NativeDriver()
        with pytest.raises(qd.AdstackMemoryError, match="on a played device"):
            driver.allocate(1 << 50)
        with pytest.raises(InternalError, match="no such type"):
            driver.load("nonsense", [], keep=False)

    def test_a_device_that_fails_says_so(self, monkeypatch):
        monkeypatch.setattr(played_metal.Device, "state", 5)
        qd.init(arch=qd.metal, offline_cache=False)
        x = qd.field(qd.i32, shape=4)

        @qd.kernel
        def k():
            x[0] = 1

        k()
        with pytest.raises(qd.AdstackRuntimeError, match="a played device failed: a page fault"):
            qd.sync()
        qd.sync()

    def test_a_wait_is_interrupted(self, monkeypatch):
        qd.init(arch=qd.metal, offline_cache=False)
        x, add = counter()
        add(3)
        status = played_metal.Command.status

        def interrupted(command):
            monkeypatch.setattr(played_metal.Command, "status", status)
            signal.raise_signal(signal.SIGINT)
            return 3

        monkeypatch.setattr(played_metal.Command, "status", interrupted)
        with pytest.raises(KeyboardInterrupt):
            qd.sync()
        assert x[0] == 3

    def test_launches_share_a_command_buffer_until_somebody_looks(self, monkeypatch):
        handed = []
        commit = played_metal.Command.commit
        monkeypatch.setattr(played_metal.Command, "commit", lambda self: handed.append(len(self.steps)) or commit(self))
        qd.init(arch=qd.metal, offline_cache=False)
        x, add = counter()
        for number in range(10):
            add(number)
        y = qd.field(qd.i32, shape=1)
        y[0] = 7
        assert handed == [10]
        for number in range(300):
            add(number)
        assert handed == [10, 128, 128]
        assert x[0] == sum(range(10)) + sum(range(300))
        assert handed == [10, 128, 128, 44]
        assert y[0] == 7
