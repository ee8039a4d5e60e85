"""Random kernels are what the reference says they are, and what fails is reduced to a few lines."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adstack import inspection
from adstack.conformance.fuzz import differential
from adstack.conformance.fuzz.choices import Choices
from adstack.conformance.fuzz.differential.grammar import FEATURES, program
from adstack.conformance.fuzz.differential.reports import record, text, write
from adstack.conformance.fuzz.differential.search import Search, drawn
from adstack.conformance.fuzz.differential.trials import Laboratory
from adstack.conformance.harness.cells import Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.backends import backend_subject

KITS = Path(__file__).parents[2] / "kits"
"""Where the subject is whose import changes a derivative: it is never imported here."""
RESULTS = Path(differential.__file__).parents[2] / "results" / "peers" / "fuzz"
START = "from adstack.conformance.harness.worker import main; main(*sys.argv[1:])"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(inspection.budget, 120.0, tmp_path, backend_subject("reference"), lasting=True)


@pytest.fixture
def wrong() -> Subject:
    """A subject whose derivative of the sine is wrong."""
    command = (sys.executable, "-c", f"import sys; sys.path.insert(0, {str(KITS)!r}); {START}")
    return Subject("mistaken", "mistaken", "reference", command)


def test_programs_are_the_same_in_every_run() -> None:
    assert drawn(3, 14).text == drawn(3, 14).text
    assert drawn(3, 14).text != drawn(3, 15).text


def test_no_choices_are_the_simplest_program() -> None:
    assert program(Choices(())).text.splitlines() == [
        "@qd.kernel",
        "def k():",
        "    for i in range(4):",
        "        a = x[i]",
        "        a = a",
        "        y[i] = a",
    ]


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_kernels_that_are_kept_are_drawn_from_their_choices(file: Path) -> None:
    content = json.loads(file.read_text())
    for one in content["findings"]:
        choices = Choices([int(choice) for choice in one["choices"].split()])
        assert program(choices, content["without"]).text.splitlines() == one["kernel"]


def test_every_feature_is_drawn() -> None:
    constructs = set().union(*(drawn(0, number).constructs for number in range(300)))
    assert {"carried value", "while", "break", "vector", "gather", "two launches", "function call"} <= constructs
    without = set().union(*(drawn(0, number, FEATURES).constructs for number in range(50)))
    assert all(one.startswith("function ") and one != "function call" for one in without)


def test_the_reference_passes_random_programs(settings: Settings) -> None:
    programs = [drawn(1, number) for number in range(6)]
    with Laboratory(backend_subject("cpu"), settings, ("forward", "reverse", "forward-mode"), "f64") as laboratory:
        assert [verdict.failure for verdict in laboratory.examine(programs)] == [None] * 6


def test_a_wrong_derivative_is_reduced_to_one_line(settings: Settings, wrong: Subject, tmp_path: Path) -> None:
    with Laboratory(wrong, settings, ("forward", "reverse"), "f64") as laboratory:
        outcome = Search(laboratory, 1, ("kinks", "second kernel", "second loop")).run(300, count=8)
    finding = outcome.findings[0]
    assert finding.failure.status is Status.WRONG_GRADIENT
    assert "sin" in finding.program.text
    assert len(finding.program.text.splitlines()) <= 6
    assert sum(outcome.failures.values()) == outcome.alike + len(outcome.findings)

    listed = record(outcome, wrong, {"seed": 1})
    assert listed["findings"][0]["kernel"] == finding.program.text.splitlines()
    assert "qd.sin" in text(listed)
    write(outcome, replace(wrong, command=(sys.executable,), module="adstack"), tmp_path / "out" / "fuzz", "f64")
    assert collect(tmp_path / "out")[0].case.modes == ("forward", "reverse")
    report = (tmp_path / "out" / "fuzz" / f"finding_{finding.number}.md").read_text()
    assert "differences" in report


def test_a_batch_that_is_refused_is_run_one_by_one(settings: Settings) -> None:
    good = drawn(1, 0, FEATURES)
    bad = replace(good, functions=("@qd.kernel", "def k():", "    for i in x:", "        y[i] = x[i] + nothing"))
    with Laboratory(backend_subject("reference"), settings, ("reverse",), "f64") as laboratory:
        verdicts = [verdict.failure for verdict in laboratory.examine([good, bad])]
    assert verdicts[0] is None
    assert verdicts[1] is not None


def test_a_program_whose_numbers_cancel_is_no_finding(settings: Settings) -> None:
    """The sums of its gradient are 0 but for rounding, which the error bound exceeds: that tells of no subject."""
    cancelling = drawn(9411, 505)
    with Laboratory(backend_subject("cpu"), settings, ("forward", "reverse"), "f64") as laboratory:
        (verdict,) = laboratory.examine([cancelling])
    assert verdict.failure is None
