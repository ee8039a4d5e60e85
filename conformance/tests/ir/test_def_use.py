"""What regions define, and what is live into them."""

from __future__ import annotations

from interpreter_kit import read, serial

from adstack.ir.def_use import defined_in, live_in, live_into

NEST = """
  %one = const 1 : i32
  %late = add %a, %one : i32
  %more = lt %a, %late : u1
  %r = for %i = %one to %a carry (%s = %one) {
    %t = add %s, %late : i32
    %u = if %more {
      %v = add %t, %i : i32
      yield %v
    } else {
      yield %a
    }
    yield %u
  }
  return %r
"""


def names(values):
    return [value.name for value in values]


def ops():
    return read(serial(NEST, "(%a: i32) -> (i32)")).body.ops


def test_a_region_defines_its_arguments_and_all_that_is_nested_in_it():
    assert sorted(names(defined_in(ops()[3].regions[0]))) == ["i", "s", "t", "u", "v"]


def test_what_is_live_into_a_region_comes_once_in_the_order_of_first_use():
    assert names(live_in(ops()[3].regions[0])) == ["late", "more", "a"]


def test_what_one_of_several_regions_defines_is_not_live_into_them_together():
    loop = ops()[3]
    branch = loop.regions[0].ops[1]
    assert names(live_in(*branch.regions)) == ["t", "i", "a"]
    assert names(live_in(branch.regions[0], loop.regions[0])) == ["late", "more", "a"]


def test_an_op_takes_its_operands_and_what_is_live_into_its_regions():
    _, add, _, loop, _ = ops()
    assert names(live_into(add)) == ["a", "one"]
    assert names(live_into(loop)) == ["one", "a", "late", "more"]
