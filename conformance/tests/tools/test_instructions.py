"""Counts of instructions: what callgrind writes is read, 1 % is allowed, and a request does nothing elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adstack.tools import instructions
from adstack.tools.counted_work import DUMP_AT, START, STOP, Counter
from adstack.tools.instructions import main, moved, parts

HERE = {"python": "3.11.7", "valgrind": "3.19.0"}
DUMP = """version: 1
part: 1
desc: Trigger: Client Request: 200 calls of nop
positions: line
events: Ir
summary: 180691

fn=(1) f
1 180691
totals: 213053
"""


def test_the_parts_of_a_run_are_read_by_name(tmp_path: Path):
    (tmp_path / "part.1").write_text(DUMP)
    (tmp_path / "part").write_text(DUMP.replace("Client Request: 200 calls of nop", "Program termination"))
    (tmp_path / "part.2").write_text(DUMP.replace("200 calls of nop", "a tape").replace("180691", "7"))
    assert parts(tmp_path) == {"200 calls of nop": 180691, "a tape": 7}


@pytest.mark.parametrize(("count", "lines"), [(1000, 0), (1010, 0), (990, 0), (1011, 1), (989, 1)])
def test_a_count_may_move_by_a_hundredth(count: int, lines: int):
    assert len(moved({"a": 1000}, {"a": count})) == lines


def test_a_count_that_only_one_side_knows_is_told_of():
    assert moved({"a": 1}, {"b": 2}) == ["a: 1 -> not counted", "b: not there -> 2"]


@pytest.mark.parametrize(("golden", "status"), [(HERE, 1), ({**HERE, "python": "3.12.0"}, 0)])
def test_a_regression_fails_where_all_versions_are_those_of_the_golden_file(
    golden: dict[str, str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(instructions, "GOLDEN", tmp_path / "golden.json")
    monkeypatch.setattr(instructions, "environment", lambda: HERE)
    monkeypatch.setattr(instructions, "counted", lambda: {"a": 1020})
    monkeypatch.setattr("shutil.which", lambda name: name)
    instructions.GOLDEN.write_text(json.dumps({"environment": golden, "instructions": {"a": 1000}}))
    result = CliRunner().invoke(main, [])
    assert (result.exit_code, result.output.splitlines()[0]) == (status, "a: 1,000 -> 1,020, +2.0%")
    assert CliRunner().invoke(main, ["--write"]).exit_code == 0
    assert CliRunner().invoke(main, []).exit_code == 0


def test_requests_to_callgrind_do_nothing_on_a_processor():
    counter, done = Counter(), []
    counter.tell(START)
    counter.count("work", lambda: done.append(DUMP_AT))
    counter.tell(STOP)
    assert done == [DUMP_AT]
