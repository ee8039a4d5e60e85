"""Scalar ops: the table's meaning on lanes, traps of debug mode, constants, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreter_kit import parallel, run_text, same_bits, serial

from adstack.errors import AdstackAssertionError
from adstack.interpreter import run
from adstack.interpreter.philox import draw
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.structure import Kernel
from adstack.ir.types import ALL, DType, by_name

SCALAR_ROWS = [row for row in TABLE.values() if row.meaning is not None and row.name not in ("cast", "bitcast")]
SAMPLES = {"b": [True, False], "i": [-7, 3], "u": [7, 3], "f": [-1.75, 0.375]}


@pytest.mark.parametrize("row", SCALAR_ROWS, ids=lambda row: row.name)
def test_an_op_gives_what_its_row_says(row):
    for dtype in next(iter(row.signature.classes.values())):
        b = Builder()
        types = [dtype if word in row.signature.classes else by_name(word) for word in row.signature.inputs]
        numbers = [SAMPLES[t.kind][n % 2] for n, t in enumerate(types)]
        result = b.emit(row, *(b.const(v, t) for v, t in zip(numbers, types, strict=True)))
        b.return_(result)
        with np.errstate(all="ignore"):
            expected = row.meaning(result.dtype, *(np.array([v], t.numpy) for v, t in zip(numbers, types, strict=True)))
        assert same_bits(run(Kernel("k", b.region, {}, (result.dtype,)), {})[0], expected[0].item())


@pytest.mark.parametrize("to", ALL, ids=str)
def test_a_parameter_a_cast_and_a_bitcast_keep_their_types(to: DType):
    text = serial(f"%b = cast %a : {to}\n %c = bitcast %b : {to}\n return %c", f"(%a: {to}) -> ({to})")
    (got,) = run_text(text, scalars=(1,))
    assert got == 1
    assert type(got) is {"b": bool, "f": float}.get(to.kind, int)


TRAPS = [
    ("floordiv", "i32", 0, "integer division by zero", 0),
    ("mod", "u8", 0, "integer division by zero", 0),
    ("raw_div", "i64", 0, "integer division by zero", 0),
    ("raw_mod", "i8", 0, "integer division by zero", 0),
    ("shl", "i32", 32, "shift by a negative amount or by the width or more", 0),
    ("shr", "i16", -1, "shift by a negative amount or by the width or more", 0),
    ("ipow", "i32", -2, "Negative exponent in an integer power", 0),
]


def trapping(op: str, t: str) -> str:
    """y[i] = 5 op x[i] where x[i] != 77."""
    return parallel(
        f"""
        %v = load @x[%i] : {t}
        %stop = const 77 : {t}
        %five = const 5 : {t}
        %c = ne %v, %stop : u1
        if %c {{
          %r = {op} %five, %v : {t} loc("user.py":4:9)
          store @y[%i], %r
          yield
        }} else {{
          yield
        }}
        """,
        3,
        f"place @x : {t}[?] field\n place @y : {t}[?] field",
    )


@pytest.mark.parametrize(("op", "t", "bad", "message", "result"), TRAPS)
def test_a_trap_is_an_error_in_debug_mode_and_defined_otherwise(op, t, bad, message, result):
    x, y = np.array([1, bad, bad], by_name(t).numpy), np.full(3, 9, by_name(t).numpy)
    with pytest.raises(AdstackAssertionError, match=rf"^user\.py:4:9: {message}, in iteration \(1\)"):
        run_text(trapping(op, t), {"x": x, "y": y}, debug=True)
    run_text(trapping(op, t), {"x": x, "y": y})
    assert y[1:].tolist() == [result, result]


def test_a_lane_that_does_not_get_there_does_not_trap():
    x, y = np.array([1, 77, 77], np.int32), np.zeros(3, np.int32)
    run_text(trapping("shl", "i32"), {"x": x, "y": y}, debug=True)
    assert y.tolist() == [10, 0, 0]


DRAWS = """
    %c = ne %i, %one : u1
    %first = random : f32
    %again = if %c -> (f32) {
      %skipped = random : f32
      yield %skipped
    } else {
      yield %first
    }
    %last = random : f32
    store @y[%i, %zero], %first
    store @y[%i, %one], %again
    store @y[%i, %two], %last
"""


def drawn(**options: int) -> np.ndarray:
    body = "%one = const 1 : i32\n%two = const 2 : i32\n" + DRAWS
    y = np.zeros((3, 3), np.float32)
    run_text(parallel(body, 3, "place @y : f32[?, ?] field"), {"y": y}, **options)
    return y


def test_a_lane_draws_from_its_own_stream_and_only_where_it_gets():
    def at(iteration: int, number: int) -> Any:
        return draw(by_name("f32"), 5, 2, 1, np.array([iteration], np.uint64), np.array([number], np.uint64))[0]

    expected = [[at(0, 0), at(0, 1), at(0, 2)], [at(1, 0), at(1, 0), at(1, 1)], [at(2, 0), at(2, 1), at(2, 2)]]
    assert same_bits(drawn(seed=5, launch=2), np.array(expected))


def test_streams_do_not_depend_on_the_chunk_size_and_do_on_seed_and_launch():
    assert same_bits(drawn(lanes=1), drawn())
    assert not same_bits(drawn(seed=1), drawn())
    assert not same_bits(drawn(launch=1), drawn())


def test_serial_code_before_and_after_a_loop_draws_from_streams_of_its_own():
    body = """
      %a = random : u32
      %b = random : u32
      %z = const 0 : i32
      %n = const 2 : i32
      parallel_for (%i = %z to %n) {
        %r = random : u32
        yield
      }
      %c = random : u32
      return %a, %b, %c
    """
    one = np.array([0], np.uint64)
    expected = [draw(by_name("u32"), 0, 0, s, one, one + np.uint64(n))[0] for s, n in ((0, 0), (0, 1), (2, 0))]
    assert run_text(serial(body, "() -> (u32, u32, u32)")) == tuple(expected)
