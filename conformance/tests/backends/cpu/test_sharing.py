"""Loops whose threads are kept apart, by blocks of rows or by copies: sums are right, with any number of threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from cpu_kit import compiled, tasks_of
from interpreter_kit import read

from adstack import interpreter

THREADS = (1, 2, 3)

ROWS = """kernel @k(%n: i32, %m: i32) {{
  place @x : {dtype}[?, ?] {kind}
  place @y : {dtype}[?, ?] {kind}
  %zero = const 0 : i32
  parallel_for (%i = %zero to %n, %j = %zero to %m) {{
    %v = load @x[%i, %j] : {dtype}
    %one = const 1 : i32
    %two = const {far} : i32
    %down = add %i, %two : i32
    %right = add %j, %one : i32
    %a = atomic {how} @y[%i, %j], %v : {dtype}
    %b = atomic {how} @y[%down, %j], %v : {dtype}
    %c = atomic {how} @y[%down, %right], %v : {dtype}
    yield
  }}
  return
}}
"""


def rows(dtype: str = "f32", how: str = "add", far: int = 2, kind: str = "ndarray") -> str:
    return ROWS.format(dtype=dtype, how=how, far=far, kind=kind)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Small integers, whose sums are exact in every order."""
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


def check(text: str, memory: dict[str, np.ndarray], scalars: tuple[int, ...], lanes: tuple[int, ...] = (1, 16)) -> None:
    """The interpreter and the cpu leave the same."""
    program = tasks_of(text)
    wanted = {name: array.copy() for name, array in memory.items()}
    interpreter.run(program, wanted, scalars)
    for threads in THREADS:
        for width in lanes:
            left = {name: array.copy() for name, array in memory.items()}
            compiled(program, width, threads=threads)(left, scalars)
            for name, array in wanted.items():
                assert np.array_equal(array, left[name]), (threads, width, name)


@pytest.mark.parametrize(
    ("dtype", "how"), [("f32", "add"), ("f64", "add"), ("f16", "add"), ("i32", "max"), ("i64", "xor")]
)
def test_blocks_of_rows_add_what_all_iterations_add(dtype, how):
    to = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64}[dtype]
    n, m = 300, 150
    check(rows(dtype, how), {"x": numbers((n, m), to), "y": numbers((n + 2, m + 1), to, 1)}, (n, m))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 15, 16, 17, 33, 64, 500])
def test_any_number_of_rows(n):
    memory = {"x": numbers((500, 40), np.float32), "y": numbers((502, 41), np.float32, 1)}
    check(rows(), memory, (n, 40))


@pytest.mark.parametrize("far", [1, 7, 8, 31])
def test_any_distance_between_rows(far):
    n = 256
    memory = {"x": numbers((n, 70), np.int32), "y": np.zeros((n + far, 71), np.int32)}
    check(rows("i32", far=far), memory, (n, 70), (16,))


def test_the_same_bits_with_any_number_of_threads():
    n, m = 400, 200
    draw = np.random.default_rng(0)
    memory = {"x": draw.random((n, m), np.float32), "y": np.zeros((n + 2, m + 1), np.float32)}
    program, left = tasks_of(rows()), []
    for threads in (1, 2, 3, 2):
        mine = {name: array.copy() for name, array in memory.items()}
        compiled(program, 16, threads=threads)(mine, (n, m))
        left.append(mine["y"].tobytes())
    assert len(set(left)) == 1


def in_order(x: np.ndarray, y: np.ndarray, far: int, order: Iterable[int]) -> np.ndarray:
    """What the loop `rows` makes of `y`, its rows taken in an order."""
    y = y.copy()
    for i in order:
        for j in range(x.shape[1]):
            y[i, j] += x[i, j]
            y[i + far, j] += x[i, j]
            y[i + far, j + 1] += x[i, j]
    return y


@pytest.mark.parametrize("far", [1, 7, 15])
def test_even_blocks_come_first_and_are_as_long_as_what_they_share_is_far(far):
    """One lane, so that the order within a block is that of the loop."""
    n, m = 256, 40
    draw = np.random.default_rng(far)
    x, y = draw.random((n, m), np.float32), draw.random((n + far, m + 1), np.float32)
    block = max(n // 32, far)
    order = [i for phase in (0, 1) for i in range(n) if i // block % 2 == phase]
    wanted = in_order(x, y, far, order)
    for threads in THREADS:
        mine = y.copy()
        compiled(rows(far=far), 1, threads=threads)({"x": x, "y": mine}, (n, m))
        assert np.array_equal(mine, wanted)


@pytest.mark.parametrize(("n", "block"), [(13, 3), (12, 4), (2, 5), (0, 2)])
def test_the_interpreter_carries_blocks_of_rows_out_to_the_bit(n, block):
    """In the order that the processor's blocks are compared with above."""
    m, far = 5, 2
    draw = np.random.default_rng(n)
    x, y = draw.random((13, m), np.float32), draw.random((15, m + 1), np.float32)
    order = [i for phase in (0, 1) for i in range(n) if i // block % 2 == phase]
    blocks = interpreter.RunOptions(lanes=1, block_rows=block)
    for program, rows_in_order in ((tasks_of(rows(far=far)), order), (read(rows(far=far)), range(n))):
        mine = y.copy()
        interpreter.run(program, {"x": x, "y": mine}, (n, m), options=blocks)
        assert np.array_equal(mine, in_order(x, y, far, rows_in_order))


def test_rows_run_in_order_where_arrays_overlap():
    n, m = 256, 40
    draw = np.random.default_rng(0)
    x = draw.random((n, m), np.float32)
    text = (
        rows()
        .replace("place @x", "place @z : f32[?, ?] ndarray\n  place @x")
        .replace("yield", "%u = mul %v, %v : f32\n    store @z[%i, %j], %u\n    yield", 1)
    )
    y = draw.random((n + 2, m + 1), np.float32)
    memory = np.zeros(y.size + x.size, np.float32)
    mine = memory[: y.size].reshape(y.shape)
    mine[...] = y
    apart = memory[y.size :].reshape(x.shape)
    beside = memory[y.size - x.shape[1] :][: x.size].reshape(x.shape)
    program = compiled(text, 1, threads=2)
    program({"x": x, "y": mine, "z": apart}, (n, m))
    order = [i for phase in (0, 1) for i in range(n) if i // 8 % 2 == phase]
    assert np.array_equal(mine, in_order(x, y, 2, order))
    mine[...] = y
    program({"x": x, "y": mine, "z": beside}, (n, m))
    wanted = in_order(x, y, 2, range(n))
    assert np.array_equal(mine.ravel()[:-m], wanted.ravel()[:-m])


def test_arrays_that_are_one_memory():
    n, m = 300, 150
    shared = numbers((n + 2, m + 1), np.int32)
    text = rows("i32").replace(
        "%v = load @x[%i, %j] : i32", "%v = add %i, %j : i32\n%s = atomic add @x[%i, %j], %v : i32"
    )
    program = tasks_of(text)
    wanted = shared.copy()
    interpreter.run(program, {"x": wanted, "y": wanted}, (n, m))
    for threads in THREADS:
        mine = shared.copy()
        compiled(program, 16, threads=threads)({"x": mine, "y": mine}, (n, m))
        assert np.array_equal(wanted, mine)


TABLE = """kernel @k(%n: i32) {{
  place @x : {dtype}[?] ndarray
  place @at : i32[?] ndarray
  place @y : {dtype}[?] ndarray
  place @z : {dtype}[?] ndarray
  %zero = const 0 : i32
  parallel_for (%i = %zero to %n) {{
    %v = load @x[%i] : {dtype}
    %j = load @at[%i] : i32
    %a = atomic {how} @y[%j], %v : {dtype}
    %b = atomic {how} @z[%j], %v : {dtype}
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("dtype", "how"),
    [("f32", "add"), ("f16", "add"), ("f64", "min"), ("f32", "max"), ("i32", "add"), ("u8", "or"), ("i64", "and")],
)
@pytest.mark.parametrize("size", [1, 7, 16, 1000, 1 << 18])
def test_copies_add_what_all_iterations_add(dtype, how, size):
    to = np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:]).type
    n = 40_000
    at = np.random.default_rng(2).integers(0, size, n).astype(np.int32)
    few = 512 if dtype == "f16" else 16  # sums are exact in any order
    values = np.where(np.arange(n) % few == 0, numbers((n,), to, 4), to(0))
    memory = {"x": values, "at": at, "y": numbers((size,), to, 1), "z": numbers((size + 3,), to, 3)}
    check(TABLE.format(dtype=dtype, how=how), memory, (n,))


def test_copies_of_arrays_that_are_one_memory():
    n, size = 50_000, 100
    program = tasks_of(TABLE.format(dtype="i32", how="add"))
    memory = {"x": numbers((n,), np.int32), "at": np.random.default_rng(2).integers(0, size, n).astype(np.int32)}
    wanted = np.zeros(size, np.int32)
    interpreter.run(program, {**memory, "y": wanted, "z": wanted}, (n,))
    for threads in THREADS:
        mine = np.zeros(size, np.int32)
        compiled(program, 16, threads=threads)({**memory, "y": mine, "z": mine}, (n,))
        assert np.array_equal(wanted, mine)


def test_elements_that_nobody_adds_to_keep_their_bits():
    n, size = 50_000, 64
    memory = {
        "x": np.ones(n, np.float32),
        "at": np.zeros(n, np.int32),
        "y": np.full(size, -0.0, np.float32),
        "z": np.full(size, -0.0, np.float32),
    }
    compiled(TABLE.format(dtype="f32", how="add"), 16, threads=2)(memory, (n,))
    assert memory["y"][0] == n
    assert np.signbit(memory["y"][1:]).all()
