"""What reversing a loop keeps: the least that the rest follows from, in branches and in loops of either kind."""

from __future__ import annotations

import pytest
from reverse_kit import ops, reversed_kernel
from structures_kit import END, START, kernel, threads

STEP = "%s = sin %v\n%d = mul %s, %u\n"
FOR = "%r = for %k = %0 to %m carry (%v = %a) {{\n{}\n}}"
WHILE = "%q, %r = while (%j = %0, %o = %a) {\n%c = lt %j, %m\nyield %c, %j, %o\n} do (%l, %v) {\n"
PLANS = {
    "a for": (FOR.format(STEP + "yield %d"), ["v"]),
    "a while": (WHILE + STEP + "%e = add %l, %1\nyield %e, %d\n}", [""]),
    "a branch": (
        FOR.format("%c = gt %v, %one\n%p = if %c {\n" + STEP + "yield %d\n} else {\nyield %v\n}\nyield %p"),
        ["v"],
    ),
    "an index": (FOR.format("%f = load @w[%k]\n%d = mul %v, %f\nyield %d"), ["v"]),
    "the result of a function": (FOR.format("%e = tanh %v\n%d = exp %e\nyield %d"), ["e"]),
    "nothing": (FOR.format("%d = add %v, %u\nyield %d"), []),
    "a factor without an adjoint": (FOR.format("%g = cast %k : f64\n%d = mul %v, %g\nyield %d"), []),
    "two values for three": (
        (
            "%r, %z0 = for %k = %0 to %m carry (%v = %a, %b = %u) {\n%c = add %v, %b\n%d = sub %v, %b\n"
            "%e = add %v, %c\n%f = sin %c\n%g = sin %d\n%h = sin %e\n%i0 = add %f, %g\n"
            "%j = add %i0, %h\nyield %j, %f\n}"
        ),
        ["v", "b"],
    ),
    "the trip count of a loop inside": (
        FOR.format("%p = for %l = %0 to %k carry (%o = %v) {\n%d = add %o, %u\nyield %d\n}\nyield %p"),
        [],
    ),
    "a narrow integer": (
        FOR.format(
            "%h = cast %k : i64\n%f = load @w[%h]\n%g = load @x[%h]\n%b = mul %f, %g\n%d = add %v, %b\nyield %d"
        ),
        [],
    ),
}


TEN = "%ten = const 10 : i32\n%rest = mod %k, %ten\n"
OFTEN = {
    "a branch that a remainder picks": (TEN + "%c = eq %rest, %0\n%p = if %c {\nBODY} else {\nyield %v\n}", "yes"),
    "the side of all others": (TEN + "%c = ne %rest, %0\n%p = if %c {\nyield %v\n} else {\nBODY}", "no"),
    "what a loop computes": ("%c = gt %v, %one\n%p = if %c {\nBODY} else {\nyield %v\n}", ""),
    "both sides, alike": (TEN + "%c = eq %rest, %0\n%p = if %c {\nBODY} else {\nMORE}", ""),
}


@pytest.mark.parametrize("name", OFTEN)
def test_a_branch_keeps_what_it_looks_at_if_it_is_known_how_often_it_is_taken(name: str) -> None:
    text, side = OFTEN[name]
    more = STEP.replace("%s", "%s2").replace("%d", "%d2") + "yield %d2\n"
    body = text.replace("BODY", STEP + "yield %d\n").replace("MORE", more)
    gradient = reversed_kernel(kernel(threads(START + FOR.format(body + "\nyield %p") + END)))
    inside = [
        "yes" if region is op.regions[0] else "no"
        for op in ops(gradient, "if")
        for region in op.regions
        if any(one.name == "stack.put" for one in region.ops)
    ]
    assert inside == [side] * bool(side)
    assert len(ops(gradient, "stack.put")) == 1


@pytest.mark.parametrize("name", PLANS)
def test_what_the_rest_follows_from_is_kept(name: str) -> None:
    body, wanted = PLANS[name]
    gradient = reversed_kernel(kernel(threads(START + body + END)))
    assert [op.operands[2].name for op in ops(gradient, "stack.put")] == wanted


def test_memory_that_is_written_elsewhere_is_kept_and_not_read_again() -> None:
    body = FOR.format("%f = load @y[%i]\n%d = mul %v, %f\nyield %d") + "\nstore @z[], %r"
    gradient = reversed_kernel(kernel(threads("store @y[%i], %half\n" + START + body)))
    assert [op.operands[2].name for op in ops(gradient, "stack.put")] == ["v", "f"]
