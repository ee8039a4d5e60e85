"""Small suites for the tests of the harness: case files on disk, and a subject made of plain Python and numpy."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from adstack.conformance.harness import execute
from adstack.conformance.harness.cells import Gap, Refusal, Result, Subject
from adstack.conformance.harness.loading import Entry, collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.kernels.graph import Graph

# A "language" whose kernels are Python functions: fields are numpy arrays, and a kernel may do anything at all.
MODULE = """
import numpy as np

__version__ = (1, 2)
cpu, f32, f64, i32 = "cpu", np.float32, np.float64, np.int32

class Field:
    def __init__(self, dtype, shape):
        self.array = np.zeros(shape, dtype)
    def to_numpy(self):
        return self.array.copy()
    def from_numpy(self, array):
        self.array[...] = array

class ad:
    @staticmethod
    def clear_all_gradients():
        pass
    class FwdMode:
        def __init__(self, loss, param, seed):
            param.dual.array.flat[:] = seed
        def __enter__(self):
            pass
        def __exit__(self, *exc):
            pass

def init(arch, **options):
    global told
    told = {"arch": arch, **options}

def sync():
    pass

def field(dtype, shape):
    return Field(dtype, shape)

def kernel(function):
    return function
"""

HEADER = """
import os
import time
import numpy as np
from adstack.conformance.case import IR, Gradient, Raises, Run, Total, case
"""


def write_suite(folder: Path, files: Mapping[str, str]) -> Path:
    """Case files under `folder`/cases; returns that root."""
    root = folder / "cases"
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(HEADER + textwrap.dedent(text))
    return root


def plain_subject(folder: Path, name: str = "plain", gaps: tuple[Gap, ...] = ()) -> Subject:
    """The subject whose module is `MODULE`."""
    (folder / "plainlanguage.py").write_text(MODULE)
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); "
        "from adstack.conformance.harness.worker import main; main(*sys.argv[1:])"
    )
    return Subject(name, "plainlanguage", "cpu", (sys.executable, "-c", code), device="numpy", version="1.2", gaps=gaps)


def no_budgets(op: str, dtype: str) -> float:
    return {"sin": 2.0}[op]


def run_suite(
    folder: Path,
    files: Mapping[str, str],
    *,
    gaps: tuple[Gap, ...] = (),
    refusals: tuple[Refusal, ...] = (),
    timeout: float = 60.0,
    jobs: int = 1,
    seed: int = 0,
) -> dict[str, Result]:
    """Results by case id."""
    root = write_suite(folder, files)
    subject = replace(plain_subject(folder, gaps=gaps), refusals=refusals)
    cells = cells_of(collect(root), [subject], seed=seed)
    results = run_cells(cells, Settings(no_budgets, timeout, root), jobs=jobs)
    return {result.cell.entry.id: result for result in results}


def first_variants() -> list[Entry]:
    """One variant of every case."""
    firsts: dict[str, Entry] = {}
    for entry in collect():
        firsts.setdefault(entry.id.partition(":")[0], entry)
    return list(firsts.values())


def without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases are launched, nobody asks how exact their results may be expected to be, and no result ends a loop."""
    monkeypatch.setattr(execute.CaseLaunch, "_bounds", lambda self, of, expectations: [])
    monkeypatch.setattr(Graph, "do_while", lambda self, condition: self.launch())
