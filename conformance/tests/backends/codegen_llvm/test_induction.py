"""Accesses that are one vector, those that are not, and what both give."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import agree, run_cpu, tasks_of
from interpreter_kit import parallel, same_bits

from adstack.analysis.strides import Strides
from adstack.analysis.uniformity import varying_values
from adstack.ir.structure import Op, Program


def contiguous(program: Program) -> list[bool]:
    """Of every load and store of the only task, in order."""
    (task,) = program.tasks
    loop = task.body.ops[-2]
    strides = Strides(loop, varying_values(loop.regions[0]))
    accesses = [op for op in loop.regions[0].walk() if op.name in ("load", "store")]
    return [strides.contiguous(op.attrs["place"], indices_of(op)) for op in accesses]


def indices_of(op: Op):
    return op.operands[: op.attrs["place"].rank]


def over_one_axis(computed: str, n: int = 200, params: str = "", index: str = "i32") -> Program:
    """A loop over %i that loads x[%k] into y[%i]; `computed` defines %k."""
    body = f"""{computed}
        %v = load @x[%k] : f32
        store @y[%i], %v"""
    return tasks_of(parallel(body, n, "place @x : f32[?] ndarray\nplace @y : f32[400] field", params, index))


def is_run(computed: str, **rest) -> bool:
    return contiguous(over_one_axis(computed, **rest))[0]


@pytest.mark.parametrize(
    "computed",
    [
        "%c = const 0 : i32\n%k = add %i, %c : i32",
        "%c = const 3 : i32\n%k = add %c, %i : i32",
        "%c = const 3 : i32\n%k = sub %i, %c : i32",
        "%c = const 3: i32\n%m = mul %i, %c : i32\n%d = mul %c, %i : i32\n%e = sub %i, %d : i32\n%k = add %e, %m : i32",
        "%c = const -1 : i32\n%m = mul %i, %c : i32\n%k = neg %m : i32",
        "%k = cast %i : i64",
        "%k = cast %i : u32",
        "%w = cast %i : i64\n%k = cast %w : i32",
        "%k = cast %i : u8",
    ],
)
def test_an_index_that_grows_by_one_is_one_vector(computed):
    assert is_run(computed)


@pytest.mark.parametrize(
    "computed",
    [
        "%c = const 2 : i32\n%k = mul %i, %c : i32",
        "%k = sub %i, %i : i32",
        "%c = const 9 : i32\n%k = sub %c, %i : i32",
        "%c = const 7 : i32\n%k = and %i, %c : i32",
        "%c = const 2 : i32\n%k = floordiv %i, %c : i32",
        "%b = cast %i : u1\n%k = cast %b : i32",
        "%f = cast %i : f32\n%k = cast %f : i32",
    ],
)
def test_an_index_that_grows_otherwise_is_none(computed):
    assert not is_run(computed)


def test_a_parameter_may_shift_an_index():
    assert is_run("%k = add %i, %p : i32", params="%p: i32")
    assert is_run("%s = add %i, %p : i64\n%k = cast %s : i32", params="%p: i64", index="i64")


@pytest.mark.parametrize(
    ("computed", "why"),
    [
        ("%k = cast %i : u8", "300 wraps at 256"),
        ("%c = const 4294967291 : u32\n%w = cast %i : u32\n%k = add %w, %c : u32", "wraps at 0"),
        ("%w = cast %i : u32\n%c = const 5 : u32\n%k = sub %w, %c : u32", "is huge below 5"),
        (
            "%w = cast %i : i8\n%z = cast %w : i32\n%c = const 128 : i32\n%k = add %z, %c : i32",
            "wraps before it is wide",
        ),
        ("%c = const 2147483600 : i32\n%w = add %i, %c : i32\n%k = cast %w : i64", "wraps before it is wide"),
    ],
)
def test_an_index_that_may_wrap_on_the_way_is_none(computed, why):
    assert not is_run(computed, n=300), why


def test_wrapping_indices_read_what_they_say():
    for computed in (
        "%k = cast %i : u8",
        "%w = cast %i : i8\n%z = cast %w : i32\n%c = const 128 : i32\n%k = add %z, %c : i32",
        "%w = cast %i : i16\n%c = const 300 : i16\n%m = mul %w, %c : i16\n%z = cast %m : i32\n%k = mul %z, %zero : i32",
    ):
        agree(over_one_axis(computed, n=300), {"x": np.arange(300, dtype=np.float32), "y": np.zeros(400, np.float32)})


def test_lanes_that_do_not_run_may_have_any_index():
    body = """
        %w = cast %i : u32
        %five = const 5 : u32
        %k = sub %w, %five : u32
        %j = const 5 : i32
        %in = ge %i, %j : u1
        if %in {
          %v = load @x[%k] : f32
          %s = sub %i, %j : i32
          %u = load @x[%s] : f32
          %t = add %v, %u : f32
          store @y[%i], %t
          yield
        } else {
          yield
        }"""
    program = tasks_of(parallel(body, 70, "place @x : f32[?] ndarray\nplace @y : f32[70] field"))
    assert contiguous(program) == [False, True, True]
    agree(program, {"x": np.arange(65, dtype=np.float32), "y": np.zeros(70, np.float32)})


TWO = """kernel @k() {{
  place @x : f32[?, ?] ndarray
  place @y : f32[{rows}, {columns}] field
  %zero = const 0 : i32
  %rows = {rows_of} : i32
  %columns = {columns_of} : i32
  parallel_for (%i = %zero to %rows, %j = %zero to %columns) {{
    {computed}
    %v = load @x[%a, %b] : f32
    store @y[%i, %j], %v
    yield
  }}
  return
}}
"""


def over_two_axes(a: str, b: str, rows: int = 5, columns: int = 9, *, dynamic: bool = False) -> Program:
    """A loop that loads x[a, b] into y[i, j], over constants or over the extents of x."""
    rows_of = "shape @x, 0" if dynamic else f"const {rows}"
    columns_of = "shape @x, 1" if dynamic else f"const {columns}"
    computed = f"%n = const 0 : i32\n%a = add {a}, %n : i32\n%b = add {b}, %n : i32"
    return tasks_of(TWO.format(rows=rows, columns=columns, rows_of=rows_of, columns_of=columns_of, computed=computed))


def test_rows_follow_each_other_if_the_loop_runs_over_all_of_them():
    assert contiguous(over_two_axes("%i", "%j", dynamic=True)) == [True, False]
    assert contiguous(over_two_axes("%i", "%j")) == [False, True]  # the extents of x may be others


def test_a_transposed_access_is_none():
    assert contiguous(over_two_axes("%j", "%i", dynamic=True))[0] is False


@pytest.mark.parametrize(("rows", "columns"), [(5, 9), (1, 70), (70, 1), (3, 3), (2, 65), (9, 8)])
def test_rows_shorter_and_longer_than_a_vector_are_read_right(rows, columns):
    y = np.zeros((rows, columns), np.float32)
    numbers = np.arange(rows * columns, dtype=np.float32)
    for dynamic in (False, True):
        _, memory = agree(
            over_two_axes("%i", "%j", rows, columns, dynamic=dynamic), {"x": numbers.reshape(rows, columns), "y": y}
        )
        assert same_bits(memory["y"], numbers.reshape(rows, columns))
        if rows == columns or not dynamic:
            transposed = numbers.reshape(columns, rows)
            _, memory = agree(over_two_axes("%j", "%i", rows, columns), {"x": transposed, "y": y})
            assert same_bits(memory["y"], transposed.T.copy())


def test_a_narrow_extent_as_a_bound_is_not_taken_for_the_extent():
    text = """kernel @k() {
      place @x : f32[?, ?] ndarray
      place @y : f32[?, ?] ndarray
      %zero = const 0 : u8
      %rows = shape @x, 0 : u8
      %columns = shape @x, 1 : u8
      parallel_for (%i = %zero to %rows, %j = %zero to %columns) {
        %v = load @x[%i, %j] : f32
        store @y[%i, %j], %v
        yield
      }
      return
    }
    """
    assert contiguous(tasks_of(text)) == [False, False]
    numbers = np.arange(3 * 300, dtype=np.float32).reshape(3, 300)  # u8(300) is 44
    _, memory = agree(text, {"x": numbers, "y": np.zeros_like(numbers)})
    assert memory["y"].astype(bool).sum() == 3 * 44 - 1


@pytest.mark.parametrize("index", ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"])
def test_every_type_of_index_is_read_right(index):
    n = 120
    program = over_one_axis(f"%c = const 2 : {index}\n%k = add %i, %c : {index}", n=n, index=index)
    agree(program, {"x": np.arange(n + 2, dtype=np.float32), "y": np.zeros(400, np.float32)})


@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["u1", "i8", "f16", "i32", "f64"])
def test_arrays_are_aligned_to_their_elements_only(dtype, offset):
    numpy = {"u1": np.bool_, "i8": np.int8, "f16": np.float16, "i32": np.int32, "f64": np.float64}[dtype]
    text = parallel(
        f"%v = load @x[%i] : {dtype}\nstore @y[%i], %v",
        130,
        f"place @x : {dtype}[?] ndarray\nplace @y : {dtype}[?] ndarray",
    )
    x = np.arange(150).astype(numpy)[offset : offset + 130]
    y = np.zeros(150, numpy)[offset + 1 : offset + 131]
    run_cpu(text, {"x": x, "y": y}, lanes=64)
    assert same_bits(x, y)
