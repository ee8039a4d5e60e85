"""What is committed of a matrix: counts, what did not pass, and digests that tell any two matrices apart."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from adstack.conformance.report.compact import Outcome, compact, differences, digests, outcomes, text

RESULTS = Path(__file__).resolve().parents[2] / "results"
FILES = sorted(file for folder in ("cuda", "vulkan", "peers") for file in RESULTS.glob(f"{folder}/*.json"))
WHOLE = [file for file in FILES if not file.stem.endswith("as-installed")]
CELLS = [
    Outcome("a/one", "forward", "pass", "exact", 0.0),
    Outcome("a/two:f32", "reverse", "pass", "bound", 12.0),
    Outcome("a/two:f32", "forward", "pass", "bound", 3.0),
    Outcome("b/three", "forward", "gap", reason="known"),
    Outcome("b/four", "forward", "pass"),
]


def test_what_passes_is_counted_and_what_does_not_is_named():
    kept = compact(CELLS)
    assert (kept["cells"], kept["cases"]) == (5, 4)
    assert kept["counts"] == {"gap": 1, "pass": 4}
    assert kept["modes"] == {"forward": {"gap": 1, "pass": 3}, "reverse": {"pass": 1}}
    assert kept["topics"] == {
        "a": {"forward": {"pass": 2}, "reverse": {"pass": 1}},
        "b": {"forward": {"gap": 1, "pass": 1}},
    }
    assert kept["exactness"] == {
        "bound": {"cells": 2, "largest distance in ulp": 12.0},
        "exact": {"cells": 1, "largest distance in ulp": 0.0},
    }
    assert kept["not passed"] == {"b/three": {"forward": "gap: known"}}


def test_the_text_is_json_with_a_line_per_fact():
    kept = {"date": "today", **compact(CELLS)}
    assert json.loads(text(kept)) == kept
    assert list(json.loads(text(kept))) == list(kept)
    lines = text(kept).splitlines()
    assert '"counts": {"gap": 1, "pass": 4},' in lines
    assert ' "b/three": {"forward": "gap: known"}' in lines


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


@pytest.mark.parametrize("file", FILES, ids=name)
def test_what_is_committed_is_as_it_is_written(file):
    kept = json.loads(file.read_text("utf-8"))
    assert text(kept) == file.read_text("utf-8")
    by_mode = [count for mode in kept["modes"].values() for count in mode.values()]
    assert kept["cells"] == sum(kept["counts"].values()) == sum(by_mode)


@pytest.mark.parametrize("file", WHOLE, ids=name)
def test_every_cell_that_did_not_pass_is_committed(file):
    kept = json.loads(file.read_text("utf-8"))
    others = [
        (mode, message.partition(": ")[0]) for case in kept["not passed"].values() for mode, message in case.items()
    ]
    counts = {(mode, state): n for mode, states in kept["modes"].items() for state, n in states.items()}
    assert Counter(others) == {key: n for key, n in counts.items() if key[1] != "pass"}


def test_digests_are_of_sorted_lines_and_do_not_depend_on_the_order_of_cells():
    lines = ["a/one\tforward\tpass\texact\n", "b/four\tforward\tpass\t\n"]
    assert digests([CELLS[4], CELLS[0]])["cells"] == sha256("".join(lines).encode()).hexdigest()
    assert digests(CELLS[::-1]) == digests(CELLS)


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"case": "a/other"}, {"cases", "cells", "measured"}),
        ({"mode": "dot-product"}, {"cells", "measured"}),
        ({"state": "wrong value"}, {"cells", "measured"}),
        ({"exactness": "ulp(1)"}, {"cells", "measured"}),
        ({"ulp": 13.0}, {"measured"}),
        ({"reason": "another"}, set()),
    ],
)
@pytest.mark.parametrize("which", [0, 3, 4])
def test_a_digest_changes_when_one_cell_does(which, change, changed):
    cells = [dataclasses.replace(cell, **change) if k == which else cell for k, cell in enumerate(CELLS)]
    first, second = digests(CELLS), digests(cells)
    assert {name for name in first if first[name] != second[name]} == changed


def test_differences_name_what_is_not_the_same():
    now = [dataclasses.replace(CELLS[0], state="wrong value", reason="got 1"), *CELLS[1:]]
    lines = differences(compact(CELLS), compact(now))
    assert 'not passed, a/one: nothing before, {"forward": "wrong value: got 1"} now' in lines
    assert "counts, pass: 4 before, 3 now" in lines
    assert differences(compact(CELLS), compact(CELLS[::-1])) == []


def record(status: str, gap: str | None, *, failed: bool, message: str = "") -> dict[str, object]:
    fields = {"status": status, "gap": gap, "failed": failed, "message": message}
    return {"case": "a/b", "mode": "forward", "exactness": "", "ulp": None, **fields}


@pytest.mark.parametrize(
    ("cell", "state", "reason"),
    [
        (record("pass", None, failed=False), "pass", ""),
        (record("wrong value", None, failed=True, message="got 1,\n not 2"), "wrong value", "got 1, not 2"),
        (record("refused", "known", failed=False, message="no"), "gap", "known"),
        (record("pass", "known", failed=True), "gap passes", "known"),
        (record("broken", "known", failed=True, message="a typo"), "broken", "a typo"),
        (record("unavailable", "known", failed=False, message="no device"), "unavailable", "no device"),
    ],
)
def test_a_cell_of_a_report_comes_to_the_state_that_the_report_counts(cell, state, reason):
    assert outcomes([cell]) == [Outcome("a/b", "forward", state, reason=reason)]
