"""References to cells: reading, writing, runtime indices through vectors over them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from adstack.errors import AdstackTypeError
from adstack.frontend.emission.context import Context
from adstack.frontend.emission.expr import Expr
from adstack.frontend.emission.references import cell_matrix, index_value, is_live
from adstack.frontend.variables import cells
from adstack.ir.structure import Region, Value
from adstack.ir.types import f32, i32, i64, u1
from adstack.values.protocol import lowering


def _context(default_ip: object = i32) -> Context:
    return Context(SimpleNamespace(default_fp=f32, default_ip=default_ip), Region())


def test_a_vector_over_a_cell_reads_and_writes_it() -> None:
    context = _context()
    with lowering(context):
        cell = cells.Cell("c", i32, 3)
        vector = cell_matrix(cell, (3,))
        at = Expr(Value(i32))
        vector[1] = 5
        vector[at] = 6
        assert isinstance(vector[2], Expr)
        assert isinstance(vector[at], Expr)
    assert is_live(vector)
    names = [op.name for op in context.body.ops if op.name.startswith("cell")]
    assert names == ["cell.write", "cell.write", "cell.read", "cell.read"]
    assert [op.attrs["at"] for op in context.body.ops if op.name.startswith("cell")] == [1, None, 2, None]


def test_an_index_is_an_integer_of_a_type_that_holds_it() -> None:
    with lowering(_context(i64)):
        assert index_value(3).type is i32
        assert index_value(2**40).type is i64
        assert index_value(Expr(Value(u1))).type is i32
        assert index_value(Expr(Value(i64))).type is i64
        for wrong in (True, 1.5, None, Expr(Value(f32))):
            with pytest.raises(AdstackTypeError, match="an index must be an integer"):
                index_value(wrong)
