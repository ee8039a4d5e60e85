"""Signatures: result types for operand types, and what is said where there are none."""

from __future__ import annotations

import pytest

from adstack.errors import IRError
from adstack.ir.opdef import Budget, Signature, exact, ulp
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.types import ALL, FLOATS, INTS, ArrayType, StackType, f16, f32, f64, i8, i32, u1


def test_a_variable_is_bound_by_its_first_operand():
    rule = Signature("T T -> T", T="numeric")
    assert rule.infer("add", [i8, i8], {}) == [i8]
    with pytest.raises(IRError, match=r"^add: operand 1 must be one of i8, got i32 \(rule: T T -> T\)$"):
        rule.infer("add", [i8, i32], {})


def test_a_scalar_type_stands_for_itself():
    rule = Signature("u1 T T -> T", T="any")
    assert rule.infer("select", [u1, f32, f32], {}) == [f32]
    with pytest.raises(IRError, match=r"^select: operand 0 must be u1, got f32"):
        rule.infer("select", [f32, f32, f32], {})
    assert Signature("T -> i32", T="int").infer("clz", [i8], {}) == [i32]


def test_an_attribute_names_the_result():
    rule = Signature("S -> $to", S="any", to="real")
    assert rule.infer("cast", [i8], {"to": f64}) == [f64]
    for wrong in ({"to": i8}, {"to": "f64"}, {}):
        with pytest.raises(IRError, match=r"^cast: attribute 'to' must be a scalar type, got"):
            rule.infer("cast", [i8], wrong)


def test_the_number_of_operands_is_checked():
    with pytest.raises(IRError, match=r"^neg: expected 1 operands \(T -> T\), got 2$"):
        Signature("T -> T", T="any").infer("neg", [i8, i8], {})


def test_a_class_may_be_a_tuple_of_types():
    rule = Signature("T -> T", T=(f16, i8))
    assert rule.infer("x", [f16], {}) == [f16]
    with pytest.raises(IRError, match="must be one of f16 i8, got f32"):
        rule.infer("x", [f32], {})


@pytest.mark.parametrize("handle", [ArrayType(f32, 2), StackType(f32)], ids=str)
def test_handles_are_no_scalars(handle):
    for line in ("T -> T", "f32 -> f32"):
        with pytest.raises(IRError, match="operand 0 must be"):
            Signature(line, T="any").infer("x", [handle], {})


def test_budgets_are_per_type_and_zero_for_integers():
    assert ulp(1.5) == Budget(f16=1.0, f32=1.5, f64=3.0)
    assert [ulp(1, 2).of(t) for t in (f16, f32, f64, i32)] == [1.0, 1.0, 2.0, 0.0]
    assert [exact.of(t) for t in FLOATS] == [0.0] * 3


def test_rows_are_kept_under_their_names_and_documented():
    for name, row in TABLE.items():
        assert row.name == name
        assert row.doc
        assert repr(row) == f"<op {name}>"


def test_pure_rows_touch_no_memory_and_have_no_regions():
    for row in TABLE.values():
        if row.pure:
            assert (row.reads, row.writes, row.regions, row.terminator) == (False, False, 0, False), row


def test_rows_with_a_budget_are_the_transcendental_ones():
    assert {name for name, row in TABLE.items() if row.budget != exact} == {
        name for name, row in TABLE.items() if row.transcendental
    }


def test_commutative_rows_take_their_first_two_operands_from_one_class():
    for row in TABLE.values():
        if row.commutative:
            assert row.signature.inputs[:2] == ("T", "T"), row


def test_atomics_know_their_types():
    assert {kind.over for kind in ATOMICS.values()} <= {"any", "numeric", "bits"}
    assert {name: kind.operands for name, kind in ATOMICS.items() if kind.operands != 1} == {"cas": 2}


def accepts(rule, dtype):
    try:
        return rule.infer("x", [dtype], {}) == [dtype]
    except IRError:
        return False


def test_classes_cover_what_their_names_say():
    for over, members in (("any", ALL), ("int", INTS), ("real", FLOATS), ("bits", (u1, *INTS))):
        rule = Signature("T -> T", T=over)
        assert {dtype for dtype in ALL if accepts(rule, dtype)} == set(members)
