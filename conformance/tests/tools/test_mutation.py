"""The mutation check itself: what it changes, and that it tells a change that is noticed from one that is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from adstack.ir.ops import ATOMICS, TABLE
from adstack.tools.mutation.__main__ import chosen, control, main
from adstack.tools.mutation.ledger import Ledger
from adstack.tools.mutation.mutants import mutants
from adstack.tools.mutation.run import TESTS, Verdict


def test_every_row_and_every_kind_of_atomic_is_changed():
    rows = {mutant.row for mutant in mutants()}
    assert rows >= set(TABLE) | {f"atomic {kind}" for kind in ATOMICS} | {"promote", "cast", "cast on the host"}


def test_each_change_has_a_name_of_its_own():
    names = [(mutant.row, mutant.change) for mutant in mutants()]
    assert len(set(names)) == len(names)


def test_rows_can_be_chosen_by_number_and_by_name():
    everything = list(mutants())
    assert {mutant.row for mutant in chosen("2", (), everything)} == set(list(TABLE)[:2])
    assert {mutant.row for mutant in chosen("all", ("sub", "cas?"), everything)} == {"sub", "cast"}


def test_a_row_that_does_not_exist_is_refused():
    result = CliRunner().invoke(main, ["--row", "addition"])
    assert result.exit_code == 2
    assert "rows is 'addition'; near ones are" in result.output


def test_the_file_counts_and_says_what_killed_what(tmp_path):
    one, other, *_ = mutants()
    ledger = Ledger(tmp_path / "results.json", list(mutants()), "abc")
    for verdict in (Verdict(other, False, ""), Verdict(one, True, "test_a.py::test_b")):
        ledger.add(verdict)
    report = ledger.record()
    assert report["commit"] == "abc"
    assert (report["rows"], report["changes"], report["killed"], report["survived"]) == (1, 2, 1, 1)
    assert report["changed"] == {one.row: {one.change: "test_a.py::test_b", other.change: "survived"}}


def test_the_tests_to_run_exist():
    folder = Path(__file__).parents[1]
    assert [pattern for pattern in TESTS if not list(folder.glob(f"{pattern}.py"))] == []


SMALL = """
import numpy as np
from adstack.ir.ops import TABLE
from adstack.ir.types import i32, promote, u1

def test_one_and_one_is_two():
    assert TABLE["add"].meaning(i32, np.int32([1]), np.int32([1])).tolist() == [2]

def test_truths_add_up_as_numbers():
    assert promote(u1, u1) is i32
"""
DRIVER = """
import sys
from pathlib import Path
from adstack.tools.mutation.__main__ import control
from adstack.tools.mutation.mutants import mutants
from adstack.tools.mutation.run import judged

wanted = {("add", "result plus one"), ("add", "commutative flipped"), ("promote", "u1 with u1 stays u1")}
chosen = [mutant for mutant in mutants() if (mutant.row, mutant.change) in wanted]
found = []
judged([control(), *chosen], 2, found.append, Path(sys.argv[1]), ["test_small"])
for verdict in sorted(found, key=lambda v: (v.mutant.row, v.mutant.change)):
    print(verdict.mutant.row, "|", verdict.mutant.change, "|", verdict.by or "survived")
"""


def driven(folder: Path, tests: str, driver: str = DRIVER) -> subprocess.CompletedProcess[str]:
    (folder / "test_small.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run([sys.executable, "-c", driver, str(folder)], capture_output=True, text=True, check=False)


def test_a_change_is_killed_by_the_test_that_sees_it_and_survives_without_one(tmp_path):
    done = driven(tmp_path, SMALL)
    assert done.stdout.splitlines() == [
        "add | commutative flipped | survived",
        "add | result plus one | test_small.py::test_one_and_one_is_two",
        "no row | nothing | survived",
        "promote | u1 with u1 stays u1 | test_small.py::test_truths_add_up_as_numbers",
    ], done.stderr


@pytest.mark.parametrize(
    ("test", "verdict"),
    [("import os\n    os._exit(3)", "no test: the process died"), ("assert False", "test_small.py::test_it")],
)
def test_tests_that_fail_without_a_change_are_seen_by_the_control(tmp_path, test, verdict):
    done = driven(tmp_path, f"def test_it():\n    {test}\n")
    assert f"no row | nothing | {verdict}" in done.stdout.splitlines(), done.stderr


def test_a_control_without_tests_does_not_fail(tmp_path):
    """Where no change was killed by a test, no test killed one, and those alone are what the control runs."""
    done = driven(tmp_path, SMALL, DRIVER.replace('["test_small"]', '["test_small"], lambda item, mutant: None'))
    assert "no row | nothing | survived" in done.stdout.splitlines(), done.stderr


def test_tests_that_can_not_be_collected_end_the_check(tmp_path):
    done = driven(tmp_path, "import nothing_of_this_name\n")
    assert done.returncode == 1
    assert "the tests can't be collected" in done.stderr


def test_the_control_changes_nothing():
    before = {name: vars(row).copy() for name, row in TABLE.items()}
    control().apply()
    assert {name: vars(row) for name, row in TABLE.items()} == before
