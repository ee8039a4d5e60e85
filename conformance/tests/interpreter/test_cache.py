"""Prepared kernels are kept, and made again once the IR has changed."""

from __future__ import annotations

import pytest
from interpreter_kit import read, serial

from adstack.errors import InternalError
from adstack.interpreter import RunOptions, cache, run
from adstack.interpreter.prepare import RULES
from adstack.ir.ops import LOAD, RETURN, TABLE, YIELD
from adstack.ir.scalar_ops import CONST, MUL, NEG
from adstack.ir.structure import Kernel, Op, Place, Region, Value
from adstack.ir.types import f32, i32

ADD = serial("%one = const 1 : i32\n %r = add %a, %one : i32\n return %r", "(%a: i32) -> (i32)")


def kernel() -> Kernel:
    parsed = read(ADD)
    assert isinstance(parsed, Kernel)
    return parsed


def test_a_kernel_is_prepared_once_per_mode():
    k = kernel()
    assert cache.prepared(k, False) is cache.prepared(k, False)
    assert cache.prepared(k, True) is not cache.prepared(k, False)


def test_a_kernel_that_was_changed_is_prepared_again():
    k = kernel()
    assert run(k, {}, (4,)) == (5,)
    k.body.ops[0].attrs["value"] = 10
    assert run(k, {}, (4,)) == (14,)
    k.body.ops[1].set_operand(1, k.body.args[0])
    assert run(k, {}, (4,)) == (8,)
    k.body.ops[1].opdef = MUL
    assert run(k, {}, (4,)) == (16,)
    k.body.ops.insert(1, Op(CONST, [], {"to": i32, "value": 3}, [three := Value(i32)]))
    k.body.ops[2].set_operand(1, three)
    assert run(k, {}, (4,)) == (12,)


def test_the_cache_does_not_grow_without_end():
    kept = [kernel() for _ in range(cache.CAPACITY + 5)]
    for k in kept:
        cache.prepared(k, False)
    assert len(cache.ENTRIES) <= cache.CAPACITY


def test_every_op_has_a_rule_or_a_meaning_or_ends_a_region():
    without = [row.name for row in TABLE.values() if row.meaning is None and row not in RULES]
    assert sorted(without) == ["return", "yield"]


@pytest.mark.parametrize("options", [RunOptions(), RunOptions(debug=True)])
def test_ir_that_the_verifier_rules_out_is_a_defect_of_ours(options):
    place = Place("x", f32)
    broken = {
        "before its definition": Op(NEG, [Value(f32)], {}, [Value(f32)]),
        "does not list": Op(LOAD, [], {"place": place}, [Value(f32)]),
        "can't stand here": Op(YIELD, []),
    }
    for message, op in broken.items():
        with pytest.raises(InternalError, match=message):
            run(Kernel("k", Region([], [op, Op(RETURN, [])])), {}, options=options)
