"""Iterations that push say so ahead, sizers count them exactly, and memory is there for no more."""

from __future__ import annotations

import numpy as np
import pytest
from sizing_kit import after_forward, launched, sized_program, with_depths
from transforms_kit import kernel_of

from adstack.conformance.fuzz.smooth import smooth_buffers, smooth_kernel
from adstack.errors import InternalError
from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.structure import Program, Region
from adstack.ir.types import u1
from adstack.runtime.adstacks.layout import TaskHeap

LOOP = "for %j = %0 to {hi} carry (%a = %v) {{\n %s = sin %a\n yield %s\n}}"
GATED = (
    "%c = load @n[%i]\n %g = gt %c, %1\n %r = if %g -> (f64) {{\n %q = {loop}\n yield %q\n }} else {{\n yield %v\n }}"
)


def nest(loops, axes="%i = %0 to %4"):
    return kernel_of(
        "kernel @k() {\n place @x : f64[4] field\n place @y : f64[] field\n"
        "place @n : i32[4] field\n place @m : i32[] field\n"
        f"%0 = const 0 : i32\n %1 = const 1 : i32\n %3 = const 3 : i32\n %4 = const 4 : i32\n"
        f"parallel_for ({axes}) {{\n %v = load @x[%i]\n {loops}\n atomic add @y[], %r : f64\n yield\n }}\n return\n}}"
    )


def memory(counts=(3, 0, 5, 1)):
    values = {"x": np.linspace(0.1, 0.9, 4), "y": np.zeros(())}
    return {**values, "n": np.array(counts, np.int32), "m": np.array(7, np.int32)}


def heap_of(program: Program) -> TaskHeap:
    (heap,) = (heap for heap in map(TaskHeap.of, program.tasks) if heap.groups)
    return heap


def claimed(kernel, buffers=None):
    """How many iterations push, as sizers count them; None if that is not asked."""
    sized = sized_program(kernel, claims=True)
    _, depths = launched(sized, after_forward(kernel, buffers or memory()))
    number = heap_of(sized.program).claims
    return None if number is None else int(depths[number])


@pytest.mark.parametrize("counts", [(3, 0, 5, 1), (0, 0, 0, 0), (2, 2, 2, 2), (0, 0, 0, 9)], ids=str)
@pytest.mark.parametrize("hi", ["%c", "%3"])
def test_iterations_behind_a_condition_are_counted(counts, hi):
    kernel = nest(GATED.format(loop=LOOP.format(hi=hi)))
    assert claimed(kernel, memory(counts)) == sum(n > 1 for n in counts)


def test_loops_without_trips_need_nothing():
    assert claimed(nest("%c = load @n[%i]\n%r = " + LOOP.format(hi="%c"))) == 3


def test_of_nested_loops_the_outer_one_decides():
    inner = "for %k = %0 to %j carry (%d = %a) {\n %s = sin %d\n yield %s\n}"
    outer = f"%c = load @n[%i]\n%r = for %j = %0 to %c carry (%a = %v) {{\n %e = {inner}\n yield %e\n}}"
    assert claimed(nest(outer)) == 3


def test_beside_a_loop_that_all_iterations_run_none_is_told_apart():
    always = "%w = " + LOOP.format(hi="%3").replace("%j", "%h").replace("%a", "%b").replace("%s", "%t")
    assert claimed(nest(always + "\n" + GATED.format(loop=LOOP.format(hi="%3")).replace("%v", "%w"))) is None


def test_iterations_of_a_loop_that_only_a_counting_pass_can_size_are_counted():
    halving = """while (%a = %v, %k = %c) {
      %go = gt %k, %0
      yield %go, %a, %k
    } do (%b, %l) {
      %h = sub %l, %1
      %s = sin %b
      yield %s, %h
    }"""
    assert claimed(nest(GATED.format(loop="X").replace("%q = X", f"%q, %left = {halving}"))) == 2


def test_along_an_axis_that_does_not_matter_every_iteration_counts():
    kernel = nest(GATED.format(loop=LOOP.format(hi="%3")), "%i = %0 to %4, %k = %1 to %4")
    assert claimed(kernel) == 2 * 3


@pytest.mark.parametrize("hi", ["%3", "%deep"])
def test_where_all_iterations_push_alike_nothing_is_counted(hi):
    assert claimed(nest(f"%deep = load @m[]\n%r = {LOOP.format(hi=hi)}")) is None


def test_a_condition_that_takes_a_loop_to_compute_is_no_claim():
    search = "%most = for %j = %0 to %3 carry (%b = %0) {\n %e = load @n[%j]\n %d = add %b, %e\n yield %d\n}\n"
    gate = "%g = gt %most, %i\n %r = if %g -> (f64) {\n %q = " + LOOP.format(hi="%3").replace("%j", "%h")
    assert claimed(nest(search + gate + "\n yield %q\n } else {\n yield %v\n }")) is None


def test_nothing_is_claimed_unless_the_backend_hands_out_rows():
    sized = sized_program(nest(GATED.format(loop=LOOP.format(hi="%3"))))
    assert heap_of(sized.program).claims is None


def test_more_claims_than_were_counted_are_noticed():
    kernel = nest(GATED.format(loop=LOOP.format(hi="%3")))
    sized = sized_program(kernel, claims=True)
    before = after_forward(kernel, memory())
    _, depths = launched(sized, before)
    less = depths.copy()
    less[heap_of(sized.program).claims] -= 1
    with pytest.raises(InternalError, match=r"more iterations of .* need slots than were counted"):
        with_depths(sized, before, less)


def test_a_push_without_a_claim_is_noticed():
    sized = sized_program(nest(GATED.format(loop=LOOP.format(hi="%3"))), claims=True)
    before = after_forward(nest(GATED.format(loop=LOOP.format(hi="%3"))), memory())
    _, depths = launched(sized, before)
    (task,) = (task for task in sized.program.tasks if not task.sizes)
    (claim,) = (op for op in task.body.walk() if op.name == "stack.claim")
    b = Builder(Region())
    claim.set_operand(0, b.const(False, u1))
    task.body.ops[0:0] = b.region.ops
    with pytest.raises(InternalError, match="pushes that claimed no slots"):
        with_depths(sized, before, depths)


@pytest.mark.parametrize("seed", [2, 30, 32, 33, 35, 40])
def test_random_kernels_claim_as_often_as_they_push(seed):
    kernel = smooth_kernel(seed, 30, value_conditions=seed % 2 == 0)
    before = after_forward(kernel, smooth_buffers(kernel, seed))
    plain = {name: buffer.copy() for name, buffer in before.items()}
    run(sized_program(kernel).program, plain)
    sized = sized_program(kernel, claims=True)
    assert any(op.name == "stack.claim" for task in sized.program.tasks for op in task.body.walk())
    after, _ = launched(sized, before)
    for name, buffer in plain.items():
        assert after[name].tobytes() == buffer.tobytes(), name
