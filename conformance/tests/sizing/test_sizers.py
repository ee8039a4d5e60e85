"""Sizers compute exactly how deep adstacks get, in the same launch, and gradients stay what they are to the bit."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sizing_kit import after_forward, launched, reverse_program, sized_program, with_depths
from transforms_kit import kernel_of

from adstack.conformance.fuzz.smooth import smooth_buffers, smooth_kernel
from adstack.errors import AdstackOverflowError
from adstack.interpreter import run
from adstack.ir.ops import FOR, STACK_OPS
from adstack.ir.structure import Kernel
from adstack.sizing.evaluate import evaluate
from adstack.sizing.expr import MOST

PLACES = """
  place @x : f64[4] field
  place @y : f64[] field
  place @n : i32[4] field
  place @m : i64[4] field
"""


def nest(loops: str, *, parameters: str = "", body: str = "") -> Kernel:
    """A kernel whose iterations carry a value through a loop nest."""
    return kernel_of(
        f"kernel @k({parameters}) {{{PLACES}"
        f"  %0 = const 0 : i32\n %1 = const 1 : i32\n %4 = const 4 : i32\n"
        f"  parallel_for (%i = %0 to %4) {{\n %v = load @x[%i]\n {loops}\n"
        f"    atomic add @y[], %r : f64\n yield\n }}\n return\n}}"
    )


SIMPLE = "%r = for %j = %0 to {hi} carry (%a = %v) {{\n" + "%s = sin %a\n yield %s\n}}"


def memory(counts=(3, 0, 5, 1)):
    return {
        "x": np.linspace(0.1, 0.9, 4),
        "y": np.zeros(()),
        "n": np.array(counts, np.int32),
        "m": np.array(counts, np.int64),
    }


def texts(sized):
    return [size.text for size in sized.sizes]


def test_a_bound_from_memory_is_a_maximum_over_the_threads():
    kernel = nest("%c = load @n[%i]\n" + SIMPLE.format(hi="%c"))
    sized = sized_program(kernel)
    assert texts(sized) == ["max over i of max(n[i], 0)"]
    assert [task.kind for task in sized.program.tasks if task.sizes] == ["serial", "parallel"]
    _, depths = launched(sized, after_forward(kernel, memory()))
    assert depths.tolist() == [5]


def test_a_bound_that_is_the_same_for_all_threads_takes_no_loop():
    kernel = nest("%c = load @n[%1]\n" + SIMPLE.format(hi="%c"))
    sized = sized_program(kernel)
    assert [task.kind for task in sized.program.tasks if task.sizes] == ["serial"]
    _, depths = launched(sized, after_forward(kernel, memory((1, 7, 1, 1))))
    assert depths.tolist() == [7]


@pytest.mark.parametrize(
    ("levels", "product"),
    [
        (3, "(((n[i] * n[1]) * n[1]) * n[1])"),
        (4, "((((n[i] * n[(computed)]) * n[1]) * n[1]) * n[1])"),
        (5, "(((((c * q) * n[(computed)]) * n[1]) * n[1]) * n[1])"),
    ],
)
def test_the_text_of_a_formula_has_seven_levels(levels, product):
    """What is deeper is named, not spelled; the bound is within the trip count and a cast."""
    steps = [f"%c{k + 1} = mul %c{k}, %q" for k in range(levels)]
    loop = SIMPLE.format(hi=f"%c{levels}")
    sized = sized_program(nest("\n".join(["%c0 = load @n[%i]", "%q = load @n[%1]", *steps, loop])))
    assert texts(sized) == [f"max over i of max({product}, 0)"]


def test_constant_bounds_take_no_sizer():
    sized = sized_program(nest("%5 = const 5 : i32\n" + SIMPLE.format(hi="%5")))
    assert sized.sizes == ()
    assert not any(task.sizes for task in sized.program.tasks)


TRIANGLE = """
  %c = load @n[%i]
  %r = for %j = %0 to %c carry (%a = %v) {
    %b = for %k = %0 to %j carry (%d = %a) {
      %s = sin %d
      yield %s
    }
    yield %b
  }
"""


def test_the_depth_of_a_triangle_is_its_area_without_looping():
    kernel = nest(TRIANGLE)
    sized = sized_program(kernel)
    assert any("sum(max(k, 0) for k in range(0, n[i]))" in text for text in texts(sized))
    assert not any(op.name == "for" for task in sized.program.tasks if task.sizes for op in task.body.walk())
    _, depths = launched(sized, after_forward(kernel, memory((3, 0, 9, 1))))
    assert 9 * 8 // 2 in depths.tolist()


def test_a_triangle_with_bounds_of_64_bits_is_summed_up():
    """There the inner count is the outer index itself: no op computes it."""
    wide = TRIANGLE.replace("load @n[%i]", "load @m[%i]\n  %z = const 0 : i64").replace("%0", "%z")
    kernel = nest(wide)
    sized = sized_program(kernel)
    assert any("sum(max(k, 0) for k in range(0, m[i]))" in text for text in texts(sized))
    _, depths = launched(sized, after_forward(kernel, memory((3, 0, 9, 1))))
    assert 9 * 8 // 2 in depths.tolist()


@pytest.mark.parametrize(
    ("bound", "is_formula", "depth"),
    [
        ("add %j, %1", True, 9 * 10 // 2),
        ("add %1, %j", True, 9 * 10 // 2),
        ("add %j, %2", False, 9 * 12 // 2),  # may wrap: nothing but running it tells
        ("add %j, %m1", False, 8 * 7 // 2),
        ("add %j, %c", False, 9 * 8 // 2 + 9 * 9),
        ("min %j, %1", False, 8),
    ],
)
def test_a_triangle_may_be_moved_by_one(bound, is_formula, depth):
    constants = "%2 = const 2 : i32\n  %m1 = const -1 : i32\n  %c = load @n[%i]"
    moved = TRIANGLE.replace("%c = load @n[%i]", constants).replace("%b = for", f"%e = {bound}\n    %b = for")
    kernel = nest(moved.replace("%0 to %j", "%0 to %e"))
    sized = sized_program(kernel)
    loops = [op for task in sized.program.tasks if task.sizes for op in task.body.walk() if op.opdef is FOR]
    assert (not loops) == is_formula
    _, depths = launched(sized, after_forward(kernel, memory((3, 0, 9, 1))))
    assert depth in depths.tolist()


def test_a_triangle_that_is_too_large_to_count_saturates():
    """What is below the first iteration is not taken off what can't be counted."""
    wide = TRIANGLE.replace("@n[%i]", "@m[%1]\n  %lo = load @m[%i]").replace("%j = %0", "%j = %lo").replace("%0", "%z")
    sized = sized_program(nest("%z = const 0 : i64\n" + wide))
    sizers = [task for task in sized.program.tasks if task.sizes]
    assert not any(op.opdef is FOR for task in sizers for op in task.body.walk())
    depths = np.zeros(len(sized.sizes), np.int64)
    only = type(sized.program)("sizers", sizers, sized.program.places)
    run(only, {"m": np.array([5, 2**40, 7, 5]), "x": np.zeros(4), "depths": depths, **gradients()})
    assert max(depths) == MOST


BRANCHED = """
  %c = load @n[%i]
  %g = gt %c, %4
  %e = if %g -> (i32) {
    %p = load @n[%0]
    yield %p
  } else {
    %q = load @n[%1]
    yield %q
  }
"""


@pytest.mark.parametrize("counts", [(3, 2, 1, 1), (6, 9, 5, 5), (3, 7, 9, 1)])
def test_the_host_evaluates_the_branch_that_is_taken(counts):
    """A bound that comes from a branch is a number of the program."""
    kernel = nest(BRANCHED + SIMPLE.format(hi="%e"))
    sized = sized_program(kernel)
    before = after_forward(kernel, memory(counts))
    _, depths = launched(sized, before)
    expected = max(counts[0] if count > 4 else counts[1] for count in counts)
    (size,) = sized.sizes
    assert evaluate(size, (), before) == depths[size.number] == expected


RAGGED = TRIANGLE.replace("%0 to %j", "%0 to %c2").replace("%b = for", "%c2 = load @n[%j]\n    %b = for")


def test_the_depth_of_a_ragged_nest_is_the_true_count_not_the_product_of_maxima():
    kernel = nest(RAGGED)
    sized = sized_program(kernel)
    _, depths = launched(sized, after_forward(kernel, memory((3, 0, 4, 1))))
    assert max(depths) == 3 + 0 + 4 + 1


SUM = """
  %t = for %j = %0 to %4 carry (%a = %0) {
    %c = load @n[%j]
    %s = add %a, %c
    yield %s
  }
"""


def test_a_sizer_that_reads_what_an_earlier_task_computes_runs_after_that_task():
    """The other sizer of the task, which sets the depth to 0, reads nothing."""
    kernel = kernel_of(
        f"kernel @k() {{{PLACES}  %0 = const 0 : i32\n %1 = const 1 : i32\n %4 = const 4 : i32\n {SUM}"
        f"  parallel_for (%i = %0 to %4) {{\n %v = load @x[%i]\n %c2 = add %t, %i\n"
        f"    {SIMPLE.format(hi='%c2')}\n    atomic add @y[], %r : f64\n yield\n }}\n return\n}}"
    )
    sized = sized_program(kernel)
    assert sized.transient
    before = after_forward(kernel, memory())
    _, depths = launched(sized, before)
    assert depths.tolist() == [3 + 0 + 5 + 1 + 3]


WHILE = """
  %2 = const 2.0 : f64
  %r = while (%a = %v) {
    %go = lt %a, %2 : u1
    yield %go, %a
  } do (%b) {
    %h = const 0.25 : f64
    %q = mul %b, %b
    %p = add %q, %h
    %s = add %p, %b
    yield %s
  }
"""


def test_a_while_is_counted_by_running_what_decides_its_end():
    kernel = nest(WHILE)
    sized = sized_program(kernel)
    assert texts(sized) == ["counted"]
    before = after_forward(kernel, memory())
    _, depths = launched(sized, before)
    with pytest.raises(AdstackOverflowError):
        with_depths(sized, before, depths - 1)
    with_depths(sized, before, depths)


def test_a_counting_pass_pushes_nothing():
    first = re.sub(r"%(?!v\b)(\w+)", r"%\1_1", WHILE)
    sized = sized_program(nest(first + WHILE.replace("%a = %v", "%a = %r_1")))
    assert texts(sized) == ["counted", "counted"]
    assert not any(op.opdef in STACK_OPS for task in sized.program.tasks if task.sizes for op in task.body.walk())


def test_a_counting_pass_keeps_what_fills_a_local_array():
    kernel = nest(
        "%t = array.alloc : array<i32, 4>\n %c = load @n[%i]\n array.store %t, %1, %c\n %h = array.load %t, %1\n"
        + SIMPLE.format(hi="%h")
    )
    sized = sized_program(kernel)
    _, depths = launched(sized, after_forward(kernel, memory((1, 2, 6, 1))))
    assert depths.tolist() == [6]


def test_what_is_too_large_to_count_saturates():
    loops = """
      %c = load @m[%i]
      %z = const 0 : i64
      %r = for %j = %z to %c carry (%a = %v) {
        %b = for %k = %z to %c carry (%d = %a) {
          %s = sin %d
          yield %s
        }
        yield %b
      }
    """
    sized = sized_program(nest(loops))
    sizers = [task for task in sized.program.tasks if task.sizes]
    depths = np.zeros(len(sized.sizes), np.int64)
    only = type(sized.program)("sizers", sizers, sized.program.places)
    run(only, {"m": np.array([1, 2**40, 5, 2**62]), "x": np.zeros(4), "depths": depths, **gradients()})
    assert max(depths) == MOST


def gradients():
    return {"y": np.zeros(()), "n": np.zeros(4, np.int32), "x.grad": np.zeros(4), "y.grad": np.zeros(())}


@pytest.mark.parametrize("dtype", ["i64", "u64", "i32", "u32"])
def test_bounds_of_every_type_are_exact(dtype):
    text = TRIANGLE.replace("load @n[%i]", f"cast %c0 : {dtype}").replace("%c =", "%c0 = load @m[%i]\n  %c =", 1)
    text = text.replace("%0 to", "%z to").replace("%c0 =", f"%z = const 0 : {dtype}\n  %c0 =", 1)
    kernel = nest(text)
    sized = sized_program(kernel)
    before = after_forward(kernel, memory((3, 0, 6, 1)))
    _, depths = launched(sized, before)
    assert sorted({*depths.tolist()}) in ([6, 15], [15])


@pytest.mark.parametrize("seed", range(30))
def test_random_kernels_are_sized_exactly_enough_and_keep_their_gradients(seed):
    kernel = smooth_kernel(seed, 30, value_conditions=seed % 2 == 0)
    before = after_forward(kernel, smooth_buffers(kernel, seed))
    plain = {name: buffer.copy() for name, buffer in before.items()}
    run(reverse_program(kernel), plain)
    sized = sized_program(kernel)
    after, depths = launched(sized, before)
    for name, buffer in plain.items():
        assert after[name].tobytes() == buffer.tobytes(), name
    for size in sized.sizes:
        if depths[size.number]:
            less = depths.copy()
            less[size.number] -= 1
            with pytest.raises(AdstackOverflowError):
                with_depths(sized, before, less)
        if size.expr is not None and not sized.transient:
            # what sizers do not read of temporaries does not matter
            temps = {p.name: np.zeros((), p.dtype.numpy) for p in sized.program.places.values() if p.kind == "temp"}
            assert evaluate(size, (), {**temps, **before}) == depths[size.number], size.text
