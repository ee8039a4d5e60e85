"""Cases that expect what the tape oracle says, and the programs that are such cases."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack import inspection
from adstack.conformance.harness import programs
from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.backends import backend_subject

SUITE = """
from adstack.conformance.case import ORACLE, Gradient, Run, case


@case(rules=["t.x"], modes=["forward", "reverse"], bounded=True)
def asked(qd):
    x, y = qd.field(qd.f32, shape=3, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k(a: qd.f32):
        for i in x:
            y[None] += a * qd.sin(x[i])

    def run():
        k(0.1)
        k(0.7)

    def differentiate():
        with qd.ad.Tape(y):
            k(0.1)
            k(SECOND)

    wanted = Gradient(expect={x: ORACLE}, loss=y, by=differentiate)
    once = Run(run, given={x: [0.3, -1.1, 2.3], y: 0}, expect={y: ORACLE}, gradient=wanted)
    return [once, once]
"""


def results(folder: Path, second: str, subject: Subject | None = None) -> dict[str, Result]:
    target = folder / "cases" / "a" / "b.py"
    target.parent.mkdir(parents=True)
    target.write_text(textwrap.dedent(SUITE).replace("SECOND", second))
    oracle = backend_subject("reference")
    cells = cells_of(collect(folder / "cases"), [subject or oracle])
    outcomes = run_cells(cells, Settings(inspection.budget, root=folder / "cases", oracle=oracle))
    return {r.cell.mode: r for r in outcomes}


def other_language(folder: Path) -> Subject:
    """A subject that has no oracle of its own."""
    module = "from adstack import *\nfrom adstack import ad, init, reference\nimport numpy as np\n"
    (folder / "otherlanguage.py").write_text(module + "__version__ = '1'\n")
    ours = backend_subject("reference")
    start = ours.command[2].replace("import sys;", f"import sys; sys.path.insert(0, {str(folder)!r});")
    return Subject("other", "otherlanguage", "reference", (*ours.command[:2], start))


def test_what_the_oracle_says_passes_within_bounds(tmp_path: Path) -> None:
    outcomes = results(tmp_path, "0.7")
    assert {(one.status, one.exactness) for one in outcomes.values()} == {(Status.PASS, "bound")}


def test_another_gradient_than_the_oracles_is_wrong(tmp_path: Path) -> None:
    outcomes = results(tmp_path, "0.7001")
    assert outcomes["forward"].status is Status.PASS
    assert outcomes["reverse"].status is Status.WRONG_GRADIENT


@pytest.mark.parametrize(("second", "status"), [("0.7", Status.PASS), ("0.7001", Status.WRONG_GRADIENT)])
def test_subjects_without_an_oracle_are_held_against_ours(tmp_path: Path, second: str, status: Status) -> None:
    assert results(tmp_path, second, other_language(tmp_path))["reverse"].status is status


def test_the_oracle_differentiates_the_loss_whatever_gradients_there_are() -> None:
    qd.init(arch=qd.reference)
    x, y = qd.field(qd.f32, shape=2, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    x.from_numpy(np.array([3.0, 4.0], np.float32))
    x.grad.fill(7.0)
    y.grad.fill(5.0)
    (gradient,) = inspection.enclosures(k, "grad", [x], y)
    assert gradient.value.tolist() == [6.0, 8.0]
    assert (gradient.bound < 1e-6).all()
    (value,) = inspection.enclosures(k, "value", [y])
    assert value.value.tolist() == 25.0
    assert y[None] == 0


# ---- programs


@pytest.mark.parametrize("name", programs.NAMES)
def test_programs_have_two_sizes_and_say_what_they_are(name: str) -> None:
    source = programs.load(name, qd)
    assert set(source.SIZES) == {"reduced", "full"}
    reduced, full = source.SIZES["reduced"], source.SIZES["full"]
    assert reduced.keys() == full.keys()
    assert any(full[key] > reduced[key] for key in full)
    assert 20 < len(programs.title(name)) < 120


def test_a_program_imports_the_language_that_it_is_given() -> None:
    class Other:
        """Has the names that the module needs when it is loaded."""

        def __getattr__(self, name: str) -> Any:
            return getattr(qd, name)

    other = Other()
    module: Any = programs.load("wave", other)
    assert module.qd is other
    assert __import__("adstack") is qd


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="perpetuum"):
        programs.load("perpetuum-mobile", qd)
