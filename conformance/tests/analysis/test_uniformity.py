"""Which values of a parallel loop differ between its iterations."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import agree
from interpreter_kit import parallel, read

from adstack.analysis.uniformity import varying_values
from adstack.ir.structure import Kernel

PLACES = "place @x : i32[?] field\nplace @y : i32[?] field"


def varying(body: str) -> set[str]:
    """Names of the values that vary, of a loop over %i with a parameter %p."""
    kernel = read(parallel(body, 10, PLACES, "%p: i32"))
    assert isinstance(kernel, Kernel)
    (loop,) = (op for op in kernel.body.ops if op.name == "parallel_for")
    return {value.name for value in varying_values(loop.regions[0])}


def test_indices_vary_and_what_depends_on_them():
    assert varying("%a = add %i, %p : i32\n%b = add %p, %p : i32\n%c = mul %b, %a : i32") == {"i", "a", "c"}


@pytest.mark.parametrize(
    ("op", "varies"),
    [
        ("%v = load @x[%p] : i32", False),
        ("%v = load @x[%i] : i32", True),
        ("%v = atomic add @x[%p], %p : i32", True),
        ("%v = random : i32", True),
        ("%v = shape @x, 0 : i32", False),
        ("%h = array.alloc : array<i32, 2>\n%v = array.load %h, %p : i32", True),
    ],
)
def test_memory_is_as_uniform_as_its_address_unless_every_iteration_has_its_own(op, varies):
    assert ("v" in varying(op)) == varies


def test_results_of_an_if_vary_with_its_condition_or_with_a_side():
    text = """%c = lt {}, %p : u1
    %r, %s = if %c {{
      yield %p, %i
    }} else {{
      yield %p, %p
    }}"""
    assert varying(text.format("%p")) == {"i", "s"}
    assert varying(text.format("%i")) == {"i", "c", "r", "s"}


def test_an_index_varies_with_the_lower_bound_and_carried_values_with_both():
    text = """%r = for %j = {} to {} carry (%a = %p) {{
      %b = add %a, %j : i32
      yield %b
    }}"""
    assert varying(text.format("%p", "%p")) == {"i"}
    assert varying(text.format("%p", "%i")) == {"i", "r", "a", "b"}
    assert varying(text.format("%i", "%p")) == {"i", "r", "a", "b", "j"}


def test_what_varies_at_the_end_of_a_body_varies_at_its_beginning():
    text = """%q, %r = for %j = %p to %p carry (%a = %p, %b = %p) {
      %c = add %a, %b : i32
      %d = mul %c, %p : i32
      yield %i, %a
    }"""
    assert varying(text) == {"i", "q", "r", "a", "b", "c", "d"}


def test_a_loop_that_lanes_leave_one_by_one_makes_all_that_it_carries_vary():
    text = """%r = while (%a = %p) {{
      %go = lt %a, {} : u1
      yield %go, %a
    }} do (%b) {{
      %c = add %b, %p : i32
      yield %c
    }}"""
    assert varying(text.format("%p")) == {"i"}
    assert varying(text.format("%i")) == {"i", "r", "a", "b", "c", "go"}


RESET = """%one = const 1 : i32
    %r, %s = while (%a = %zero, %b = %i) {
      %go = lt %a, %p : u1
      yield %go, %a, %p
    } do (%c, %d) {
      %e = add %c, %one : i32
      %f = add %d, %i : i32
      yield %e, %f
    }
    %t = add %r, %s : i32
    store @y[%i], %t"""


def test_a_loop_may_pass_on_a_uniform_value_where_it_carries_a_varying_one():
    assert "d" not in varying(RESET)
    assert "s" in varying(RESET)
    for count in (0, 3):
        agree(
            parallel(RESET, 70, PLACES, "%p: i32"), {"x": np.zeros(1, np.int32), "y": np.zeros(70, np.int32)}, [count]
        )


FROM_THE_END = """%trips = load @x[%i] : i32
    %r = for %j = {low} to %trips carry (%a = %p) {{
      %left = sub {left} : i32
      %at = abs %left : i32
      %d = load @x[%at] : i32
      %b = add %a, %d : i32
      {more}
      yield %b
    }}
    store @y[%i], %r"""


@pytest.mark.parametrize(
    ("parts", "same"),
    [
        ({}, True),
        ({"low": "%p"}, False),
        ({"left": "%j, %trips"}, False),
        ({"left": "%p, %j"}, True),
        ({"more": "%e = add %j, %p : i32"}, False),
    ],
    ids=["reversed", "from elsewhere", "the other way round", "to something else", "the index itself"],
)
def test_how_far_the_end_is_may_be_the_same_though_ends_differ(parts, same):
    body = FROM_THE_END.format(**{"low": "%zero", "left": "%trips, %j", "more": "", **parts})
    assert ("left" not in varying(body)) == same
    trips = (np.arange(70) * 5 % 7 - 1).astype(np.int32)
    agree(parallel(body, 70, PLACES, "%p: i32"), {"x": trips, "y": np.zeros(70, np.int32)}, [0])


def test_lanes_that_wait_for_longer_ones_keep_what_they_carry():
    body = FROM_THE_END.format(low="%zero", left="%trips, %j", more="")
    masked = f"%c = gt %i, %p : u1\nif %c {{\n{body}\nyield\n}} else {{\nyield\n}}"
    trips = (np.arange(70) * 11 % 9).astype(np.int32)
    agree(parallel(masked, 70, PLACES, "%p: i32"), {"x": trips, "y": np.zeros(70, np.int32)}, [5])
