"""Runs made from a plain function: what they seed and expect, and that wrong kernels are found out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from suites import no_budgets

import adstack as qd
from adstack import inspection
from adstack.conformance.gradients import agrees, floats, real
from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.backends import backend_subject

HEADER = """
from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import sin

"""
SINE = """
@case(rules=["t.x"], **BOUNDED)
def asked(qd, dtype):
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = KERNEL

    return agrees(k, lambda x: [PLAIN for a in x], {x: [0.3, -1.1, 2.3]}, [y])
"""


def results(
    folder: Path, kernel: str, plain: str, subject: Subject | None = None, modes: Sequence[str] = ()
) -> dict[tuple[str, str], Result]:
    target = folder / "cases" / "a" / "b.py"
    target.parent.mkdir(parents=True)
    target.write_text(HEADER + textwrap.dedent(SINE).replace("KERNEL", kernel).replace("PLAIN", plain))
    oracle = backend_subject("reference")
    cells = cells_of(collect(folder / "cases"), [subject or oracle], modes)
    outcomes = run_cells(cells, Settings(inspection.budget, root=folder / "cases", oracle=oracle))
    return {(r.cell.entry.id.partition(":")[2], r.cell.mode): r for r in outcomes}


def test_a_right_kernel_passes_in_every_mode_and_type(tmp_path: Path) -> None:
    outcomes = results(tmp_path, "qd.sin(x[i]) * x[i]", "sin(a) * a")
    assert len(outcomes) == 6
    assert {(result.status, result.exactness) for result in outcomes.values()} == {(Status.PASS, "bound")}


@pytest.mark.parametrize("error", ["2.0**-19", "-2.0**-19"])
def test_an_error_of_a_few_units_is_found(tmp_path: Path, error: str) -> None:
    outcomes = results(tmp_path, f"qd.sin(x[i]) * x[i] * (1.0 + {error})", "sin(a) * a")
    assert {result.status for (_, mode), result in outcomes.items() if mode == "forward"} == {Status.WRONG_VALUE}
    assert {result.status for (_, mode), result in outcomes.items() if mode != "forward"} == {Status.WRONG_GRADIENT}


def test_the_seeds_and_the_expectations_are_those_of_the_jacobian() -> None:
    qd.init(arch=qd.reference)
    x, w, y = real(qd, qd.f32, 2), real(qd, qd.f32, ()), real(qd, qd.f32, 2)
    run = agrees(None, lambda x, w: [x[0] * x[1], w * x[0]], {x: [2.0, 3.0], w: 5.0}, [y])
    asked = run.gradient
    assert asked is not None
    a, b = asked.seed[y]
    assert run.expect == {y: [6, 10]}
    assert asked.expect == {x: [3 * a + 5 * b, 2 * a], w: 2 * b, y: [0, 0]}
    ((field, direction),) = asked.forward_seed.items()
    assert field is x
    assert asked.forward_expect == {y: [3 * direction[0] + 2 * direction[1], 5 * direction[0]]}
    assert all(value not in (0, 1) for value in (a, b, *direction))


def test_inputs_are_what_the_field_holds() -> None:
    qd.init(arch=qd.reference)
    x, y = real(qd, qd.f32, 1), real(qd, qd.f32, 1)
    run = agrees(None, lambda x: [x[0] * 3], {x: [0.1]}, [y])
    assert run.expect[y] == [3 * Fraction(13421773, 2**27)]


def test_a_loss_is_seeded_by_the_tape() -> None:
    qd.init(arch=qd.reference)
    x, y = real(qd, qd.f32, 2), real(qd, qd.f32, ())
    run = agrees(None, lambda x: x[0] * x[1], {x: [2.0, 3.0]}, [y], loss=y)
    asked: Any = run.gradient
    assert (asked.seed, asked.expect, asked.loss) == ({}, {x: [3, 2]}, y)


def test_random_inputs_are_the_same_in_every_run() -> None:
    assert floats(5) == floats(5)
    assert floats(5, start=1) != floats(5)
    assert all(-2 <= value <= 2 and value and value * 8 == int(value * 8) for value in floats(100))


def test_subjects_without_error_analysis_get_the_bounds_of_the_oracle(tmp_path: Path) -> None:
    module = "from adstack import *\nfrom adstack import ad, init, reference\nimport numpy as np\n"
    (tmp_path / "otherlanguage.py").write_text(module + "__version__ = '1'\n")
    ours = backend_subject("reference")
    start = ours.command[2].replace("import sys;", f"import sys; sys.path.insert(0, {str(tmp_path)!r});")
    other = Subject("other", "otherlanguage", "reference", (*ours.command[:2], start))
    outcomes = results(tmp_path, "qd.sin(x[i]) * x[i]", "sin(a) * a", other)
    assert {(result.status, result.exactness) for result in outcomes.values()} == {(Status.PASS, "bound")}
    assert no_budgets("sin", "f32") == 2.0


def test_where_the_oracle_has_no_bounds_the_case_is_at_fault(tmp_path: Path) -> None:
    ours = backend_subject("reference")
    for kernel in ("unheard_of(x[i])", "x[__import__('os')._exit(7)]"):
        outcomes = results(
            tmp_path / kernel[:1], kernel, "a * 1", replace(ours, name="other", module="adstack.values"), ["reverse"]
        )
        assert {result.status for result in outcomes.values()} == {Status.BROKEN}
        assert all("no error bounds: reference" in result.message for result in outcomes.values())


def test_a_bound_that_says_nothing_breaks_the_case(tmp_path: Path) -> None:
    outcomes = results(tmp_path, "(x[i] + 2.0**30) - 2.0**30 - x[i]", "(a + 1) - 1 + a * 0.001 - a")
    result = outcomes["f32", "forward"]
    assert result.status is Status.BROKEN
    assert "says nothing" in result.message
