"""What is dropped gives its memory back: on every backend, while launches are under way, and where memory is short."""

from __future__ import annotations

import gc
import linecache
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_kit import ARCHES, device_bytes
from specialisation_kit import specialisations

import adstack as qd
from adstack.errors import AdstackMemoryError
from adstack.frontend.syntax.source import source_of
from adstack.runtime import state

KIB = 1024 // 4
"""Elements of f32."""
pytestmark = pytest.mark.usefixtures("host_plays_cuda")


@pytest.fixture
def host_plays_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


@pytest.fixture(params=ARCHES)
def arch(request: Any) -> Any:
    qd.init(arch=getattr(qd, request.param), offline_cache=False)
    return getattr(qd, request.param)


@qd.kernel
def fill(x: qd.types.ndarray(qd.f32, 1), value: qd.f32):
    for i in x:
        x[i] = value


@qd.kernel
def collect(x: qd.types.ndarray(qd.f32, 1), total: qd.types.ndarray(qd.f32, 1)):
    for i in x:
        total[i] += x[i]


def test_arrays_that_are_dropped_take_no_memory(arch: Any):
    for needs_grad in (False, True):
        fill(qd.ndarray(qd.f32, 4, needs_grad=needs_grad), 1.0)
    gc.collect()
    taken = device_bytes()
    before, most = taken(), 0
    for number in range(150):
        x = qd.ndarray(qd.f32, 16 * KIB, needs_grad=number % 2 == 0)
        fill(x, 1.0)
        if number % 25 == 0:
            most = max(most, taken() - before)
    del x
    gc.collect()  # an array and its gradient know each other
    assert most < 100 * 16 * 1024
    assert taken() == before


def test_fields_that_are_dropped_take_no_memory(arch: Any):
    taken = device_bytes()
    before = taken()
    for _ in range(100):
        x = qd.field(qd.f32, 16 * KIB)
        x[5] = 1.0
        assert x[5] == 1.0
    del x
    gc.collect()
    assert taken() == before


def test_copies_of_arguments_go_with_the_call(arch: Any):
    array = np.zeros(4 * KIB, np.float32)
    fill(array, 1.0)
    taken = device_bytes()
    before = taken()
    for number in range(50):
        fill(array, float(number))
    assert array[7] == 49.0
    assert taken() == before


def test_what_launches_under_way_use_is_not_given_to_others(arch: Any):
    total = qd.ndarray(qd.f32, 4 * KIB)
    for number in range(100):
        x = qd.ndarray(qd.f32, 4 * KIB)
        fill(x, float(number))
        collect(x, total)
        del x  # nobody has waited
        other = qd.ndarray(qd.f32, 4 * KIB)
        other.fill(-1.0)
        fill(other, -2.0)
        del other
    assert (total.to_numpy() == sum(range(100))).all()


def test_garbage_is_collected_before_memory_is_refused(arch: Any):
    qd.init(arch=arch, offline_cache=False, device_memory_GB=1 / 1024)
    gc.disable()
    try:
        for number in range(3):
            x: list[Any] = [qd.ndarray(qd.u8, 700_000)]
            x.append(x)
            x[0][3] = number
            assert x[0][3] == number
            del x
    finally:
        gc.enable()


def test_a_device_that_is_full_gives_back_what_is_garbage(arch: Any, monkeypatch: pytest.MonkeyPatch):
    backend: Any = state.current().backend
    taken = device_bytes()
    before = taken()

    def scarce(dtype: Any, shape: Any) -> Any:
        if taken() - before > 100_000:
            raise AdstackMemoryError("no memory")
        return allocate(dtype, shape)

    allocate = backend.allocate
    monkeypatch.setattr(backend, "allocate", scarce)
    gc.disable()
    try:
        for _ in range(2):
            x: list[Any] = [qd.ndarray(qd.u8, 150_000)]
            x.append(x)
            del x
        kept = qd.ndarray(qd.u8, 150_000)
        with pytest.raises(AdstackMemoryError):
            qd.ndarray(qd.u8, 150_000)
        assert kept[0] == 0
    finally:
        gc.enable()


def test_init_and_reset_leave_nothing(arch: Any):
    taken = device_bytes()
    before = taken() if arch in (qd.vulkan,) else None
    for _ in range(4):
        qd.init(arch=arch, offline_cache=False)
        taken = device_bytes()
        x, y = (qd.field(qd.f32, 64, needs_grad=True) for _ in range(2))
        n = qd.field(qd.i32, ())
        n[None] = 50

        @qd.kernel
        def run(x: qd.template(), y: qd.template(), n: qd.template()):
            for i in x:
                v = x[i]
                for _ in range(n[None]):
                    v = qd.sin(v)
                y[i] = v

        run(x, y, n)
        run.grad(x, y, n)
    qd.reset()
    gc.collect()
    if before is not None:
        assert taken() <= before  # less, where what other tests left has gone meanwhile


@qd.kernel
def double(x: qd.template()):
    for i in x:
        x[i] = x[i] * 2.0


@qd.kernel
def wave(x: qd.template(), y: qd.template(), n: qd.template()):
    for i in x:
        v = x[i]
        for _ in range(n[None]):
            v = qd.sin(v)
        y[i] = v


@pytest.fixture
def without_collector() -> Iterator[None]:
    """What goes, goes by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_fields_that_were_template_arguments_go_with_what_was_compiled_for_them(arch: Any, without_collector: None):
    taken = device_bytes()
    before = taken()
    for number in range(12):
        x = qd.field(qd.f32, 4 * KIB)
        for _ in range(3):
            x[5] = number
            double(x)  # machine code serves the last of them
            assert x[5] == 2 * number
        refs = weakref.ref(x), weakref.ref(x.buffer)
        assert len(specialisations(double)) == 1
        del x
        assert [one() for one in refs] == [None, None]
    assert len(specialisations(double)) == 0
    assert taken() == before


def test_so_do_those_of_gradients(arch: Any, without_collector: None):
    taken = device_bytes()
    before = taken()
    for _ in range(3):
        x, y = (qd.field(qd.f32, 64, needs_grad=True) for _ in range(2))
        n = qd.field(qd.i32, ())
        n[None], x[3] = 5, 0.5
        for _ in range(3):
            y.grad.fill(1.0)
            x.grad.fill(0.0)
            wave(x, y, n)
            wave.grad(x, y, n)
            assert 0.5 < x.grad[3] < 1.0
        refs = weakref.ref(x), weakref.ref(x.grad.buffer), weakref.ref(n.buffer)
        del x, y, n
        assert [one() for one in refs] == [None] * 3
    assert len(specialisations(wave)) == 0
    state.current().backend.heap.drop() if arch is qd.cuda else None
    if arch is not qd.vulkan:  # whose heap stays until reset()
        assert taken() == before


class Owner:
    def __init__(self) -> None:
        self.x = qd.field(qd.f32, KIB)
        self.factor = 2.0

    @qd.kernel
    def scale(self):
        for i in self.x:
            self.x[i] = self.x[i] * self.factor


def test_an_object_takes_its_fields_along_and_so_does_a_field_that_it_replaces(arch: Any, without_collector: None):
    taken = device_bytes()
    before = taken()
    for _ in range(3):
        owner = Owner()
        for turn in range(3):
            owner.x[1] = 3.0
            owner.scale()
            owner.scale()
            assert owner.x[1] == 12.0
            ref = weakref.ref(owner.x.buffer)
            owner.x = qd.field(qd.f32, KIB)
            assert ref() is None, turn
        owner.scale()
        object_known = weakref.ref(owner)
        del owner
        assert object_known() is None
    assert len(specialisations(Owner.scale)) == 0
    assert taken() == before


def test_tuples_of_fields_and_tensors_do_too(arch: Any, without_collector: None):
    @qd.kernel
    def add(pair: qd.template(), out: qd.Tensor):
        for i in out:
            out[i] = pair[0][i] + pair[1][i]

    x, y, out = (qd.field(qd.f32, KIB) for _ in range(3))
    x[2], y[2] = 3.0, 4.0
    for _ in range(3):
        add((x, y), out)
    assert out[2] == 7.0
    ref = weakref.ref(y)
    del y
    assert ref() is None
    assert len(specialisations(add)) == 0


def test_a_kernel_keeps_what_it_names_itself(arch: Any):
    def made() -> Any:
        x = qd.field(qd.f32, 4)

        @qd.kernel
        def count() -> qd.f32:
            x[0] += 1.0
            return x[0]

        return count

    count = made()
    gc.collect()
    assert [count() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_an_object_where_another_one_was_is_not_taken_for_it(arch: Any):
    """Objects come back at the same address, and machine code knows objects by their addresses."""
    addresses = set()
    for number in range(1, 12):
        x = qd.field(qd.i32, 4)
        for _ in range(3):
            double_integers(x, number)
        assert x[2] == 3 * number
        addresses.add(id(x))
        del x
    assert len(addresses) < 11


@qd.kernel
def double_integers(x: qd.template(), n: qd.i32):
    for i in x:
        x[i] += n


def test_a_tape_keeps_what_it_has_to_differentiate(arch: Any):
    x, loss = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.fill(0.5)

    @qd.kernel
    def square(a: qd.template(), b: qd.template()):
        for i in a:
            b[i] = a[i] * a[i]

    @qd.kernel
    def total(a: qd.template(), loss: qd.template()):
        for i in a:
            loss[None] += a[i]

    with qd.ad.Tape(loss):
        y = qd.field(qd.f32, 4, needs_grad=True)
        square(x, y)
        total(y, loss)
        del y
        gc.collect()
    assert x.grad.to_numpy().tolist() == [1.0] * 4
    gc.collect()
    assert len(specialisations(total)) == 0


def test_in_debug_mode_nothing_is_remembered_of_fields_that_are_gone(arch: Any):
    qd.init(arch=arch, debug=True, offline_cache=False)
    refs = []
    for _ in range(4):
        x, y = (qd.field(qd.f32, 16, needs_grad=True) for _ in range(2))
        n = qd.field(qd.i32, ())
        n[None] = 2
        wave(x, y, n)
        refs.append(weakref.ref(x.buffer))
        del x, y, n
    gc.collect()
    assert [one() for one in refs[:3]] == [None] * 3


def test_what_was_compiled_goes_with_the_kernel(arch: Any):
    x = qd.ndarray(qd.f32, 16)
    refs = []
    for number in range(6):

        @qd.kernel
        def add(x: qd.types.ndarray(qd.f32, 1), n: qd.f32):
            for i in x:
                x[i] += n

        for _ in range(3):
            add(x, float(number))
        (specialisation,) = specialisations(add)
        refs.append(weakref.ref(specialisation.plan))
        del specialisation, add
    gc.collect()
    qd.sync()
    assert x[3] == 45.0
    assert [one() for one in refs] == [None] * 6


def kernel_of(number: int, folder: Path) -> Any:
    """A kernel that no other is like, from a file of its own that nobody keeps."""
    path = folder / f"kernel_{number}.py"
    path.write_text(
        f"@qd.kernel\ndef k(x: qd.types.ndarray(qd.f32, 1)):\n    for i in x:\n        x[i] += {number}.25\n"
    )
    names: dict[str, Any] = {"qd": qd}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["k"]


def test_what_was_read_of_a_kernel_goes_with_its_code(arch: Any, tmp_path: Path) -> None:
    kernel = kernel_of(1, tmp_path)
    kernel(qd.ndarray(qd.f32, 4))
    read = weakref.ref(source_of(kernel.function).node)
    assert read() is not None
    del kernel
    qd.reset()
    gc.collect()
    assert read() is None


@pytest.mark.alone
def test_kernels_that_are_dropped_leave_next_to_nothing(tmp_path: Path) -> None:
    taken = []
    for number in range(401):
        if number % 40 == 0:
            qd.init(arch=qd.cpu, offline_cache=False)
            gc.collect()
            taken.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        kernel_of(number, tmp_path)(np.zeros(4, np.float32))
        linecache.cache.pop(str(tmp_path / f"kernel_{number}.py"))
    assert taken[-1] - taken[3] < 280 * 5 * 1024
