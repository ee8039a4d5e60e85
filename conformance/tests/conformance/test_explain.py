"""What explains a cell: the values, the programs, and on a backend that is wrong on purpose, where it first departs."""

from __future__ import annotations

import sys
from dataclasses import replace

from suites import write_suite

from adstack import inspection
from adstack.conformance.harness.cells import Status
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.backends import backend_subject

CASE = """
    @case(rules=["arith.floor"])
    def down(qd):
        x = qd.field(qd.f32, shape=2)

        @qd.kernel
        def k():
            for i in x:
                x[i] = qd.floor(x[i])

        return Run(k, given={x: [1.5, -1.5]}, expect={x: [1, -2]})
"""
WRONG = """
import sys
from adstack.backends.codegen_llvm.text.scalar_ops import EMITTERS
from adstack.ir.scalar_ops import FLOOR
from adstack.conformance.harness.worker import main
EMITTERS[FLOOR] = lambda site: site.call("trunc")
main(*sys.argv[1:])
"""


def test_a_cell_is_explained_if_that_is_asked_for_and_programs_are_told_once(tmp_path):
    root, right = write_suite(tmp_path, {"t/a.py": CASE}), backend_subject("cpu")
    wrong = replace(right, name="wrong", command=(sys.executable, "-c", WRONG), options=(("offline_cache", False),))
    cells = cells_of(collect(root), [wrong, right])
    first, second = run_cells(cells, Settings(inspection.budget, root=root, explain=True))
    assert (first.status, second.status) == (Status.WRONG_VALUE, Status.PASS)
    (value,) = first.details["values"]
    assert value["values"] == "shape 2: got 1.0, -1.0, expected 1.0, -2.0"
    (program,) = first.details["programs"]
    assert list(program["stages"]) == ["frontend", "sized"]
    assert "floor %" in program["stages"]["sized"]
    assert "# a.py:" in program["stages"]["frontend"]
    (departure,) = first.details["departures"]
    assert "floor" in departure
    assert "lane 1" in departure
    assert "the reference has -2.0, the backend -1.0" in departure
    assert list(second.details) == ["values"]
