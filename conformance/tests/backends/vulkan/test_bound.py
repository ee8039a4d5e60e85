"""Launches on a device without buffer device addresses: blocks of memory are bound instead."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType

import pytest
from vulkan_kit import backend, bound

import adstack as qd
from adstack.backends.vulkan.bound import BoundStream
from adstack.backends.vulkan.codegen import LOCAL_SIZE, most_groups
from adstack.backends.vulkan.layout import ALIGNMENT
from adstack.backends.vulkan.runtime import VulkanBackend
from adstack.errors import AdstackAssertionError, AdstackMemoryError, BackendUnavailableError
from adstack.ir.types import ALL, f32
from adstack.runtime.adstack_report import TaskRow

BLOCK = 16 << 20


@pytest.fixture
def vulkan(monkeypatch: pytest.MonkeyPatch) -> Iterator[VulkanBackend]:
    monkeypatch.setenv("ADSTACK_VULKAN_ADDRESSES", "0")
    qd.init(arch=qd.vulkan)
    yield bound()
    qd.reset()


def limited(monkeypatch: pytest.MonkeyPatch, device: VulkanBackend, **limits: int) -> None:
    """Have the device say that it can do less."""
    physical = device.device.physical
    monkeypatch.setattr(device.device, "physical", replace(physical, limits={**physical.limits, **limits}))


# ---- which way


def test_the_way_is_chosen_by_the_device_and_told():
    ways = [device.capabilities.details["memory"] for device in (backend(), bound())]
    assert ways[0] == "by buffer device addresses"
    most = bound().device.physical.limits["range"]
    assert ways[1].startswith("by bindings of storage buffers: at most ")
    assert ways[1].endswith(f"each of at most {most} bytes")
    assert isinstance(bound().stream, BoundStream)
    assert not isinstance(backend().stream, BoundStream)


def test_both_ways_have_devices_and_files_of_their_own():
    devices = backend().device, bound().device
    assert devices[0].handle != devices[1].handle
    assert devices[0].physical.identity != devices[1].physical.identity  # what is known of rounding may differ


# ---- what is bound


def test_pieces_of_one_block_are_told_apart(vulkan):
    fields = [qd.field(dtype, shape=5) for dtype in ALL]

    @qd.kernel
    def k(a: qd.i32):
        for i in range(5):
            for n in qd.static(range(len(fields))):
                fields[n][i] = (i + n + a) % 2

    for a in (0, 1):
        k(a)
        for n, one in enumerate(fields):
            assert one.to_numpy().astype(int).tolist() == [(i + n + a) % 2 for i in range(5)]
    pieces = [vulkan.allocate(f32, (3,)) for _ in range(4)]
    assert len({piece.block for piece in pieces}) == 1
    assert len({piece.address for piece in pieces}) == 4
    assert all(piece.address % 2**32 == piece.offset for piece in pieces)
    pieces.append(vulkan.allocate(f32, (BLOCK // 4 + 1,)))
    assert pieces[-1].offset == 0
    assert all(piece.address and piece.offset % ALIGNMENT == 0 for piece in pieces)  # 0 would be no memory
    for piece in pieces:
        vulkan.free(piece)


@pytest.mark.usefixtures("vulkan")
def test_two_arguments_may_be_one_array():
    @qd.kernel
    def k(a: qd.types.ndarray(qd.f32, ndim=1), b: qd.types.ndarray(qd.f32, ndim=1)):
        for _ in range(1):
            for i in range(1, 8):
                a[i] = b[i - 1] + 1
                b[i] = a[i] * 2

    one = qd.ndarray(qd.f32, shape=8)
    k(one, one)
    want = [0.0]
    for _ in range(7):
        want.append((want[-1] + 1) * 2)
    assert one.to_numpy().tolist() == want
    other = qd.ndarray(qd.f32, shape=8)
    k(one, other)
    assert one.to_numpy()[1:].tolist() == [other.to_numpy()[i] + 1 for i in range(7)]


def test_arrays_of_several_blocks_are_bound_in_turn(vulkan):
    @qd.kernel
    def k(a: qd.types.ndarray(qd.i32, ndim=1), v: qd.i32):
        for i in range(4):
            a[i + a.shape[0] - 4] += v + i

    arrays = [qd.ndarray(qd.i32, shape=n) for n in (4, BLOCK // 4 + 64, 8, BLOCK // 4 + 128)]
    for turn in range(3):
        for n, array in enumerate(arrays):
            k(array, 10 * n + turn)
    for n, array in enumerate(arrays):
        assert array.to_numpy()[-4:].tolist() == [3 * (10 * n + i) + 3 for i in range(4)]
    sets = vulkan.stream.sets.in_use()
    for n, array in enumerate(arrays):
        k(array, n)
    qd.sync()
    assert vulkan.stream.sets.in_use() == sets  # all of them were there


def wrapped(number: int) -> int:
    """As 64 bits hold it."""
    return (number + 2**63) % 2**64 - 2**63


@qd.kernel
def mix(a: qd.types.ndarray(qd.i64, ndim=1), b: qd.types.ndarray(qd.i64, ndim=1), by: qd.i64):
    for i in range(5):
        a[i] = a[i] * 3 + b[i] + by


@dataclass
class Arrays:
    """Arrays, and what their first five elements are."""

    draw: random.Random
    held: list[tuple[qd.ndarray, list[int]]] = field(default_factory=list)

    def make(self) -> None:
        self.held.append((qd.ndarray(qd.i64, shape=self.draw.choice([5, 5, 300, BLOCK // 8 + 7])), [0] * 5))

    def drop(self) -> None:
        if len(self.held) > 2:
            self.held.pop(self.draw.randrange(len(self.held)))

    def launch(self) -> None:
        (a, ours), (b, theirs), by = self.draw.choice(self.held), self.draw.choice(self.held), self.draw.randrange(9)
        mix(a, b, by)
        ours[:] = [wrapped(one * 3 + other + by) for one, other in zip(ours, theirs, strict=True)]

    def read(self) -> None:
        a, ours = self.draw.choice(self.held)
        assert a.to_numpy()[:5].tolist() == ours


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("vulkan")
def test_launches_find_arrays_of_many_blocks_that_come_and_go(seed):
    arrays = Arrays(random.Random(seed))
    arrays.make()
    for _ in range(150):
        arrays.draw.choice([arrays.make, arrays.drop, arrays.launch, arrays.launch, arrays.launch, arrays.read])()
    for a, ours in arrays.held:
        assert a.to_numpy()[:5].tolist() == ours


def test_launches_of_one_task_are_one_dispatch_while_they_bind_the_same(vulkan):
    x, y = qd.field(qd.i64, shape=()), qd.field(qd.i64, shape=())

    @qd.kernel
    def step(a: qd.i64):
        x[None] = x[None] * 3 + a

    @qd.kernel
    def other():
        y[None] += x[None]

    qd.sync()
    before, want, total = vulkan.stream.state.recorded, 0, 0
    for _ in range(3):
        for k in range(20):
            step(k)
            want = (want * 3 + k) % 2**64
        other()
        total = (total + want) % 2**64
    assert (x[None] % 2**64, y[None] % 2**64) == (want, total)
    assert vulkan.stream.state.recorded == before + 6


@pytest.mark.usefixtures("vulkan")
def test_machine_code_binds_what_the_last_launch_did_and_asks_python_for_the_rest():
    x, y = qd.field(qd.i64, shape=4), qd.field(qd.i64, shape=4)

    @qd.kernel
    def short(by: qd.i64):
        for i in x:
            x[i] = x[i] * 3 + by
        for i in y:
            y[i] += x[i]

    @qd.kernel
    def serial(by: qd.i64):
        x[1] += by

    @qd.kernel
    def more(a: qd.types.ndarray(qd.i64, ndim=1)):
        for i in x:
            x[i] += a[i]

    arrays = [qd.ndarray(qd.i64, shape=n) for n in (4, BLOCK // 8 + 1)]
    for value, array in enumerate(arrays):
        array.fill(value + 1)
    ours, theirs = [0] * 4, [0] * 4
    for turn in range(40):
        serial(turn)
        serial(1)
        ours[1] += turn + 1
        short(turn)
        ours = [wrapped(one * 3 + turn) for one in ours]
        theirs = [wrapped(one + other) for one, other in zip(theirs, ours, strict=True)]
        if turn % 5 == 4:
            more(arrays[turn % 2])
            ours = [one + turn % 2 + 1 for one in ours]
    assert all(isinstance(kernel.__call__, BuiltinFunctionType) for kernel in (short, serial, more))
    assert x.to_numpy().tolist() == ours
    assert y.to_numpy().tolist() == theirs


@pytest.mark.usefixtures("vulkan")
def test_what_a_launch_reports_prints_and_draws_is_bound_as_well(capfd):
    qd.init(arch=qd.vulkan, debug=True, random_seed=3)
    x, n = qd.field(qd.f32, shape=4), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in x:
            x[i] = qd.random()
            if i == 2:
                print("at", i)
            assert n[None] < 3, "too many"

    k()
    assert capfd.readouterr().out == "at 2\n"
    assert len(set(x.to_numpy().tolist())) == 4
    n[None] = 3
    with pytest.raises(AdstackAssertionError, match="too many"):
        k()


# ---- adstacks


def gradient(lanes: int, *depths: int) -> tuple[list[list[float]], TaskRow]:
    """Of powers at 1, one after another; and the memory that the last one took."""
    x, y = qd.field(qd.f32, lanes, needs_grad=True), qd.field(qd.f32, lanes, needs_grad=True)
    n = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(n[None]):
                s = s * x[i]
            y[i] = s

    grads = []
    x.fill(1.0)
    for depth in depths:
        n[None] = depth
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k()
        k.grad()
        grads.append(sorted(set(x.grad.to_numpy().tolist())))
    return grads, k.grad.adstack_report().tasks[-1]


@pytest.mark.usefixtures("vulkan")
def test_a_heap_that_grows_is_bound_anew():
    grads, row = gradient(64, 3, 20, 200, 70)
    assert grads == [[4.0], [21.0], [201.0], [71.0]]
    assert row.lanes == 64


def test_a_heap_is_no_larger_than_what_can_be_bound(vulkan, monkeypatch):
    limited(monkeypatch, vulkan, range=BLOCK)
    grads, row = gradient(4096, 3, 8000)
    assert grads == [[4.0], [8001.0]]
    assert row.use is not None
    assert row.use.wanted == min(4096, LOCAL_SIZE * most_groups(is_cpu=True, limit=4096))
    assert row.use.bytes <= BLOCK < row.use.bytes + 2 * row.use.stride


# ---- limits


def test_a_place_beyond_what_can_be_bound_is_named(vulkan, monkeypatch):
    limited(monkeypatch, vulkan, range=BLOCK)
    small, large = qd.field(qd.f32, shape=4), qd.field(qd.f32, shape=BLOCK // 4 + 1, name="large")

    @qd.kernel
    def k():
        for i in small:
            small[i] = 5
        for i in small:
            small[i] = large[i] + 1

    with pytest.raises(AdstackMemoryError) as caught:
        k()
    assert f"field large takes {BLOCK + 4} bytes, and " in str(caught.value)
    assert f"binds at most {BLOCK} as one buffer (maxStorageBufferRange)" in str(caught.value)
    assert "split it into several" in str(caught.value)
    assert small.to_numpy().tolist() == [0.0] * 4  # nothing has run
    large.fill(2.0)  # the host reaches it all the same
    assert large.to_numpy()[-1] == 2.0


def test_an_array_beyond_what_can_be_bound_is_named_by_machine_code_too(vulkan, monkeypatch):
    limited(monkeypatch, vulkan, range=BLOCK)
    small, large = qd.ndarray(qd.i64, shape=8), qd.ndarray(qd.i64, shape=BLOCK // 8 + 1)
    for _ in range(3):
        mix(small, small, 1)
    assert isinstance(mix.__call__, BuiltinFunctionType)
    for _ in range(2):  # the first time Python looks at the array
        with pytest.raises(AdstackMemoryError, match=f"ndarray b takes .* binds at most {BLOCK} as one buffer"):
            mix(small, large, 1)
    mix(small, small, 1)
    assert small.to_numpy()[:6].tolist() == [85] * 5 + [0]


def test_a_task_with_too_many_places_is_refused_before_it_is_compiled(vulkan, monkeypatch):
    limited(monkeypatch, vulkan, buffers=4)
    a, b, c, d = (qd.field(qd.f32, shape=4, name=name) for name in "abcd")

    @qd.kernel
    def three():
        for i in a:
            a[i] = b[i] + c[i]

    @qd.kernel
    def four():
        for i in a:
            a[i] = b[i] + c[i] + d[i]

    three()
    with pytest.raises(BackendUnavailableError) as caught:
        four()
    assert "uses 5 buffers" in str(caught.value)
    assert "binds at most 4 (maxPerStageDescriptorStorageBuffers): " in str(caught.value)
    for name in "abcd":
        assert f"field {name}" in str(caught.value)
    assert "split the kernel" in str(caught.value)
