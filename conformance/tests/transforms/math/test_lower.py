"""Transcendental ops become calls of the library's functions, with the same bits.

Rules: math.bits, math.fast
"""

from __future__ import annotations

import numpy as np
import pytest
from transforms_kit import PLAIN, after, agree, fuzz, golden, kernel_of, wrap

from adstack.conformance.fuzz.programs import random_kernel
from adstack.interpreter import run
from adstack.ir.functions import evaluate
from adstack.ir.ops import TABLE
from adstack.ir.types import f16, f32, f64
from adstack.transforms.loops.licm import licm
from adstack.transforms.math.algorithms import ALGORITHMS, FAST, PAIRS
from adstack.transforms.math.library import find, function
from adstack.transforms.math.lower import lower_math
from adstack.transforms.pipeline import lower
from adstack.transforms.rewriting.options import Options
from adstack.transforms.scalar.cse import cse
from adstack.transforms.scalar.dce import dce

ROWS = [row for row in TABLE.values() if row.transcendental]
HEAD = "kernel @k(%a: f32, %c: u1) -> (f32) {"


def ops_of(root):
    bodies = [task.body for task in root.tasks] if hasattr(root, "tasks") else [root.body]
    return [op for body in bodies for op in body.walk()]


def test_the_library_has_an_algorithm_for_every_transcendental_row_and_for_pairs():
    assert {row.name for row in ROWS} | PAIRS.keys() == set(ALGORITHMS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
def test_every_op_becomes_a_call_of_the_function_that_is_its_meaning(row, dtype):
    names = [f"%{n}" for n in "ab"[: len(row.signature.inputs)]]
    parameters = ", ".join(f"{n}: {dtype}" for n in names)
    body = f"%0 = {row.name} {', '.join(names)} : {dtype}\nreturn %0"
    kernel = kernel_of(wrap(body, f"kernel @k({parameters}) -> ({dtype}) {{"))
    lowered = after(lower_math, kernel)
    call = lowered.body.ops[0]
    assert (call.name, call.attrs["function"]) == ("call", function(row.name, dtype))
    for seed in range(3):
        agree(kernel, lowered, seed)


def test_no_transcendental_op_survives_lowering():
    seen = set()
    for seed in range(40):
        kernel = random_kernel(seed, 120)
        seen |= {op.name for op in ops_of(kernel) if op.opdef.transcendental}
        assert [op.name for op in ops_of(lower(kernel)) if op.opdef.transcendental] == []
    assert seen == {row.name for row in ROWS}


def test_sine_and_cosine_of_a_value_share_one_call():
    golden(
        lower_math,
        HEAD,
        "%0 = cos %a : f32\n%1 = exp %0 : f32\n%2 = sin %a : f32\n%3 = cos %1 : f32\n%4 = sub %2, %3 : f32\nreturn %4",
        "%0, %1 = call @sincos.f32 %a : f32, f32\n%2 = call @exp.f32 %1 : f32\n%3 = call @cos.f32 %2 : f32\n"
        "%4 = sub %0, %3 : f32\nreturn %4",
        PLAIN,
    )


def test_a_repeated_sine_beside_a_cosine_costs_nothing():
    body = "%0 = sin %a\n%1 = cos %a\n%2 = sin %a\n%3 = add %0, %2\n%4 = add %3, %1\nreturn %4"
    kernel = kernel_of(wrap(body, HEAD))
    assert [op.name for op in after(lower_math, kernel).body.ops] == ["call", "add", "add", "return"]


def test_sine_and_cosine_of_different_regions_do_not_share():
    golden(
        lower_math,
        HEAD,
        "%0 = sin %a : f32\n%1 = if %c -> (f32) {\n%2 = cos %a : f32\nyield %2\n} else {\nyield %0\n}\nreturn %1",
        "%0 = call @sin.f32 %a : f32\n%1 = if %c -> (f32) {\n%2 = call @cos.f32 %a : f32\nyield %2\n} else {\n"
        "yield %0\n}\nreturn %1",
        PLAIN,
    )


BRANCHES = """\
%0 = if %c -> (f32) {{
  %1 = {} %a : f32
  yield %1
}} else {{
  yield %a
}}
%2 = if {} -> (f32) {{
  {}
}} else {{
  {}
}}
%6 = add %0, %2 : f32
return %6
"""
TAKEN, NOT_TAKEN = "%3 = {} %a : f32\nyield %3", "yield %a"


@pytest.mark.parametrize(("one", "other", "pair"), [("sin", "cos", "sincos"), ("cosh", "sinh", "sinhcosh")])
def test_branches_of_one_condition_share(one, other, pair):
    kernel = kernel_of(wrap(BRANCHES.format(one, "%c", TAKEN.format(other), NOT_TAKEN), HEAD))
    lowered = after(lower_math, kernel)
    assert [op.attrs["function"].name for op in ops_of(lowered) if op.name == "call"] == [f"{pair}.f32"]
    first, second = (op for op in lowered.body.ops if op.name == "if")
    assert (len(first.results), len(second.regions[0].ops)) == (2, 1)
    for seed in range(3):
        agree(kernel, lowered, seed)


@pytest.mark.parametrize(
    ("condition", "then", "orelse"),
    [
        ("%c", NOT_TAKEN, TAKEN.format("cos")),
        ("%d", TAKEN.format("cos"), NOT_TAKEN),
        ("%c", TAKEN.format("cosh"), NOT_TAKEN),
    ],
    ids=["another side", "another condition", "another pair"],
)
def test_branches_of_which_one_may_run_alone_do_not_share(condition, then, orelse):
    head = "kernel @k(%a: f32, %c: u1, %d: u1) -> (f32) {"
    kernel = kernel_of(wrap(BRANCHES.format("sin", condition, then, orelse), head))
    lowered = after(lower_math, kernel)
    assert len([op for op in ops_of(lowered) if op.name == "call"]) == 2
    assert [len(op.results) for op in lowered.body.ops if op.name == "if"] == [1, 1]
    for seed in range(3):
        agree(kernel, lowered, seed)


def test_random_programs_keep_their_meaning():
    fuzz(lower_math, range(25))


def test_equal_calls_are_merged_with_all_their_results():
    body = "%0, %1 = call @sincos.f32 %a\n%2, %3 = call @sincos.f32 %a\n%4 = add %0, %3\nreturn %4"
    merged = after(cse, kernel_of(wrap(body, HEAD)))
    assert [op.name for op in merged.body.ops] == ["call", "add", "return"]


def test_calls_of_different_functions_are_not_merged():
    body = "%0 = call @sin.f32 %a\n%1 = call @cos.f32 %a\n%2 = add %0, %1\nreturn %2"
    assert [op.name for op in after(cse, kernel_of(wrap(body, HEAD))).body.ops] == ["call", "call", "add", "return"]


def test_a_call_whose_results_nobody_uses_goes():
    body = "%0, %1 = call @sincos.f32 %a\n%2 = call @exp.f32 %a\nreturn %1"
    assert [op.name for op in after(dce, kernel_of(wrap(body, HEAD))).body.ops] == ["call", "return"]


LOOP = """\
%0 = const 0 : i32
%1 = const 4 : i32
%2 = for %i = %0 to %1 carry (%s = %a) {
  %3, %4 = call @sincos.f32 %a
  %5 = if %c -> (f32) {
    %6 = call @exp.f32 %a
    yield %6
  } else {
    yield %3
  }
  %7 = add %4, %5
  %8 = add %s, %7
  yield %8
}
return %2
"""


def test_a_call_leaves_a_loop_but_not_a_branch():
    moved = after(licm, kernel_of(wrap(LOOP, HEAD)))
    assert [op.name for op in moved.body.ops] == ["const", "const", "call", "for", "return"]
    inside = [op.name for op in moved.body.ops[3].regions[0].walk()]
    assert inside == ["if", "call", "yield", "yield", "add", "add", "yield"]
    for seed in range(3):
        agree(kernel_of(wrap(LOOP, HEAD)), moved, seed)


def test_constants_fold_to_the_bits_that_running_gives():
    body = "%0 = const 0.7 : f32\n%1 = sin %0 : f32\n%2 = cos %0 : f32\n%3 = pow %1, %2 : f32\nreturn %3"
    kernel = kernel_of(wrap(body, "kernel @k() -> (f32) {"))
    program = lower(kernel)
    assert {op.name for op in ops_of(program)} == {"const", "store", "return"}
    assert run(program, {}) == run(after(lower_math, kernel), {}) == run(kernel, {})


def test_a_kernel_of_a_thousand_sines_stays_small():
    lines = "\n".join(f"%{k + 1} = sin %{k if k else 'a'} : f32" for k in range(1000))
    program = lower(kernel_of(wrap(f"{lines}\nreturn %1000", HEAD)))
    assert len(ops_of(program)) < 1010


def test_fast_math_takes_the_fast_variants_where_there_are_any():
    body = "%0 = sin %a : f32\n%1 = rsqrt %0 : f32\n%2 = exp %1 : f32\nreturn %2"
    program = lower(kernel_of(wrap(body, HEAD)), Options(fast_math=True))
    called = [op.attrs["function"].name for op in ops_of(program) if op.name == "call"]
    assert called == ["sin.fast.f32", "rsqrt.fast.f32", "exp.f32"]


@pytest.mark.parametrize("name", FAST)
def test_fast_variants_keep_nan_and_infinity(name):
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    usual, fast = (np.stack(evaluate(function(name, f32, fast), [x])) for fast in (False, True))
    np.testing.assert_array_equal(usual, fast)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_fast_variants_give_the_same_bits_near_zero(name):
    x = np.linspace(-1e5, 1e5, 2001).astype(np.float32)
    usual, fast = (evaluate(function(name, f32, fast), [x])[0] for fast in (False, True))
    assert usual.tobytes() == fast.tobytes()


def test_the_library_finds_its_functions_by_name():
    assert find("sin.f32") is function("sin", f32)
    assert find("sin.fast.f64") is function("sin", f64, fast=True)
    assert function("exp", f16, fast=True) is function("exp", f16)
    assert find("sin") is find("exp.fast.f32") is find("gamma.f32") is None
