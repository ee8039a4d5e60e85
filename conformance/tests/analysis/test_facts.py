"""What passes may rely on: traps look at the second operand alone, and memory that may be shared counts as shared."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.analysis.facts import ModRef, alias_class
from adstack.ir.ops import TABLE
from adstack.ir.structure import Place, Value
from adstack.ir.types import INTS, ArrayType, f32, i32

TRAPS = [row for row in TABLE.values() if row.trap is not None]


@pytest.mark.parametrize("row", TRAPS, ids=lambda row: row.name)
def test_a_trap_depends_on_the_second_operand_and_the_type_of_the_first(row):
    for to in INTS:
        firsts = np.array([0, 1, to.min, to.max, 7], to.numpy)
        for second in (0, 1, to.max, to(-1), to(31)):
            seconds = np.full_like(firsts, second)
            assert len(set(np.broadcast_to(row.trap.when(firsts, seconds), firsts.shape).tolist())) == 1


def places() -> dict[str, Place | Value]:
    kinds = ("field", "field2", "ndarray", "ndarray2", "temp", "result")
    by_name: dict[str, Place | Value] = {name: Place(name, f32, (), name.rstrip("2")) for name in kinds}
    by_name["array"] = Value(ArrayType(i32, 4))
    return by_name


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("field", {"field", "ndarray", "ndarray2"}),
        ("ndarray", {"ndarray", "ndarray2", "field", "field2"}),
        ("temp", {"temp"}),
        ("result", {"result"}),
        ("array", {"array"}),
    ],
)
def test_a_write_may_change_itself_and_what_may_overlap(written, changed):
    memory = places()
    touched = ModRef()
    touched.written.add(memory[written])
    touched.classes.add(alias_class(memory[written]))
    assert {name for name, one in memory.items() if touched.may_write(one)} == changed
