"""Uses of values: what replacing, changing and erasing does to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.errors import IRError
from adstack.ir.builder import Builder
from adstack.ir.ops import RETURN
from adstack.ir.scalar_ops import ADD, NEG
from adstack.ir.structure import Kernel, Op, Region, Value
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.types import i32
from adstack.ir.verify.verifier import verify
from adstack.transforms.rewriting.rewrite import clone_kernel

NESTED = """
kernel @k (%n: i32, %c: u1) -> (i32) {
  %r = if %c {
    %s = for %i = %n to %n carry (%a = %n) {
      %b = add %a, %n
      yield %b
    }
    yield %s
  } else {
    yield %n
  }
  return %r
}
"""


def sums():
    """Two values and three ops that take them."""
    b = Builder()
    x, y = b.const(1, i32), b.const(2, i32)
    ops = [b.append(ADD, pair, (i32,)) for pair in ((x, x), (x, y), (y, y))]
    return x, y, ops


def test_a_value_knows_how_often_each_op_takes_it():
    x, y, (first, second, third) = sums()
    assert x.uses == {first: 2, second: 1}
    assert y.uses == {second: 1, third: 2}


def test_replacing_a_value_moves_all_its_uses():
    x, y, (first, second, third) = sums()
    x.replace_all_uses_with(y)
    assert not x.uses
    assert y.uses == {first: 2, second: 2, third: 2}
    assert first.operands == second.operands == (y, y)


def test_replacing_a_value_with_itself_changes_nothing():
    x, _, (first, second, _) = sums()
    x.replace_all_uses_with(x)
    assert x.uses == {first: 2, second: 1}


def test_operands_are_set_and_appended_with_their_uses():
    x, y, (first, second, third) = sums()
    first.set_operand(1, y)
    third.append_operands([x])
    second.set_operands([])
    assert (first.operands, second.operands, third.operands) == ((x, y), (), (y, y, x))
    assert x.uses == {first: 1, third: 1}
    assert y.uses == {first: 1, third: 2}


def test_an_op_that_is_erased_uses_nothing_at_any_depth():
    kernel = parse_ir(NESTED)
    n, c = kernel.params
    branch, end = kernel.body.ops
    branch.erase()
    assert not n.uses
    assert not c.uses
    assert branch.result.uses == {end: 1}


def test_ops_that_a_region_does_not_keep_are_erased():
    kernel = parse_ir("kernel @k (%a: i32) -> (i32) {\n%b = neg %a\n%c = neg %a\nreturn %c\n}")
    (a,) = kernel.params
    dead, live, end = kernel.body.ops
    kernel.body.keep(lambda op: op is not dead)
    assert kernel.body.ops == [live, end]
    assert a.uses == {live: 1}
    verify(kernel)


def test_a_region_that_is_erased_is_empty():
    kernel = parse_ir(NESTED)
    kernel.body.erase()
    assert kernel.body.ops == []
    assert not any(value.uses for value in kernel.params)


def test_a_clone_uses_nothing_of_what_it_is_cloned_from():
    kernel = parse_ir(NESTED)
    before = {value: dict(value.uses) for value in kernel.params}
    verify(clone_kernel(kernel))
    assert {value: value.uses for value in kernel.params} == before


@given(st.data())
def test_uses_are_those_of_the_operands_after_any_changes(data):
    values = [Value(i32, name) for name in "abc"]
    ops = [Op(ADD, [values[0], values[1]], {}, [Value(i32)]) for _ in range(4)]
    body = Region(list(values), [*ops, Op(RETURN, [])])
    one = st.sampled_from(values)
    for change in data.draw(st.lists(st.sampled_from(["replace", "set", "erase"]), max_size=12)):
        op = data.draw(st.sampled_from(ops))
        if change == "replace":
            data.draw(one).replace_all_uses_with(data.draw(one))
        elif change == "set":
            op.set_operands([data.draw(one), data.draw(one)])
        elif op in body.ops:
            body.keep(lambda other, gone=op: other is not gone)
    for op in ops:
        if op not in body.ops:
            op.erase()
    kernel = Kernel("k", body)
    verify(kernel)
    assert print_ir(kernel).count(" = add ") == sum(op in body.ops for op in ops)


def test_the_verifier_looks_at_the_uses_of_each_task_and_function():
    program = parse_ir("program @k {\n task @t serial (%a: i32) {\n return\n }\n}")
    (task,) = program.tasks
    Op(NEG, task.body.args, {}, [Value(i32)])
    with pytest.raises(IRError, match="neg: it is listed among the uses of a value"):
        verify(program)
