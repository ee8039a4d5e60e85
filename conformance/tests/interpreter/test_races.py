"""The race detector finds every pair of conflicting iterations, and nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from interpreter_kit import parallel, run_text

from adstack.errors import AdstackAssertionError, AdstackRaceError

PLACES = "place @x : i32[?] field\n place @p : i32[?] ndarray"
ACCESSES = {
    "reads": '%v = load @x[%e] : i32 loc("user.py":1:1)',
    "writes": 'store @x[%e], %zero loc("user.py":2:1)',
    "atomically updates": '%v = atomic add @x[%e], %zero : i32 loc("user.py":3:1)',
}
HARMLESS = {("reads", "reads"), ("atomically updates", "atomically updates")}


def run_accesses(body: str, elements: list[int], **options: object) -> None:
    """`body` with %e = p[i] and %odd = whether i is odd."""
    text = parallel(
        f"%e = load @p[%i] : i32\n %two = const 2 : i32\n %m = mod %i, %two : i32\n %odd = ne %m, %zero : u1\n {body}",
        len(elements),
        PLACES,
    )
    run_text(text, {"x": np.zeros(20, np.int32), "p": np.array(elements, np.int32)}, debug=True, **options)


def either(even: str, odd: str) -> str:
    return f"if %odd {{\n {ACCESSES[odd]}\n yield\n }} else {{\n {ACCESSES[even]}\n yield\n }}"


@pytest.mark.parametrize("lanes", [1, 100])
@pytest.mark.parametrize(("even", "odd"), list(itertools.product(ACCESSES, ACCESSES)))
def test_two_iterations_at_one_element_race_unless_both_only_read_or_both_are_atomic(even, odd, lanes):
    body = either(even, odd)
    run_accesses(body, [0, 1, 2, 3], lanes=lanes)
    if (even, odd) in HARMLESS:
        run_accesses(body, [5, 5, 5, 5], lanes=lanes)
        return
    with pytest.raises(AdstackRaceError, match=r"Race on field x at \(5\)") as caught:
        run_accesses(body, [1, 5, 2, 3, 5], lanes=lanes)
    message = str(caught.value)
    assert all(access in message for access in (even, odd))
    assert "iteration (1)" in message
    assert "iteration (4)" in message
    assert isinstance(caught.value, AdstackAssertionError)


@pytest.mark.parametrize("lanes", [1, 2, 100])
@pytest.mark.parametrize("op", ["writes", "reads"])
def test_accesses_far_apart_are_found(op, lanes):
    body = either("reads", "reads") + "\n %far = eq %i, %last : u1\n if %far {\n" + ACCESSES["writes"]
    body = "%last = const 18 : i32\n" + body + "\n yield\n } else {\n yield\n }"
    elements = [19, *range(1, 18), 19]
    with pytest.raises(
        AdstackRaceError, match=r"iteration \(18\) writes it here, iteration \(0\) reads it at user\.py:1:1"
    ):
        run_accesses(body, elements, lanes=lanes)


def test_both_source_lines_are_named():
    with pytest.raises(AdstackRaceError) as caught:
        run_accesses(either("writes", "reads"), [7, 7])
    message = str(caught.value)
    assert "user.py:1:1" in message
    assert "user.py:2:1" in message


@pytest.mark.parametrize("first", list(ACCESSES))
@pytest.mark.parametrize("second", list(ACCESSES))
def test_one_iteration_may_touch_its_own_element_in_any_way(first, second):
    run_accesses(f"{ACCESSES[first].replace('%v', '%w')}\n {ACCESSES[second]}", [3, 1, 2])


def test_a_reader_that_is_also_the_writer_does_not_hide_another_reader():
    body = ACCESSES["reads"] + f"\n if %odd {{\n {ACCESSES['writes']}\n yield\n }} else {{\n yield\n }}"
    for elements in ([5, 5], [1, 5, 5], [5, 5, 5]):
        with pytest.raises(AdstackRaceError):
            run_accesses(body, elements, lanes=1)


def test_all_iterations_writing_one_scalar_race_and_a_single_one_does_not():
    text = "store @s[], %i"
    with pytest.raises(AdstackRaceError, match=r"Race on field s at \(\)"):
        run_text(parallel(text, 3, "place @s : i32[] field"), {"s": np.zeros((), np.int32)}, debug=True)
    run_text(parallel(text, 1, "place @s : i32[] field"), {"s": np.zeros((), np.int32)}, debug=True)


def test_temporaries_count_as_well():
    with pytest.raises(AdstackRaceError, match="Race on temp t"):
        run_text(parallel("store @t[], %i", 3, "place @t : i32[] temp"), debug=True)


def test_several_axes_are_named():
    text = """kernel @k() {
      place @x : i32[?, ?] field
      %z = const 0 : i32
      %n = const 2 : i32
      parallel_for (%i = %z to %n, %j = %z to %n) {
        store @x[%i, %n], %j
        yield
      }
      return
    }
    """
    with pytest.raises(
        AdstackRaceError, match=r"at \(0, 2\): iteration \(0, 0\) writes it here, iteration \(0, 1\) writes"
    ):
        run_text(text, {"x": np.zeros((2, 3), np.int32)}, debug=True)


def test_loops_that_follow_each_other_do_not_race():
    text = """kernel @k() {
      place @x : i32[?] field
      %z = const 0 : i32
      %n = const 4 : i32
      parallel_for (%i = %z to %n) {
        store @x[%i], %i
        yield
      }
      %three = const 3 : i32
      parallel_for (%j = %z to %n) {
        %e = sub %three, %j : i32
        store @x[%e], %j
        yield
      }
      %v = load @x[%z] : i32
      store @x[%z], %v
      return
    }
    """
    x = np.zeros(4, np.int32)
    run_text(text, {"x": x}, debug=True)
    assert x.tolist() == [3, 2, 1, 0]


def test_races_are_looked_for_in_debug_mode_only():
    run_text(parallel("store @s[], %i", 3, "place @s : i32[] field"), {"s": np.zeros((), np.int32)})
