"""How many lanes a task gets, and the function that runs the tasks of a program."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import agree, compiled, tasks_of
from interpreter_kit import parallel, serial

from adstack.backends.cpu.codegen import emit_module


def lanes_of(text: str, wanted: int = 0, *, debug: bool = False, vector_bytes: int = 32) -> list[int]:
    return emit_module(tasks_of(text, debug), debug=debug, lanes=wanted, vector_bytes=vector_bytes).emitted.lanes


def over(n: int, body: str = "", dtype: str = "f32") -> str:
    work = f"%v = load @x[%i] : {dtype}\n{body}\n%w = mul %v, %v : {dtype}\nstore @x[%i], %w"
    return parallel(work, n, f"place @x : {dtype}[?] field")


def test_small_types_get_more_lanes_than_wide_ones():
    narrow, wide = lanes_of(over(1000))[0], lanes_of(over(1000, dtype="f64"))[0]
    assert narrow > wide > 1


def test_wider_vectors_hold_more_lanes():
    assert lanes_of(over(1000), vector_bytes=16)[0] < lanes_of(over(1000), vector_bytes=64)[0]


def test_wide_numbers_outside_of_loops_cost_no_lanes():
    loop = "%r = for %j = %zero to %k carry (%s = %v) {\n{}%t = mul %s, %v : f32\nyield %t\n}\nstore @x[%i], %r"
    count = "%k = load @n[%i] : i32\n%m = cast %k : i64\nstore @m[%i], %m\n"
    inside = "%q = cast %j : i64\n%u = add %q, %m : i64\nstore @m[%i], %u\n"
    places = "place @x : f32[?] field\nplace @n : i32[?] field\nplace @m : i64[?] field"
    narrow, wide = (
        parallel(f"%v = load @x[%i] : f32\n{count}{loop.replace('{}', extra)}", 1000, places) for extra in ("", inside)
    )
    assert lanes_of(narrow) > lanes_of(wide)


def test_a_loop_whose_iterations_wait_for_each_other_long_gets_more_lanes_than_registers_hold():
    """Eighteen values are in use; with divisions each iteration waits long for what the one before hands to it."""
    loads = "\n".join(f"%v{k} = load @x{k}[%i] : f32" for k in range(8))
    carried = ", ".join(f"%r{k} = %v{k}" for k in range(8))
    sums = "\n".join(f"%s{k} = add %r{k}, %v{k} : f32" for k in range(1, 8))
    ends = "\n".join(f"store @x{k}[%i], %e{k}" for k in range(8))
    names = {letter: ", ".join(f"%{letter}{k}" for k in range(8)) for letter in "es"}
    places = "\n".join(f"place @x{k} : f32[?] field" for k in range(8))

    def lanes(kind: str) -> int:
        chain = f"%q = {kind} %v0, %r0 : f32\n%s0 = {kind} %v1, %q : f32"
        loop = f"{names['e']} = for %j = %zero to %n carry ({carried}) {{\n{chain}\n{sums}\nyield {names['s']}\n}}"
        return lanes_of(parallel(f"{loads}\n{loop}\n{ends}", 1000, places))[0]

    assert lanes("div") == 2 * lanes("mul")


@pytest.mark.parametrize("wanted", [1, 2, 4, 16, 128])
def test_the_option_decides_where_it_is_given(wanted):
    assert lanes_of(over(1000), wanted) == [wanted]
    assert lanes_of(over(1000), wanted, debug=True) == [wanted]


def test_lanes_are_a_power_of_two_and_there_are_no_more_than_iterations():
    for n in (1, 3, 10, 100, 10_000):
        (lanes,) = lanes_of(over(n))
        assert lanes & (lanes - 1) == 0
        assert lanes <= n


def test_debug_mode_runs_one_iteration_after_another_unless_told_otherwise():
    assert lanes_of(over(1000), debug=True) == [1]


def test_serial_tasks_have_one_lane():
    assert lanes_of(
        serial("%v = load @x[%n] : i32\nstore @x[%n], %v\nreturn", "(%n: i32)", "place @x : i32[5] field")
    ) == [1]


def test_a_program_without_tasks_runs():
    assert list(compiled(serial("return"), 8)()) == []


def test_values_that_cross_tasks_arrive():
    text = """kernel @k(%n: i32) -> (i32) {
      place @x : i32[?] field
      %zero = const 0 : i32
      %first = load @x[%zero] : i32
      store @x[%zero], %n
      parallel_for (%i = %zero to %n) {
        %o = atomic add @x[%i], %first : i32
        yield
      }
      %last = load @x[%zero] : i32
      return %last
    }
    """
    left = agree(text, {"x": np.full(100, 7, np.int32)}, [100])
    assert left[0] == [107]
