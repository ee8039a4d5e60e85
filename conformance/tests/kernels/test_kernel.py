"""Calling kernels: arguments, specialisations, results, what is said about them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.ir.builder import Builder
from adstack.values import protocol

pytestmark = pytest.mark.usefixtures("on_reference")


@qd.kernel
def add(a: qd.i32, b: qd.f32) -> qd.f32:
    return a + b


@qd.kernel
def raised(x: qd.types.ndarray(dtype=qd.f32, ndim=1), by: qd.f32):
    for i in x:
        x[i] += by


@qd.kernel
def sum_of(x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


@qd.kernel
def corner(x: qd.types.ndarray(dtype=qd.f32, ndim=2)) -> qd.f32:
    return x[0, 0]


@dataclasses.dataclass
class Pair:
    values: qd.types.ndarray(dtype=qd.f32, ndim=1)
    count: qd.i32


@dataclasses.dataclass
class Nested:
    pair: Pair
    scale: float


@qd.kernel
def fill_pair(p: Nested):
    for i in p.pair.values:
        p.pair.values[i] = p.pair.count * p.scale


particle = qd.types.struct(mass=qd.f32, position=qd.math.vec2)


@qd.kernel
def heavier(p: particle, by: qd.f32) -> particle:
    return particle(mass=p.mass + by, position=p.position)


@qd.kernel
def several(n: qd.i32) -> (qd.i32, qd.f32, qd.math.vec2):
    return n, 0.5, qd.Vector([1.0, 2.0])


@qd.kernel
def twice(v: qd.math.vec3) -> qd.math.vec3:
    return v * 2


@qd.kernel
def accumulate(f: qd.template(), by: qd.template()):
    for i in f:
        f[i] += by


def test_arguments_may_be_given_by_name() -> None:
    assert add(1, 2.5) == add(1, b=2.5) == add(b=2.5, a=1) == 3.5


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((1,), {}, "Missing argument 'b'"),
        ((), {}, "Missing argument 'a', 'b'"),
        ((1, 2, 3), {}, "Too many arguments"),
        ((1,), {"c": 2}, "Unexpected argument 'c'"),
        ((1, 2), {"b": 3}, "Multiple values for argument 'b'"),
    ],
)
def test_wrong_arguments_are_named(args: tuple[Any, ...], kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(qd.QuadrantsSyntaxError, match=words) as caught:
        add(*args, **kwargs)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [1.5, 1.0, np.float32(1), "1", None, [1], qd.Vector([1])])
def test_an_integer_parameter_takes_integers(value: Any) -> None:
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"Invalid value for argument a - expected a number for i32"):
        add(value, 1.0)


def test_integers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Invalid value for argument a - .*out of range"):
        add(2**31, 1.0)


def test_numbers_of_other_kinds_are_converted() -> None:
    assert add(np.int64(1), np.float64(2.5)) == add(True, 2.5) == 3.5
    assert add(1, 2) == 3


def test_array_arguments_share_memory() -> None:
    array, data = np.zeros(3, np.float32), qd.ndarray(qd.f32, (2,))
    raised(array, 2.0)
    raised(data, 1.0)
    assert (array.tolist(), data.to_numpy().tolist()) == ([2, 2, 2], [1, 1])


def test_what_a_kernel_wrote_is_noticed_and_what_it_read_is_not() -> None:
    data = qd.ndarray(qd.f32, (2,))
    before = data.buffer.version
    sum_of(data)
    assert data.buffer.version == before
    raised(data, 1.0)
    assert data.buffer.version != before


def test_what_a_kernel_wrote_to_a_field_is_noticed() -> None:
    f, g = qd.field(qd.f32, (2,)), qd.field(qd.f32, (2,))

    @qd.kernel
    def copy():
        for i in f:
            g[i] = f[i]

    before = f.buffer.version, g.buffer.version
    copy()
    assert f.buffer.version == before[0]
    assert g.buffer.version != before[1]


def test_a_read_only_array_may_be_read_but_not_written() -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    assert sum_of(array) == 3
    transposed = np.ones((2, 3), np.float32).T
    transposed.flags.writeable = False
    assert corner(transposed) == 1
    with pytest.raises(ValueError, match="Invalid value for argument x - the array is read-only"):
        raised(array, 1.0)
    assert array.tolist() == [1, 1, 1]


def test_an_array_at_an_odd_address_is_copied_in_and_out() -> None:
    @qd.kernel
    def double(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            x[i] *= 2.0

    raw = np.zeros(13, np.uint8)
    x = raw[1:].view(np.float32)
    for wanted in (1.0, 2.0, 4.0):
        x[:] = wanted
        double(x)
        assert x.tolist() == [2 * wanted] * 3
        assert raw[0] == 0


def test_a_fortran_ordered_array_is_copied_in_and_out() -> None:
    array = np.zeros((2, 3), np.float32, order="F")

    @qd.kernel
    def number(x: qd.types.NDArray[qd.f32, 2]):
        for i, j in x:
            x[i, j] = i * 10 + j

    number(array)
    assert array.tolist() == [[0, 1, 2], [10, 11, 12]]


def test_vectors_are_passed_and_returned_by_value() -> None:
    result = twice([1, 2, 3])
    assert isinstance(result, qd.Vector)
    assert (
        result.to_list() == twice(np.array([1, 2, 3])).to_list() == twice(qd.Vector([1, 2, 3])).to_list() == [2, 4, 6]
    )


@pytest.mark.parametrize("value", [[1, 2], [[1, 2, 3]]])
def test_a_vector_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"Invalid value for argument v - expected shape \(3,\)"):
        twice(value)


def test_a_number_is_no_vector() -> None:
    with pytest.raises(TypeError, match="Invalid value for argument v"):
        twice(1.0)


def test_structs_are_passed_and_returned_by_value() -> None:
    result = heavier(particle(mass=1, position=[2, 3]), 0.5)
    assert (result.mass, result.position.to_list()) == (1.5, [2, 3])
    assert heavier({"mass": 2, "position": [0, 0]}, 1.0).mass == 3


@pytest.mark.parametrize("value", [1, {"mass": 1}, None])
def test_what_is_no_such_struct_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="Invalid value for argument p"):
        heavier(value, 1.0)


def test_members_of_a_struct_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"Invalid value for argument p\.position - expected shape"):
        heavier({"mass": 1, "position": [1, 2, 3]}, 1.0)


def test_dataclasses_are_passed_member_by_member() -> None:
    array = np.zeros(2, np.float32)
    fill_pair(Nested(Pair(array, 3), 0.5))
    assert array.tolist() == [1.5, 1.5]
    with pytest.raises(TypeError, match="Invalid value for argument p - expected a Nested, got Pair"):
        fill_pair(Pair(array, 3))
    with pytest.raises(TypeError, match=r"Invalid value for argument p\.pair\.count"):
        fill_pair(Nested(Pair(array, 3.5), 0.5))


def test_several_values_are_returned_as_a_tuple() -> None:
    n, x, v = several(3)
    assert (n, x, v.to_list()) == (3, 0.5, [1, 2])


def test_returned_numbers_are_python_numbers() -> None:
    assert [type(x) for x in several(1)[:2]] == [int, float]


def test_a_kernel_is_not_called_inside_a_kernel() -> None:
    @qd.kernel
    def outer():
        add(1, 2.0)

    with pytest.raises(qd.AdstackCompilationError):
        outer()
    with protocol.emitting(Builder()), pytest.raises(qd.AdstackSyntaxError, match="called inside a kernel"):  # type: ignore[arg-type]
        add(1, 2.0)


def test_a_destroyed_field_stops_the_kernels_that_use_it() -> None:
    builder = qd.FieldsBuilder()
    x = qd.field(qd.f32)
    builder.dense(qd.i, 2).place(x)
    tree = builder.finalize()

    @qd.kernel
    def one():
        for i in x:
            x[i] = 1

    one()
    assert x[0] == 1
    tree.destroy()
    with pytest.raises(qd.AdstackRuntimeError, match="destroyed"):
        one()


def test_debug_mode_reaches_the_program() -> None:
    qd.init(arch=qd.reference, debug=True)

    @qd.kernel
    def checked(a: qd.i32):
        assert a > 0

    checked(1)
    with pytest.raises(AssertionError):
        checked(0)


def test_random_numbers_differ_between_launches_and_repeat_with_the_seed() -> None:
    @qd.kernel
    def draw() -> qd.f32:
        return qd.random()

    def draws(seed: int) -> list[float]:
        qd.init(arch=qd.reference, random_seed=seed)
        return [draw() for _ in range(3)]

    first = draws(1)
    assert len(set(first)) == 3
    assert draws(1) == first
    assert draws(2) != first


@qd.kernel
def accumulated(x: qd.types.NDArray[qd.f32, 2], y: qd.types.NDArray[qd.f32, 2]):
    for i, j in x:
        x[i, j] += y[i, j]


def test_arrays_may_be_passed_twice() -> None:
    array = np.ones((2, 2), np.float32)
    accumulated(array, array)
    assert array.tolist() == [[2, 2], [2, 2]]


def test_copies_that_share_memory_with_another_argument_are_refused() -> None:
    array = np.ones((2, 2), np.float32)
    for x, y in ((array, array.T), (array.T, array), (array.T, array.T)):
        with pytest.raises(ValueError, match="not C-contiguous and shares memory with"):
            accumulated(x, y)
    assert array.tolist() == [[1, 1], [1, 1]]


def test_a_device_that_works_on_copies_says_so_of_one_array_twice() -> None:
    qd.init(arch="vulkan")
    array = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match="x - it is copied, as the device can't use its memory, and shares memory"):
        accumulated(array, array)


def test_copies_that_share_memory_are_fine_where_nothing_is_written() -> None:
    @qd.kernel
    def difference(x: qd.types.NDArray[qd.f32, 2], y: qd.types.NDArray[qd.f32, 2]) -> qd.f32:
        return x[0, 1] - y[0, 1]

    array = np.array([[1, 2], [3, 4]], np.float32)
    assert difference(array, array.T) == -1


def test_an_unplaced_field_in_a_kernel_is_an_error_at_its_line() -> None:
    x, y = qd.field(qd.f32, name="x"), qd.field(qd.f32, (2,), name="y")

    @qd.kernel
    def of_field():
        x[0] = 1

    @qd.kernel
    def of_gradient():
        y.grad[0] = 1

    with pytest.raises(qd.AdstackRuntimeError, match=r"test_kernel.py:\d+:\d+: field x has not been placed"):
        of_field()
    with pytest.raises(qd.AdstackRuntimeError, match=r"py:\d+:\d+: field y.grad has not been placed, check whether"):
        of_gradient()


def test_a_failed_launch_counts_as_a_write() -> None:
    f = qd.field(qd.f32, (2,))

    @qd.kernel
    def beyond(i: qd.i32):
        f[0] = 1
        f[i] = 2

    before = f.buffer.version
    with pytest.raises(IndexError, match="Accessing"):
        beyond(7)
    assert f.buffer.version != before


def test_nested_structs_come_back() -> None:
    kind = qd.types.struct(a=qd.f32, b=qd.types.struct(c=qd.i32, d=qd.math.mat2))

    @qd.kernel
    def same(s: kind) -> kind:
        return s

    assert same(kind(a=1, b={"c": 2, "d": [[1, 2], [3, 4]]})).to_dict() == {
        "a": 1,
        "b": {"c": 2, "d": [[1, 2], [3, 4]]},
    }


def test_an_error_points_at_the_call_and_not_into_the_compiler() -> None:
    with pytest.raises(qd.AdstackCallError) as caught:
        add(1)
    assert [entry.path.name for entry in caught.traceback] == ["test_kernel.py", "kernel.py"]


def test_a_defect_of_adstack_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*args: Any) -> None:
        raise qd.InternalError("impossible")

    monkeypatch.setattr("adstack.kernels.kernel.specialise", defect)
    with pytest.raises(qd.InternalError) as caught:
        add(1, 2.0)
    assert caught.traceback[-1].name == "defect"


def test_arguments_by_name_are_those_by_position_before_and_after_machine_code_serves_the_kernel() -> None:
    qd.init(arch=qd.cpu)
    for _ in range(3):
        assert add(2, 0.5) == add(a=2, b=0.5) == add(b=0.5, a=2) == add(2, b=0.5) == 2.5
    assert type(add.__call__).__name__ == "builtin_function_or_method"
    for args, kwargs, message in (
        ((1,), {"a": 1}, "Multiple values for argument 'a'"),
        ((1,), {"c": 1}, "Unexpected argument 'c'"),
        ((), {"b": 1}, "Missing argument 'a'"),
        ((1, 2), {"b": 1}, "Multiple values for argument 'b'"),
    ):
        with pytest.raises(qd.AdstackCallError, match=message):
            add(*args, **kwargs)


def test_an_unknown_option_of_the_decorator_is_refused() -> None:
    decorator: Any = qd.kernel
    with pytest.raises(qd.AdstackRuntimeTypeError, match=r"(?s)@kernel has no option 'foo'.*it has graph and"):
        decorator(foo=1)


@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan"])
def test_a_program_without_standard_output_prints_nothing(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    qd.init(arch=arch)

    @qd.kernel
    def k() -> qd.i32:
        print("words")
        return 3

    monkeypatch.setattr("sys.stdout", None)
    assert k() == 3
    qd.sync()
