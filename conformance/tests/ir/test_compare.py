"""Structural comparison: names do not matter, everything else does."""

from __future__ import annotations

import math

import pytest

from adstack.ir.compare import difference, same
from adstack.ir.location import Loc
from adstack.ir.text.parser import parse_ir

TEXT = """
kernel @k(%a: f32, %n: i32) -> (f32) {
  place @x : f32[4] field
  %y = const 0.0 : f32
  %z = sub %a, %y
  %r = for %i = %n to %n carry (%s = %z) {
    store @x[%i], %s
    yield %s
  }
  return %r
}
"""

CHANGES = {
    ("@k(", "@l("): "name: 'k' is not 'l'",
    ("const 0.0", "const -0.0"): "k: op 0 (const): attributes",
    ("sub %a, %y", "sub %y, %a"): "k: op 1 (sub): operands differ",
    ("sub", "add"): "k: ops: ['const', 'sub', 'for', 'return'] is not",
    ("f32[4]", "f32[5]"): "places: ",
    ("%n: i32", "%n: i64"): "k: arguments: [f32, i32] is not [f32, i64]",
    ("yield %s", "yield %a"): "k: op 2 (for): op 1 (yield): operands differ",
    ("const 0.0 : f32", 'const 0.0 : f32 loc("f":1:1)'): "k: op 0 (const): loc",
    ("-> (f32)", "-> (f64)"): "returns: (f32,) is not (f64,)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_and_named(change):
    report = difference(parse_ir(TEXT), parse_ir(TEXT.replace(*change)))
    assert report is not None
    assert report.startswith(CHANGES[change])


def test_names_of_values_do_not_matter():
    renamed = TEXT.replace("%s", "%state").replace("%z", "%0").replace("%a", "%b")
    assert same(parse_ir(TEXT), parse_ir(renamed))


def test_locations_matter_unless_left_out():
    moved = parse_ir(TEXT)
    moved.body.ops[0].loc = Loc("f", 1)
    assert not same(parse_ir(TEXT), moved)
    assert same(parse_ir(TEXT), moved, locs=False)


def test_a_nan_is_the_same_as_a_nan():
    text = TEXT.replace("const 0.0", "const nan")
    first, second = parse_ir(text), parse_ir(text)
    second.body.ops[0].attrs["value"] = -math.nan
    assert same(first, second)


def test_true_is_not_one():
    first, second = parse_ir(TEXT), parse_ir(TEXT)
    first.body.ops[0].attrs["value"], second.body.ops[0].attrs["value"] = True, 1
    assert not same(first, second)


def test_operands_that_are_not_defined_differ():
    first, second = parse_ir(TEXT), parse_ir(TEXT)
    for kernel in (first, second):
        kernel.body.ops[1].set_operand(0, first.body.ops[2].results[0])
    assert difference(first, second) == "k: op 1 (sub): operands differ"


def test_a_kernel_is_no_program_and_programs_compare_task_by_task():
    program = "program @k {\n task @t serial () {\n return\n }\n}"
    assert difference(parse_ir(TEXT), parse_ir(program)).startswith("kind of root")
    assert same(parse_ir(program), parse_ir(program))
    assert difference(parse_ir(program), parse_ir(program.replace("@t", "@u"))).startswith("tasks: ")
    more = program.replace(" return", " %0 = const 1 : i32\n return")
    assert difference(parse_ir(program), parse_ir(more)).startswith("t: ops")
