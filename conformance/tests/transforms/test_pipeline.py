"""All passes together: same meaning, same errors, the input untouched, the cost linear."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from transforms_kit import DEBUG, PLAIN, agree, kernel_of, outcome, wrap

from adstack.analysis.facts import mod_ref
from adstack.conformance.fuzz.programs import kernels, random_buffers, random_kernel, random_params, sized_kernel
from adstack.errors import AdstackAssertionError, AdstackOutOfBoundsError, IRError
from adstack.ir.builder import Builder
from adstack.ir.compare import difference
from adstack.ir.structure import Kernel, Op, Place, Region, Value
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f32, i32
from adstack.ir.verify.verifier import verify
from adstack.transforms import pipeline
from adstack.transforms.pipeline import STAGES, lower, optimize
from adstack.transforms.rewriting.rewrite import clone_kernel


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setenv("ADSTACK_VERIFY", "1")


@given(kernels(transcendentals=False))
def test_random_programs_keep_their_meaning(kernel):
    agree(kernel, optimize(kernel), 1)
    agree(kernel, lower(kernel), 2)


@given(kernels(transcendentals=False))
def test_random_programs_keep_their_errors_in_debug_mode(kernel):
    agree(kernel, optimize(kernel, DEBUG), 1, debug=True)
    agree(kernel, lower(kernel, DEBUG), 2, debug=True)


def test_larger_programs_keep_their_meaning():
    for seed in range(12):
        kernel = random_kernel(seed, 400, transcendentals=False)
        agree(kernel, lower(kernel), seed)
        agree(kernel, lower(kernel, DEBUG), seed, debug=True)


def test_optimising_twice_changes_nothing_more():
    for seed in range(40):
        once = optimize(random_kernel(seed, 80, transcendentals=False))
        twice = optimize(optimize(once))
        assert print_ir(optimize(twice)) == print_ir(twice)


def test_the_kernel_given_stays_as_it_is():
    kernel = random_kernel(3, 120)
    copy = clone_kernel(kernel)
    lower(kernel)
    assert difference(kernel, copy) is None


def test_every_stage_is_seen_in_order():
    seen: list[str] = []
    lower(random_kernel(1), observe=lambda stage, root: (seen.append(stage), verify(root))[0])
    assert tuple(seen) == STAGES


def test_a_pass_that_breaks_the_ir_is_named(monkeypatch):
    def forgetful(body, options, analyses):
        del body.ops[-1]
        return ()

    monkeypatch.setattr(pipeline, "PASSES", (("forgetful", forgetful),))
    with pytest.raises(IRError, match="after forgetful"):
        optimize(random_kernel(1))


def test_a_pass_that_preserves_less_than_it_says_is_named(monkeypatch):
    def empties(body, options, analyses):
        analyses.get(mod_ref, body)
        body.ops[1].regions[0].keep(lambda op: op.name == "yield")
        return (mod_ref,)

    kernel = kernel_of(
        wrap(
            """
            place @o : i32[4] field
            %i = const 0 : i32
            parallel_for (%k = %i to %i) {
              store @o[%k], %k
              yield
            }
            return
            """
        )
    )
    monkeypatch.setattr(pipeline, "PASSES", (("empties", empties),))
    with pytest.raises(IRError, match="after empties: the analysis mod_ref is said to be preserved, and its result"):
        optimize(kernel)


@pytest.mark.parametrize(
    ("line", "debug", "error"),
    [
        ("%u = load @x[%n] : i32", True, AdstackOutOfBoundsError),
        ("%u = floordiv %one, %zero : i32", True, AdstackAssertionError),
        ("%u = shl %one, %n : i32", True, AdstackAssertionError),
        ('assert %no, "no"', True, AdstackAssertionError),
        ("%u = floordiv %one, %zero : i32", False, None),
        ('assert %no, "no"', False, None),
    ],
)
def test_what_raised_raises_though_nobody_uses_it(line, debug, error):
    kernel = kernel_of(
        wrap(
            f"""
            place @x : i32[4] field
            %zero = const 0 : i32
            %one = const 1 : i32
            %n = const 77 : i32
            %no = const false : u1
            {line}
            return
            """
        )
    )
    options = DEBUG if debug else PLAIN
    for root in (kernel, optimize(kernel, options), lower(kernel, options)):
        result = outcome(root, [], random_buffers(kernel, 0), debug)
        assert result is error if error else not isinstance(result, type)


def test_nothing_that_did_not_run_raises():
    kernel = kernel_of(
        wrap(
            """
            place @x : i32[4] field
            place @o : i32[4] field
            %zero = const 0 : i32
            %r = for %i = %zero to %n carry (%c = %zero) {
              %d = floordiv %n, %n : i32
              %l = load @x[%n] : i32
              %s = add %d, %l : i32
              yield %s
            }
            store @o[%zero], %r
            return
            """,
            "kernel @k(%n: i32) {",
        )
    )
    for options in (PLAIN, DEBUG):
        result = outcome(lower(kernel, options), [0], random_buffers(kernel, 0), options.debug)
        assert not isinstance(result, type)


def test_accesses_can_be_kept_for_autodiff():
    kernel = kernel_of(
        wrap(
            """
            place @x : f32[] field
            store @x[], %f
            %l = load @x[] : f32
            %m = add %l, %l : f32
            store @x[], %m
            return
            """,
            "kernel @k(%f: f32) {",
        )
    )
    assert print_ir(optimize(kernel, keep_accesses=True)).count("@x[]") == 3
    assert print_ir(optimize(kernel)).count("@x[]") == 1


def calls(work: Callable[[], Any]) -> int:
    """How many Python functions run: a measure of work that no other process disturbs."""
    count = 0

    def hook(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def unrolled(count: int) -> Kernel:
    """A straight line that loads, computes and stores, as unrolling makes them."""
    b = Builder()
    place = Place("x", f32, (count,))
    i = Value(i32, "i")
    body = Region([i])
    with b.into(body):
        total = b.const(0.0, f32)
        for n in range(count):
            at = b.add(i, b.const(n, i32))
            total = b.add(b.mul(b.load(place, [at]), b.const(n / 2, f32)), total)
            b.store(place, [at], total)
        b.yield_()
    b.parallel_for([(b.const(0, i32), b.const(1, i32))], body)
    b.return_()
    return Kernel("unrolled", b.region, {"x": place})


@pytest.mark.parametrize("make", [lambda n: sized_kernel(n, 5), lambda n: unrolled(n // 6)], ids=["random", "unrolled"])
def test_the_cost_is_linear_in_the_number_of_ops(make, monkeypatch):
    monkeypatch.setenv("ADSTACK_VERIFY", "0")
    small, large = make(2000), make(10000)
    sizes = [sum(1 for _ in kernel.body.walk()) for kernel in (small, large)]
    costs = [calls(lambda kernel=kernel: lower(kernel)) for kernel in (small, large)]
    assert costs[1] / costs[0] < 2 * sizes[1] / sizes[0]


def test_loops_may_be_nested_a_hundred_deep():
    b = Builder()
    lo, hi, x = b.const(0, i32), b.const(2, i32), Value(i32, "x")
    b.region.define((x,))
    inner: list[Op] = []

    def nest(depth: int) -> Region:
        region = Region([Value(i32), Value(i32)])
        with b.into(region):
            value = b.add(region.args[1], x)
            if depth:
                (value,) = b.for_(lo, hi, [value], nest(depth - 1))
            inner.append(b.yield_(value))
        return region

    (result,) = b.for_(lo, hi, [x], nest(100))
    b.return_(result)
    kernel = Kernel("deep", b.region, {}, (i32,))
    assert len(lower(kernel).tasks) == 1
    assert len(inner) == 101
    assert random_params(kernel, 0)
