"""What the tables of cases promise is there."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

from adstack.conformance.forms import TRIPS, forms
from adstack.conformance.harness.loading import CASES, collect

README = Path(CASES) / "gradients" / "README.md"
ROWS = dict(re.findall(r"^\| (E\d+) \|.*?\| (`.*`) \|$", README.read_text("utf-8"), re.MULTILINE))
ENTRIES = collect()
OTHERS = dict(
    re.findall(r"^\| ([A-D]\d+) \|.*?\| (`.*`) \|$", (Path(CASES) / "README.md").read_text("utf-8"), re.MULTILINE)
)
FORMS = ("gradients/forms.py", "gradients/more_forms.py")
TESTS = Path(__file__).parents[1]


def cases_of(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", ROWS[row])


def test_every_row_of_the_contract_has_cases():
    assert list(ROWS) == [f"E{number}" for number in range(1, 13)]
    assert all(len(cases_of(row)) >= 4 for row in ROWS)


def test_every_case_that_the_table_names_is_there():
    names = {entry.id.partition(":")[0] for entry in ENTRIES}
    assert {case for row in ROWS for case in cases_of(row)} - names == set()


def test_every_form_of_loop_is_paired_with_every_trip_count():
    suffixes = {entry.id.rpartition(",")[2] for entry in ENTRIES if entry.path == "gradients/forms.py"}
    names = {how.rpartition("-")[0] for how in forms(0)}
    wanted = {f"{form}-{trips}" for form, trips in product(names, TRIPS)} - {"static-200"}
    assert suffixes - {"static-5"} == wanted  # of bodies that are too long to be unrolled 17 times


def test_every_body_of_a_loop_comes_in_every_form_and_with_every_trip_count():
    bodies = {entry.id.partition(":")[0] for entry in ENTRIES if entry.path in FORMS}
    for body in bodies:
        hows = {entry.id.rpartition(",")[2] for entry in ENTRIES if entry.id.startswith(f"{body}:")}
        forms_of_it, trips = zip(*(how.rpartition("-")[::2] for how in hows), strict=True)
        assert len(set(forms_of_it)) == len(hows) == 8, body
        assert set(map(int, trips)) - {5} == set(TRIPS) == {0, 1, 2, 17, 200}, body
    assert len(bodies) >= 22


def test_there_are_as_many_gradient_cases_as_the_contract_asks_for():
    gradients = [entry for entry in ENTRIES if entry.id.startswith("gradients/")]
    assert len({entry.id.partition(":")[0] for entry in gradients}) >= 180
    assert len({re.sub(r"[:,]f(16|32|64)(?=,|$)", "", entry.id) for entry in gradients}) >= 500
    assert len(gradients) >= 950


def test_every_row_about_adstacks_is_shown_by_what_the_table_names():
    names = {entry.id.partition(":")[0] for entry in ENTRIES}
    for row, shown in OTHERS.items():
        for name in re.findall(r"`([^`]+)`", shown):
            file, _, test = name.partition("::")
            if file.endswith(".py"):
                assert f"def {test}(" in (TESTS / file).read_text("utf-8") if test else (TESTS / file).exists(), (
                    row,
                    name,
                )
            else:
                assert name in names, (row, name)
    assert len(OTHERS) >= 28
