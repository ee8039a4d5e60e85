"""The examination of a machine: parts within their times, findings in few files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from adstack.tools.device import __main__ as device
from adstack.tools.device.__main__ import Part
from adstack.tools.device.cases import chosen


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the tool with other parts; its exit status, the summary and the log."""

    def run(parts: list[Part], *arguments: str):
        monkeypatch.setattr(device, "parts", lambda out, arch, jobs: parts)
        monkeypatch.setattr(sys, "argv", ["device", "--out", str(tmp_path / "out"), *arguments])
        status = device.main()
        out = tmp_path / "out"
        assert {path.name for path in out.iterdir()} == {"log.txt", "summary.json"}
        return status, json.loads((out / "summary.json").read_text()), (out / "log.txt").read_text()

    return run


def python(program: str) -> tuple[str, ...]:
    return sys.executable, "-c", program


def test_every_part_runs_and_what_it_prints_is_kept(findings, capsys):
    status, summary, log = findings(
        [Part("one", 30, python("print('first')")), Part("two", 30, python("print('second')"))]
    )
    assert status == 0
    assert {name: found["code"] for name, found in summary.items()} == {"one": 0, "two": 0}
    assert "first" in log
    assert "second" in capsys.readouterr().out


def test_a_part_that_fails_or_takes_too_long_does_not_end_the_others(findings):
    slow = python("import time; print('begun', flush=True); time.sleep(60)")
    parts = [Part("bad", 30, python("raise SystemExit(3)")), Part("slow", 1, slow), Part("missing", 5, ("/no/such",))]
    status, summary, _ = findings([*parts, Part("good", 30, python("print(1)"))])
    assert status == 1
    assert {name: found["code"] for name, found in summary.items()} == {
        "bad": 3,
        "slow": 124,
        "missing": 127,
        "good": 0,
    }
    assert summary["slow"]["end"] == "begun\n"


def test_no_part_begins_when_the_time_is_over(findings):
    _, summary, _ = findings([Part("one", 30, python("print(1)"))], "--seconds", "0")
    assert summary == {"one": {"code": -1, "end": "no time left"}}


def test_only_what_is_asked_for_runs(findings):
    parts = [Part("one", 30, python("print(1)")), Part("two", 30, python("print(2)"))]
    assert set(findings(parts, "--part", "two")[1]) == {"two"}


def test_all_parts_fit_into_one_call(tmp_path):
    parts = device.parts(tmp_path, "cuda", 4)
    assert [part.name for part in parts][:2] == ["smoke", "conformance"]
    assert len({part.file for part in parts} - {""}) + 2 <= 8


def test_cases_are_spread_over_the_topics():
    first = [entry.topic for entry in chosen([])[:15]]
    assert len(set(first)) == len(first)
    assert {entry.topic for entry in chosen(["memory"])} == {"memory"}
