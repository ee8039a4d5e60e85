"""Calls that machine code serves: the same results and errors as calls that Python serves, and nothing stale."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls_kit import by_machine_code, is_short, settled

import adstack as qd
from adstack.backends.hostcall import launching
from adstack.values.protocol import emitting

pytestmark = pytest.mark.usefixtures("on_cpu")


@qd.kernel
def fill(x: qd.types.ndarray(ndim=1), value: qd.f32):
    for i in x:
        x[i] = qd.cast(value, x.dtype)


@qd.kernel
def plus(a: qd.i32, b: qd.f64) -> qd.f64:
    return a + b


@qd.kernel
def total(x: qd.types.ndarray(dtype=qd.i32, ndim=2)) -> qd.i32:
    s = 0
    for i, j in qd.ndrange(x.shape[0], x.shape[1]):
        s += x[i, j] * (10 * i + j)
    return s


RETURNED = {
    qd.i8: -100, qd.u8: 200, qd.i16: -30000, qd.u16: 60000, qd.i32: -(2**31), qd.u32: 2**32 - 1, qd.i64: -(2**63),
    qd.u64: 2**63 - 1, qd.f32: 0.1, qd.f64: 0.1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", RETURNED, ids=str)
def test_numbers_go_in_and_come_back(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @qd.kernel
    def same(a: dtype, b: dtype) -> dtype:
        return b

    value = RETURNED[dtype]
    wanted = float(np.float32(value)) if dtype is qd.f32 else value
    zero = type(value)(0)
    settled(same, zero, value)
    for a, b, result in ((zero, value, wanted), (value, zero, zero)):
        answer = by_machine_code(lambda a=a, b=b: same(a, b), monkeypatch)
        assert (answer, type(answer)) == (result, type(result))


def test_truth_values_go_in_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    @qd.kernel
    def negated(a: qd.u1) -> qd.u1:
        return not a

    settled(negated, True)
    assert by_machine_code(lambda: [negated(True), negated(False)], monkeypatch) == [False, True]


def test_a_large_unsigned_number_is_left_to_python() -> None:
    @qd.kernel
    def same(a: qd.u64) -> qd.u64:
        return a

    settled(same, 1)
    assert same(2**64 - 1) == 2**64 - 1


def test_arrays_of_any_extent_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [qd.ndarray(qd.i32, shape) for shape in ((2, 3), (3, 2), (4, 5), (0, 3))]
    wanted = []
    for array in arrays:
        values = np.arange(array.shape[0] * array.shape[1], dtype=np.int32).reshape(array.shape)
        array.from_numpy(values)
        wanted.append(sum(int(v) * (10 * i + j) for (i, j), v in np.ndenumerate(values)))
        total(array)
    settled(total, arrays[0])
    for array, sum_ in zip(arrays, wanted, strict=True):
        assert by_machine_code(lambda array=array: total(array), monkeypatch) == sum_


def test_arrays_of_different_types_are_all_served(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [qd.ndarray(dtype, (3,)) for dtype in (qd.f32, qd.f64, qd.f16)]
    for array in arrays:
        settled(fill, array, 1.0)
    for k, array in enumerate(arrays):
        by_machine_code(lambda k=k, array=array: fill(array, k + 0.5), monkeypatch)
        assert array.to_numpy().tolist() == [k + 0.5] * 3


def test_more_kinds_of_calls_than_are_kept_are_still_served() -> None:
    @qd.kernel
    def constant(n: qd.template()) -> qd.i32:
        return n

    for _ in range(3):
        for n in range(3 * qd.kernels.kernel.MOST_SHORTCUTS):
            assert constant(n) == n


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1.5, 1.0), "Invalid value for argument a - expected a number for i32"),
        (("1", 1.0), "Invalid value for argument a"),
        ((None, 1.0), "Invalid value for argument a"),
        ((2**31, 1.0), "Invalid value for argument a - .*out of range"),
        ((-(2**31) - 1, 1.0), "out of range"),
        ((2**100, 1.0), "out of range"),
        ((1, "x"), "Invalid value for argument b"),
        ((1,), "Missing argument 'b'"),
        ((1, 2.0, 3), "Too many arguments"),
    ],
)
def test_wrong_arguments_get_the_errors_of_python(args: tuple[Any, ...], words: str) -> None:
    settled(plus, 1, 2.0)
    with pytest.raises((qd.QuadrantsRuntimeTypeError, qd.QuadrantsSyntaxError, ValueError), match=words):
        plus(*args)
    assert plus(1, 2.0) == 3.0


def test_numbers_of_other_kinds_are_converted_by_python() -> None:
    settled(plus, 1, 2.0)
    assert plus(np.int64(1), 2) == plus(True, np.float32(2)) == plus(b=2.0, a=1) == plus(1, b=2.0) == 3.0
    assert plus(1, float("inf")) == float("inf")
    assert np.isnan(plus(1, float("nan")))
    with pytest.raises(qd.QuadrantsSyntaxError, match="Unexpected argument 'c'"):
        plus(1, 2.0, c=3)


def test_an_array_of_another_kind_gets_its_error_or_its_own_specialisation() -> None:
    settled(fill, qd.ndarray(qd.f32, (3,)), 1.0)
    with pytest.raises(ValueError, match=r"required array has ndim=1"):
        fill(qd.ndarray(qd.f32, (3, 3)), 1.0)
    other, host = qd.ndarray(qd.i32, (3,)), np.zeros(3, np.float32)
    fill(other, 2.0)
    fill(host, 2.0)
    assert other.to_numpy().tolist() == host.tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint16, np.int64, np.uint64])
def test_arrays_of_numpy_are_served(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [np.zeros(n, dtype) for n in (3, 0, 70)]
    settled(fill, arrays[0], 1.0)
    for array in arrays:
        by_machine_code(lambda array=array: fill(array, 2.0), monkeypatch)
        assert (array == 2).all()


def test_an_array_of_numpy_that_is_not_as_it_should_be_gets_its_error() -> None:
    @qd.kernel
    def raised(x: qd.types.ndarray(dtype=qd.f32, ndim=2)):
        for i, j in x:
            x[i, j] += 1

    settled(raised, np.zeros((2, 3), np.float32))
    locked = np.zeros((2, 3), np.float32)
    locked.flags.writeable = False
    for wrong, words in (
        (np.zeros((2, 3), np.int32), "dtype=f32"),
        (np.zeros((2, 3), ">f4"), "dtype=>f4"),
        (np.zeros(3, np.float32), "ndim=2"),
        (np.zeros((4, 6), np.float32)[::2, ::2], "neither C nor Fortran contiguous"),
        (locked, "read-only"),
        ([[1.0]], "expected an ndarray"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            raised(wrong)
    columns = np.zeros((2, 3), np.float32, order="F")
    raised(columns)
    assert (columns == 1).all()


def test_an_array_of_numpy_that_is_only_read_may_be_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    array.flags.writeable = False
    settled(total, array)
    assert by_machine_code(lambda: total(array), monkeypatch) == sum(
        int(v) * (10 * i + j) for (i, j), v in np.ndenumerate(array)
    )


def test_no_array_of_numpy_is_kept_by_a_call() -> None:
    array = np.zeros(4, np.float32)
    settled(fill, array, 1.0)
    before = sys.getrefcount(array)
    for _ in range(100):
        fill(array, 1.0)
    assert sys.getrefcount(array) == before


def test_an_array_that_gets_a_gradient_is_of_another_kind() -> None:
    array = qd.ndarray(qd.f32, (3,))
    settled(fill, array, 1.0)
    array.grad = qd.ndarray(qd.f32, (3,))
    assert not array.record_address
    fill(array, 2.0)
    assert array.to_numpy().tolist() == [2, 2, 2]


def test_arrays_of_an_earlier_runtime_are_refused() -> None:
    old = qd.ndarray(qd.f32, (3,))
    settled(fill, old, 1.0)
    qd.init(arch=qd.cpu)
    assert not is_short(fill)
    settled(fill, qd.ndarray(qd.f32, (3,)), 1.0)
    with pytest.raises(RuntimeError, match=r"before reset\(\) or init\(\)"):
        fill(old, 1.0)


def test_a_reset_ends_what_was_taken_from_a_kernel() -> None:
    f = qd.field(qd.f32, ())

    @qd.kernel
    def write():
        f[None] = 1.0

    kept = settled(write).__call__
    qd.init(arch=qd.cpu)
    with pytest.raises(RuntimeError, match="made before"):
        kept()


def test_memory_that_was_destroyed_is_not_written() -> None:
    builder = qd.FieldsBuilder()
    f = qd.field(qd.f32)
    builder.dense(qd.i, 4).place(f)
    tree = builder.finalize()
    g = qd.field(qd.f32, (4,))

    @qd.kernel
    def copy():
        for i in f:
            g[i] = f[i] + 1

    settled(copy)
    tree.destroy()
    with pytest.raises(RuntimeError, match="destroyed"):
        copy()


def test_other_kernels_go_on_when_memory_was_destroyed(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = qd.FieldsBuilder()
    f, g = qd.field(qd.f32), qd.field(qd.f32, ())
    builder.dense(qd.i, 4).place(f)
    tree = builder.finalize()
    f[0] = 1

    @qd.kernel
    def one():
        f[0] = 1.0

    @qd.kernel
    def two():
        g[None] += 1.0

    settled(one)
    settled(two)
    tree.destroy()
    two()
    by_machine_code(two, monkeypatch)
    assert g[None] == 4


def test_what_was_written_is_noticed_and_what_was_read_is_not() -> None:
    f, g, x = qd.field(qd.f32, (3,)), qd.field(qd.f32, (3,)), qd.ndarray(qd.f32, (3,))

    @qd.kernel
    def copy(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in f:
            g[i] = f[i] + x[i]

    settled(copy, x)
    settled(fill, x, 1.0)
    buffers = (f.buffer, g.buffer, x.buffer)

    def changed(call: Callable[[], Any]) -> list[bool]:
        before = [b.version for b in buffers]
        call()
        return [b.version != was for b, was in zip(buffers, before, strict=True)]

    assert changed(lambda: copy(x)) == [False, True, False]
    assert changed(lambda: fill(x, 2.0)) == [False, False, True]
    assert changed(lambda: None) == [False, False, False]


@qd.data_oriented
class Scaled:
    def __init__(self, factor: Any) -> None:
        self.factor = factor
        self.values = qd.field(qd.f32, (3,))

    @qd.kernel
    def of(self, a: qd.f32) -> qd.f32:
        return a * self.factor

    @qd.kernel
    def store(self):
        for i in self.values:
            self.values[i] = self.factor


def test_methods_are_served_while_attributes_are_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = Scaled(2000)
    assert [scaled.of(1.5) for _ in range(3)] == [3000, 3000, 3000]
    assert by_machine_code(lambda: scaled.of(2.5), monkeypatch) == 5000
    scaled.factor = 3
    assert [scaled.of(1.5) for _ in range(3)] == [4.5, 4.5, 4.5]
    del scaled.factor
    with pytest.raises(qd.QuadrantsCompilationError, match="factor"):
        scaled.of(1.5)
    other = Scaled(5.0)
    assert [other.of(1.5) for _ in range(3)] == [7.5, 7.5, 7.5]


def test_a_field_of_an_object_may_be_replaced() -> None:
    scaled = Scaled(2.0)
    for _ in range(3):
        scaled.store()
    old, scaled.values = scaled.values, qd.field(qd.f32, (3,))
    old.fill(0)
    scaled.store()
    assert (old.to_numpy().tolist(), scaled.values.to_numpy().tolist()) == ([0, 0, 0], [2, 2, 2])


def test_compile_time_arguments_are_served_by_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = qd.field(qd.i32, ()), qd.field(qd.i32, ())

    @qd.kernel
    def raise_(x: qd.template(), by: qd.template()):
        x[None] += by

    for x, by in ((f, 1), (g, 1), (f, 2)):
        settled(raise_, x, by)
    by_machine_code(lambda: (raise_(f, 1), raise_(g, 1), raise_(f, 2)), monkeypatch)
    assert (f[None], g[None]) == (9, 3)


def test_a_list_that_changed_is_not_what_it_was() -> None:
    @qd.kernel
    def first(x: qd.template()) -> qd.i32:
        return x[0]

    numbers = [1]
    assert [first(numbers) for _ in range(3)] == [1, 1, 1]
    numbers[0] = 2
    assert first(numbers) == 2


def test_a_kernel_called_inside_a_kernel_is_refused() -> None:
    settled(plus, 1, 2.0)

    @qd.kernel
    def outer() -> qd.f64:
        return plus(1, 2.0)

    with pytest.raises(qd.QuadrantsSyntaxError, match="called inside a kernel"):
        outer()
    with emitting(object()), pytest.raises(qd.QuadrantsSyntaxError, match="called inside a kernel"):
        plus(1, 2.0)
    assert plus(1, 2.0) == 3.0


def test_in_debug_mode_python_serves_every_call() -> None:
    qd.init(arch=qd.cpu, debug=True)
    x = qd.ndarray(qd.i32, (2, 2))
    for _ in range(3):
        total(x)
    assert not is_short(total)


def test_random_numbers_differ_from_launch_to_launch() -> None:
    @qd.kernel
    def draw() -> qd.u32:
        return qd.random(qd.u32)

    drawn = [draw() for _ in range(50)]
    assert is_short(draw)
    assert len(set(drawn)) > 45
    qd.init(arch=qd.cpu)
    assert [draw() for _ in range(50)] == drawn


def test_kernels_and_arguments_are_freed() -> None:
    def once() -> None:
        x = qd.ndarray(qd.f32, (1000,))

        @qd.kernel
        def local(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
            x[0] = 1.0

        for _ in range(3):
            local(x)
        assert is_short(local)

    def count() -> int:
        gc.collect()
        return sum(type(o) is qd.kernels.kernel.Kernel for o in gc.get_objects())

    once()
    before = count()
    for _ in range(5):
        once()
    assert count() == before


def test_threads_of_python_may_call_kernels_at_the_same_time() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        x = qd.ndarray(qd.f64, (30_000,))
        for k in range(60):
            fill(x, number + k / 64)
            values = x.to_numpy()
            if not (values == number + k / 64).all() or plus(number, 0.5 + k) != number + k + 0.5:
                wrong.append((number, k))

    fill(qd.ndarray(qd.f64, (3,)), 1.0)
    plus(1, 1.0)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_launch_during_a_launch_of_the_same_thread_is_refused() -> None:
    with pytest.raises(RuntimeError, match="while another one runs on the same thread"):
        launching.alone(lambda: plus(1, 2.0))
    assert plus(1, 2.0) == 3.0


def test_a_launch_waits_for_that_of_another_thread() -> None:
    settled(plus, 1, 2.0)
    order: list[str] = []
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        time.sleep(0.1)
        order.append("held")

    thread = threading.Thread(target=lambda: launching.alone(hold))
    thread.start()
    begun.wait()
    order.append(str(plus(1, 2.0)))
    thread.join()
    assert order == ["held", "3.0"]
