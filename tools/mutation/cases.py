"""The cases about gradients as tests, on the interpreter: the widest of what notices a change to reverse mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from adstack import inspection
from adstack.conformance.harness.capture import Capture
from adstack.conformance.harness.cells import Cell
from adstack.conformance.harness.execute import Request, Target, perform
from adstack.conformance.harness.judge import judge
from adstack.conformance.harness.loading import CASES, collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.subjects.backends import backend_subject

CELLS = cells_of(select(collect(), ["gradients/*"]), [backend_subject("reference")])


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.entry.id}-{cell.mode}")
def test_gradients(cell: Cell, tmp_path: Path) -> None:
    """A cell of the matrix passes."""
    import adstack

    request = Request(str(CASES), cell.entry.path, cell.entry.id, cell.mode, cell.seed)
    result = judge(cell, perform(request, Target(adstack, "reference"), Capture(tmp_path)), inspection.budget)
    assert not result.is_failure, result.message
