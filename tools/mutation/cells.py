"""Cells of the conformance matrix as tests that run in the process of the change."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from adstack import inspection
from adstack.conformance.harness.capture import Capture
from adstack.conformance.harness.cells import Cell, Subject
from adstack.conformance.harness.execute import Request, Target, perform
from adstack.conformance.harness.judge import judge
from adstack.conformance.harness.loading import CASES, collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.subjects.backends import backend_subject

__all__ = ["cell_test", "one_per_case"]


def cell_test(backend: str, cells: Sequence[Cell]) -> Callable[[Cell, Path], None]:
    """A test over cells: each passes."""

    @pytest.mark.filterwarnings("default")  # as in the matrix: what a case expects, it says
    @pytest.mark.parametrize("cell", cells, ids=lambda cell: f"{cell.entry.id}-{cell.mode}")
    def test(cell: Cell, tmp_path: Path) -> None:
        """A cell of the matrix passes."""
        import adstack

        request = Request(str(CASES), cell.entry.path, cell.entry.id, cell.mode, cell.seed)
        result = judge(cell, perform(request, Target(adstack, backend), Capture(tmp_path)), inspection.budget)
        assert not result.is_failure, result.message

    return test


def one_per_case(backend: str, patterns: Sequence[str], count: int) -> list[Cell]:
    """So many cells of the cases that match, of different ones as long as there are any; the same ones every time."""
    cells = cells_of(select(collect(), list(patterns)), [_subject(backend)])
    seen: dict[str, int] = {}
    ranked: list[tuple[int, Cell]] = []
    for cell in sorted(cells, key=lambda cell: hashlib.sha256(f"{cell.entry.id}{cell.mode}".encode()).digest()):
        case = cell.entry.id.partition(":")[0]
        seen[case] = seen.get(case, 0) + 1
        ranked.append((seen[case], cell))
    return [cell for _, cell in sorted(ranked, key=lambda pair: pair[0])[:count]]


def _subject(backend: str) -> Subject:
    """What the backend is here, found out in a process of its own: forks of one that uses Vulkan can't use it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
        return apart.submit(backend_subject, backend).result()
