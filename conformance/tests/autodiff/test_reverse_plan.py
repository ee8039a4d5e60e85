"""The plan of a reverse kernel, as text: all that is decided, before anything is emitted."""

from __future__ import annotations

import pytest
from checkpoint_kit import kernels, places
from reverse_kit import gradients_of
from structures_kit import END, START, kernel, threads

from adstack.autodiff.planning.plan import ReversePlan
from adstack.autodiff.planning.planner import plan_reverse
from adstack.autodiff.planning.text import print_plan
from adstack.autodiff.reverse import Checkpoints, emit, reverse
from adstack.errors import AdstackDataAccessError
from adstack.ir.structure import Kernel
from adstack.ir.text.printer import print_ir
from adstack.transforms.pipeline import optimize

HEAD = """
  adjoint of @x in @x.grad
  adjoint of @w in @w.grad
  adjoint of @y in @y.grad
  adjoint of @z in @z.grad
  adjoint of @t in @t.grad"""

FOR = "%r = for %k = %0 to %m carry (%v = %a) {\nBODY\nyield %d\n}"
WHILE = "%q, %r = while (%j = %0, %v = %a) {\n%c = lt %v, %u\nyield %c, %j, %v\n} do (%l, %o) {\n"
SOMETIMES = (
    "%at = {}\n%ten = const 10 : i32\n%rest = mod %at, %ten\n%c = eq %rest, %0\n"
    "%d = if %c {{\n%s = sin %v\nyield %s\n}} else {{\n{}\n}}"
)

PLANS = {
    "a factor of a sum over a loop": (
        START + FOR.replace("BODY", "%e = exp %v\n%s = mul %e, %u\n%d = sin %s") + END,
        """
  %r = for %k: depth from trip count
    %r = for %k saves %e : f64
    body of %r = for %k recomputes %s = mul""",
    ),
    "a while, rotated": (
        START + WHILE + "%d = mul %o, %u\n%n = add %l, %1\nyield %n, %d\n}" + END,
        """
  %going, %r = while: depth from counting sweep
    %going, %r = while saves %o : f64""",
    ),
    "a loop in a loop": (
        START
        + FOR.replace("BODY", "%p = for %l = %0 to %k carry (%o = %v) {\n%g = mul %o, %o\nyield %g\n}\n%d = sin %p")
        + END,
        """
  %r = for %k: depth from counting sweep
    %r = for %k saves %p : f64
    %p = for %l saves %o : f64
    body of %r = for %k recomputes trips of %p = for %l""",
    ),
    "a branch that is counted": (
        START
        + FOR.replace(
            "BODY",
            "%ten = const 10 : i32\n%rest = mod %k, %ten\n%c = eq %rest, %0\n"
            "%d = if %c {\n%s = sin %v\nyield %s\n} else {\nyield %v\n}",
        )
        + END,
        """
  %r = for %k: depth from counting sweep
    side 0 of %d = if saves %v : f64
    body of %r = for %k recomputes %rest = mod, %c = eq""",
    ),
    "a branch that iterations take each for itself": (
        START + FOR.replace("BODY", SOMETIMES.format("add %k, %i", "yield %v")) + END,
        """
  %r = for %k: depth from counting sweep
    side 0 of %d = if saves %v : f64
    body of %r = for %k recomputes %at = add, %rest = mod, %c = eq""",
    ),
    "both sides of a branch that iterations take each for itself": (
        START + FOR.replace("BODY", SOMETIMES.format("add %k, %i", "%p = exp %v\nyield %p")) + END,
        """
  %r = for %k: depth from trip count
    %r = for %k saves %v : f64
    body of %r = for %k recomputes %at = add, %rest = mod, %c = eq
    side of %d = if recomputes %p = exp""",
    ),
    "nothing": (
        START + FOR.replace("BODY", "%d = add %v, %u") + END,
        """
  %r = for %k""",
    ),
}


def plan_of(text: str, checkpoints: Checkpoints | None = None) -> ReversePlan:
    source = optimize(kernel(text), keep_accesses=True)
    return plan_reverse(source, gradients_of(source), checkpoints=checkpoints)


@pytest.mark.parametrize("name", PLANS)
def test_what_an_iteration_of_a_parallel_loop_saves_and_recomputes(name: str) -> None:
    body, expected = PLANS[name]
    assert print_plan(plan_of(threads(body))) == f"reverse of @k{HEAD}\nparallel_for (%i){expected}\n"


def test_serial_code_before_a_parallel_loop_is_swept_twice_and_adjoints_of_its_values_are_summed() -> None:
    serial = "%a = load @z[]\n%r = for %k = %0 to %5 carry (%v = %a) {\n%d = sin %v\nyield %d\n}\n"
    plan = plan_of(serial + threads("%u = load @x[%i]\n%s = mul %u, %r\nstore @y[%i], %s"))
    assert (
        print_plan(plan).removeprefix(f"reverse of @k{HEAD}\n")
        == """serial
  %a = load
serial, swept twice
  %r = for %k: depth from trip count
    %r = for %k saves %v : f64
parallel_for (%i)
  sums adjoint of %r in @adjoint0
"""
    )


def test_a_checkpointed_loop_has_a_state() -> None:
    plan = plan_of(threads(PLANS["a loop in a loop"][0]), Checkpoints(3, 2))
    assert print_plan(plan).splitlines()[-2:] == [
        "    %r = for %k has 3 snapshots, blocks of 2",
        "      state: %v",
    ]


def test_a_loop_that_needs_what_has_changed_is_not_checkpointed() -> None:
    serial = "%a = load @x[%0]\n%r = for %k = %0 to %5 carry (%v = %a) {\nstore @t[], %v\n%d = sin %v\nyield %d\n}\n"
    text = print_plan(plan_of(f"{serial}store @z[], %r", Checkpoints(3, 2)))
    assert "  not checkpointed: This loop can't be checkpointed: it would have to run again, and t, which it" in text
    assert "snapshots" not in text


def test_an_update_whose_order_matters_is_refused_by_the_plan() -> None:
    with pytest.raises(AdstackDataAccessError, match="the derivative of atomic product depends on the order"):
        plan_of(threads("%a = load @x[%i]\n%o = atomic mul @z[], %a"))


@pytest.mark.parametrize("checkpoints", [None, Checkpoints(3, 2), Checkpoints(2, 1, 3)], ids=repr)
@pytest.mark.parametrize("name", ["nests", "serial", "arrays_of_a_branch"])
def test_planning_leaves_the_kernel_and_emission_leaves_the_plan(name: str, checkpoints: Checkpoints | None) -> None:
    source: Kernel = kernels()[name]
    before = print_ir(source)
    plan = plan_reverse(source, places(source), checkpoints=checkpoints)
    planned, rotated = print_plan(plan), print_ir(plan.source)
    emitted = [print_ir(emit(plan)) for _ in range(2)]
    assert emitted == [print_ir(reverse(source, places(source), checkpoints=checkpoints))] * 2
    assert (print_ir(source), print_ir(plan.source), print_plan(plan)) == (before, rotated, planned)
