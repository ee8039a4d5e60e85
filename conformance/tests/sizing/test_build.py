"""Formulas of depths, put together from parts."""

from __future__ import annotations

import pytest

from adstack.ir.structure import Value
from adstack.ir.types import i64
from adstack.sizing.build import total
from adstack.sizing.expr import Const, Number, Plus

N, M = Number(Value(i64)), Number(Value(i64))


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        ((), Const(0)),
        ((Const(0),), Const(0)),
        ((Const(2), Const(3)), Const(5)),
        ((N,), N),
        ((N, Const(0)), N),
        ((Const(0), N, M), Plus((N, M))),
        ((Const(2), N, Const(3)), Plus((N, Const(5)))),
        ((Plus((N, Const(4))), M, Const(1)), Plus((N, M, Const(5)))),
    ],
)
def test_a_sum_keeps_all_its_terms_and_has_one_constant(terms, wanted) -> None:
    assert total(*terms) == wanted
