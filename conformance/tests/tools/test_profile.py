"""`adstack profile`, and the count of Python functions that a launch and its gradient call under a tape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import adstack as qd
from adstack.tools.profile import profile
from adstack.tools.python_calls import counted, per_launch, taped

PROGRAM = """
import sys
import adstack as qd

qd.init(arch=sys.argv[1])
x = qd.field(qd.f32, shape=4)

@qd.kernel
def fill(a: qd.f32):
    for i in x:
        x[i] = a

for k in range(3):
    fill(k)
"""
MOST_PYTHON_CALLS = 3
"""For a launch and its gradient in a tape that follows one before it."""
LEAST_UNFOLLOWED = 100
"""For the same where nothing is followed, so that the count is known to see the functions of a tape."""


def test_a_file_is_profiled_with_its_arguments(tmp_path: Path):
    path, written = tmp_path / "program.py", tmp_path / "new" / "profile.json"
    path.write_text(PROGRAM)
    done = CliRunner().invoke(profile, [str(path), "--json", str(written), "--", "reference"])
    assert done.exit_code == 0, done.output
    assert "fill" in done.output
    (row,) = json.loads(written.read_text())["rows"]
    assert (row["name"], row["calls"], row["by_machine"], row["launches"]) == ("fill", 3, 0, 3)


@pytest.mark.parametrize("first", [True, False])
def test_a_program_of_the_suite_is_profiled(first: bool, tmp_path: Path):
    written = tmp_path / "profile.json"
    asked = ["wave", "--arch", "reference", "--size", "reduced", "--iterations", "2", "--json", str(written)]
    done = CliRunner().invoke(profile, [*asked, "--first"] if first else asked)
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads(written.read_text())["rows"]}
    assert rows["step"]["calls"] == (4 if first else 8)
    assert rows["step.grad"]["launches"] == rows["step"]["launches"] == rows["step"]["calls"]
    assert (rows["step"]["compile"] > 0) == first


def test_python_functions_are_counted():
    def twice() -> None:
        for _ in range(2):

            def inner() -> None: ...

            inner()

    calls = counted(twice)
    assert [(code.co_name, count) for code, count in calls.items()] == [("inner", 2)]


def test_a_launch_and_its_gradient_call_few_python_functions_under_a_tape():
    qd.init(arch=qd.cpu)
    calls = per_launch(taped)
    assert sum(calls.values()) <= MOST_PYTHON_CALLS, calls.most_common(20)


def test_where_tapes_are_not_followed_many_functions_are_counted():
    qd.init(arch=qd.reference)
    assert sum(per_launch(taped).values()) >= LEAST_UNFOLLOWED
