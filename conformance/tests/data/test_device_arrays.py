"""Arrays in the memory of a device are shared, not copied, in both directions; the host plays the device here.

How they are in order with streams of others, memory.streams says.
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackArgumentError, AdstackRuntimeTypeError, AdstackStaleBoundError
from adstack.runtime import state


class Foreign:
    """Somebody else's array on the device, as far as it says."""

    def __init__(self, array: np.ndarray, **changes) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self):
        about = {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.array.ctypes.data, False)}
        return {**about, "strides": self.array.strides, "version": 3, **self.changes}


pytestmark = pytest.mark.usefixtures("on_cuda_host")


@qd.kernel
def double(a: qd.types.ndarray(ndim=2)):
    for i, j in a:
        a[i, j] = a[i, j] * 2


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.int8, np.uint64])
def test_a_kernel_writes_where_the_array_is(dtype):
    array = np.arange(6, dtype=dtype).reshape(2, 3)
    double(Foreign(array))
    double(Foreign(array, strides=None))
    assert array.tolist() == [[0, 4, 8], [12, 16, 20]]


@pytest.mark.parametrize(
    ("array", "changes", "words"),
    [
        (np.zeros((4, 3), np.float32).T, {}, "not C-contiguous"),
        (np.zeros((2, 2), np.float32), {"data": (64, True)}, "read-only"),
        (np.zeros((2, 2), np.float32), {"mask": object()}, "masked"),
        (np.zeros((2, 2), np.complex64), {}, "c8"),
        (np.zeros(2, np.float32), {}, "ndim"),
    ],
)
def test_what_can_not_be_shared_is_refused(array, changes, words):
    with pytest.raises(AdstackArgumentError, match=words):
        double(Foreign(array, **changes))


def test_an_arch_whose_memory_is_the_hosts_refuses_arrays_of_devices():
    qd.init(arch=qd.cpu)
    with pytest.raises(AdstackArgumentError, match="arch cpu has none"):
        double(Foreign(np.zeros((2, 2), np.float32)))


def test_what_is_no_array_is_refused_as_before():
    with pytest.raises(AdstackRuntimeTypeError):
        double("nothing")


def test_fields_and_ndarrays_say_where_they_are():
    x, v = qd.field(qd.f32, shape=(2, 3)), qd.Vector.ndarray(4, qd.f64, shape=5)
    for data, shape, typestr in ((x, (2, 3), "<f4"), (v, (5, 4), "<f8")):
        about = data.__cuda_array_interface__
        assert (about["shape"], about["typestr"], about["strides"]) == (shape, typestr, None)
    x[1, 2] = 7
    address = x.__cuda_array_interface__["data"][0]
    assert (ctypes.c_float * 6).from_address(address)[5] == 7
    double(x_as_argument := Foreign(np.zeros((2, 3), np.float32), data=(address, False)))
    assert x[1, 2] == 14
    assert x_as_argument.array[1, 2] == 0


def test_memory_of_the_host_is_no_devices():
    qd.init(arch=qd.cpu)
    assert not hasattr(qd.field(qd.f32, shape=3), "__cuda_array_interface__")


def powers():
    """A number, where its power is stored, and a kernel whose loop is as long as an array says."""
    x, y = qd.field(qd.f32, shape=(), needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def power(trips: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for _ in range(1):
            v = x[None]
            for _ in range(trips[0]):
                v = v * x[None]
            y[None] = v

    return x, y, power


def test_what_others_write_is_seen():
    trips = qd.ndarray(qd.i32, (1,))
    x, y, power = powers()

    there = (ctypes.c_int32 * 1).from_address(trips.__cuda_array_interface__["data"][0])
    x[None] = 2
    seen = []
    for n in (1, 3, 0):
        there[0] = n
        x.grad[None], y.grad[None] = 0, 1
        power(trips)
        power.grad(trips)
        seen.append((y[None], x.grad[None]))
    assert seen == [(4, 4), (16, 32), (2, 1)]


def test_gradients_of_foreign_arrays_are_shared_too():
    class Tensor(Foreign):
        requires_grad = True
        grad = None

        def detach(self):
            return Foreign(self.array)

    array, grad = np.array([3.0, 4.0], np.float32), np.zeros(2, np.float32)
    tensor = Tensor(array)
    tensor.grad = Foreign(grad)
    y = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def squares(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            y[None] += a[i] * a[i]

    y.grad[None] = 1
    squares(tensor)
    squares.grad(tensor)
    assert y[None] == 25
    assert grad.tolist() == [6.0, 8.0]


def test_memory_lives_as_long_as_it_may_be_used():
    foreign = Foreign(np.zeros((2, 2), np.float32))
    gone = weakref.ref(foreign)
    double(foreign)
    del foreign
    gc.collect()
    assert gone() is None


class Streams:
    """torch or cupy, as far as their current stream is concerned."""

    def __init__(self, handle: int) -> None:
        stream = SimpleNamespace(cuda_stream=handle, ptr=handle)
        self.cuda = SimpleNamespace(
            is_initialized=lambda: True, current_stream=lambda: stream, get_current_stream=lambda: stream
        )


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, int | None]]:
    """Pairs of streams, of which the second was told to wait for the first; None is the default stream."""
    seen: list[tuple[int | None, int | None]] = []
    monkeypatch.setattr(state.current().backend.driver, "orders", seen)
    return seen


BOTH_WAYS = [(0x70, None), (0x71, None), (None, 0x70), (None, 0x71)]


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Streams(0x70))
    monkeypatch.setitem(sys.modules, "cupy", Streams(0x71))


def test_launches_on_foreign_arrays_are_in_order_with_current_streams(streams, orders):
    double(Foreign(np.zeros((2, 2), np.float32)))
    assert orders == BOTH_WAYS
    double(Foreign(np.zeros((2, 2), np.float32)))
    assert orders == 2 * BOTH_WAYS


@pytest.mark.parametrize("handle", [0, 1])
def test_the_default_stream_needs_no_order(monkeypatch, orders, handle):
    monkeypatch.setitem(sys.modules, "torch", Streams(handle))
    monkeypatch.setitem(sys.modules, "cupy", Streams(handle))
    double(Foreign(np.zeros((2, 2), np.float32), stream=handle))
    assert orders == []


def test_the_stream_that_an_array_names_is_waited_for(orders):
    double(Foreign(np.zeros((2, 2), np.float32), stream=0x90))
    assert orders == [(0x90, None), (None, 0x90)]


@pytest.mark.parametrize("how", ["interface", "dlpack"])
@pytest.mark.parametrize("kind", ["field", "ndarray"])
def test_memory_that_others_have_is_in_order_from_then_on_even_where_machine_code_served(streams, orders, how, kind):
    x, a = qd.field(qd.i32, shape=(2, 2)), qd.ndarray(qd.i32, (2, 2))

    @qd.kernel
    def bump():
        for i, j in x:
            x[i, j] += 1

    mine, call = (x, bump) if kind == "field" else (a, lambda: double(a))
    for _ in range(4):
        call()
    assert orders == []
    assert mine.__cuda_array_interface__ if how == "interface" else mine.__dlpack__()
    for number in range(1, 4):
        call()
        assert orders == number * BOTH_WAYS
    assert x[0, 0] == (7 if kind == "field" else 0)
    orders.clear()
    mine.to_numpy()
    mine.fill(3)
    mine[1, 1] = 4
    assert orders[: len(BOTH_WAYS)] == BOTH_WAYS
    assert len(orders) % len(BOTH_WAYS) == 0
    assert len(orders) >= 3 * len(BOTH_WAYS)


def test_gradients_and_graphs_are_in_order_too(streams, orders):
    x = qd.field(qd.f32, shape=3, needs_grad=True)
    y = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def total():
        for i in x:
            y[None] += x[i] * x[i]

    assert x.grad.__cuda_array_interface__["data"][0]
    total()
    assert orders == []
    total.grad()
    assert orders == BOTH_WAYS
    with qd.graph() as g:
        total()
        total.grad()
    for number in (2, 3, 4):
        g.launch()
        assert orders == number * BOTH_WAYS
    assert g.is_captured


@pytest.mark.parametrize("at", ["index", "id"])
def test_an_array_on_another_device_is_refused(monkeypatch, at):
    backend = state.current().backend
    monkeypatch.setattr(backend, "capabilities", dataclasses.replace(backend.capabilities, dlpack=(2, 0)))
    foreign = Foreign(np.zeros((2, 2), np.float32))
    foreign.device = SimpleNamespace(**{at: 0})
    double(foreign)
    foreign.device = SimpleNamespace(**{at: 3})
    with pytest.raises(AdstackArgumentError, match="it is on device 3, and adstack uses device 0"):
        double(foreign)


def test_a_bound_in_a_foreign_array_that_changed_before_the_gradient_is_refused():
    trips = np.array([3], np.int32)
    x, y, power = powers()

    x[None], y.grad[None] = 2, 1
    power(Foreign(trips))
    trips[0] = 2
    with pytest.raises(AdstackStaleBoundError, match="power"):
        power.grad(Foreign(trips))
    trips[0] = 3
    power.grad(Foreign(trips))
    assert x.grad[None] == 32


@pytest.mark.parametrize("by", [1, -1])
def test_calls_of_a_graph_that_may_change_a_bound_in_foreign_memory_are_checked_every_time(by):
    trips = np.array([3], np.int32)
    x, y = qd.field(qd.f32, shape=(), needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    more = qd.field(qd.i32, shape=())

    @qd.kernel
    def power(trips: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for _ in range(1):
            v = x[None]
            for _ in range(trips[0]):
                v = v * x[None]
            y[None] = v

    @qd.kernel
    def change(trips: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        trips[0] = trips[0] + more[None]

    x[None], y.grad[None] = 2, 1
    with qd.graph() as g:
        power(Foreign(trips))
        change(Foreign(trips))
        power.grad(Foreign(trips))
    g.launch()
    g.launch()
    more[None] = by
    with pytest.raises(AdstackStaleBoundError, match="power"):
        g.launch()


def test_what_may_only_be_read_is_taken_by_kernels_that_only_read_it():
    array, y = np.array([1.0, 2.0], np.float32), qd.field(qd.f32, shape=())

    @qd.kernel
    def total(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            y[None] += a[i]

    for _ in range(3):
        total(Foreign(array, data=(array.ctypes.data, True)))
    assert y[None] == 9
