"""The examination of a machine: parts within their times, findings in few files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from adstack.conformance.harness.loading import collect
from adstack.tools.device import __main__ as device
from adstack.tools.device import cases
from adstack.tools.device.__main__ import Part
from adstack.tools.device.cases import chosen
from adstack.tools.device.results import main as keep
from adstack.tools.device.results import results


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the tool with other parts; its exit status, the summary and the log."""

    def run(parts: list[Part], *arguments: str):
        monkeypatch.setattr(device, "parts", lambda out, arch, jobs: parts)
        monkeypatch.setattr(sys, "argv", ["device", "--out", str(tmp_path / "out"), *arguments])
        status = device.main()
        out = tmp_path / "out"
        assert {path.name for path in out.iterdir()} == {"log.txt", "summary.json", "results.json"}
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


def test_every_case_comes_before_the_second_variant_of_any():
    found = [entry.id.partition(":")[0] for entry in chosen([])]
    count = len(set(found))
    assert len(set(found[:count])) == count
    assert len(found) == len(list(collect())) > 2 * count


def test_cases_are_run_until_the_time_is_over(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cases", "--arch", "reference", "--seconds", "0.2", "--topic", "arith"])
    assert cases.main() == 0
    runs, variants, there = map(
        int, re.match(r"(\d+) runs of (\d+) variants of (\d+)", capsys.readouterr().out).groups()
    )
    assert 0 < variants <= there
    assert runs >= variants


def test_results_tell_the_device_and_what_every_part_found(tmp_path):
    suite = {
        "suite": {"seconds": 39.5, "passed": False, "counts": {"pass": 5, "wrong value": 1}},
        "machine": {"cpu": "some"},
        "subjects": [
            {
                "name": "cuda",
                "kind": "native",
                "device": "a device",
                "version": "1",
                "reason": "",
                "details": {"driver": "13"},
            }
        ],
        "cells": [
            {"case": "a/good", "status": "pass", "failed": False},
            {"case": "a/bad:i64", "status": "wrong value", "failed": True},
        ],
    }
    (tmp_path / "conformance.json").write_text(json.dumps(suite))
    (tmp_path / "limit.json").write_text('{"forward": 0.07}')
    (tmp_path / "throughput.json").write_text('{"dispatch": {"nop": 3.')
    said = "========= SANITIZER\n21 runs of 9 variants of 30: {'finished': 21}\n========= ERROR SUMMARY: 3 errors\n"
    files = {"conformance": "conformance.json", "limit": "limit.json", "memcheck": "", "throughput": "throughput.json"}
    done = {name: {"code": 0, "seconds": 1.5, "end": said if name == "memcheck" else "much"} for name in files}
    found = results(tmp_path, files, done)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert found["subject"]["device"] == "a device"
    assert found["subject"]["details"] == {"driver": "13"}
    found = {name: part["found"] for name, part in found["parts"].items()}
    assert found == {
        "conformance": {**suite["suite"], "failed": ["a/bad:i64: wrong value"]},
        "limit": {"forward": 0.07},
        "memcheck": ["21 runs of 9 variants of 30: {'finished': 21}", "ERROR SUMMARY: 3 errors"],
        "throughput": [],
    }


def test_a_kept_matrix_says_how_exact_every_case_was(tmp_path):
    cell = {"status": "pass", "gap": None, "exactness": "exact", "ulp": 0.0, "mode": "forward"}
    report = {
        "suite": {"seconds": 1.0, "seed": 0, "passed": True, "counts": {"pass": 3, "gap": 1}},
        "machine": {"cpu": "some"},
        "subjects": [{"name": "cuda", "kind": "native", "device": "a device", "version": "1", "details": {}}],
        "cells": [
            {**cell, "case": "a/one"},
            {**cell, "case": "a/two", "mode": "reverse", "exactness": "bound", "ulp": 12.0},
            {**cell, "case": "a/three", "mode": "reverse", "exactness": "bound", "ulp": 3.0},
            {**cell, "case": "a/four", "status": "wrong value", "exactness": "", "gap": "known"},
        ],
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    keep(str(tmp_path / "report.json"), "abc", str(tmp_path / "kept.json"))
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert (kept["commit"], kept["counts"], kept["subject"]["device"]) == ("abc", {"pass": 3, "gap": 1}, "a device")
    assert kept["cases"] == {
        "forward": {"a/one": "exact", "a/four": "gap: known"},
        "reverse": {"a/two": "bound, 12 ulp", "a/three": "bound, 3 ulp"},
    }
    assert kept["exactness"]["bound"] == {"cells": 2, "largest distance in ulp": 12.0}
