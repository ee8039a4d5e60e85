"""The examination of a machine: parts within their times, findings in few files."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from played_driver import run

from adstack.conformance.harness.loading import collect
from adstack.tools.conformance import conformance
from adstack.tools.device import __main__ as device
from adstack.tools.device import cases, driver, peers, rows, several, throughput
from adstack.tools.device import results as device_results
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
    assert {name: part["code"] for name, part in summary.items()} == {"one": 0, "two": 0}
    assert "first" in log
    assert "second" in capsys.readouterr().out


def test_a_part_that_fails_or_takes_too_long_does_not_end_the_others(findings):
    slow = python("import time; print('begun', flush=True); time.sleep(60)")
    parts = [Part("bad", 30, python("raise SystemExit(3)")), Part("slow", 1, slow), Part("missing", 5, ("/no/such",))]
    status, summary, _ = findings([*parts, Part("good", 30, python("print(1)"))])
    assert status == 1
    assert {name: part["code"] for name, part in summary.items()} == {
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
    assert [part.name for part in parts][:3] == ["smoke", "driver", "conformance"]
    assert len({part.file for part in parts} - {""}) + 2 <= 8


def test_cases_are_spread_over_the_topics():
    first = [entry.topic for entry in chosen([])[:15]]
    assert len(set(first)) == len(first)
    assert {entry.topic for entry in chosen(["memory"])} == {"memory"}


def test_every_case_comes_before_the_second_variant_of_any():
    cases = [entry.id.partition(":")[0] for entry in chosen([])]
    count = len(set(cases))
    assert len(set(cases[:count])) == count
    assert len(cases) == len(list(collect())) > 2 * count


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
    summary = results(tmp_path, files, done)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", summary["date"])
    assert summary["subject"]["device"] == "a device"
    assert summary["subject"]["details"] == {"driver": "13"}
    summary = {name: part["found"] for name, part in summary["parts"].items()}
    assert summary == {
        "conformance": {**suite["suite"], "failed": ["a/bad:i64: wrong value"]},
        "limit": {"forward": 0.07},
        "memcheck": ["21 runs of 9 variants of 30: {'finished': 21}", "ERROR SUMMARY: 3 errors"],
        "throughput": [],
    }


@pytest.fixture
def report() -> dict[str, Any]:
    """What `adstack conformance --json` writes, of four cells."""
    cell = {"status": "pass", "gap": None, "exactness": "exact", "ulp": 0.0, "mode": "forward", "failed": False}
    sources = {"suite": "s", "cases": "c"}
    return {
        "suite": {"seconds": 1.0, "seed": 3, "passed": True, "counts": {"pass": 3, "gap": 1}, "sources": sources},
        "machine": {"cpu": "some"},
        "subjects": [{"name": "cuda", "kind": "native", "device": "a device", "version": "1", "details": {}}],
        "cells": [
            {**cell, "case": "a/one"},
            {**cell, "case": "a/two", "mode": "reverse", "exactness": "bound", "ulp": 12.0},
            {**cell, "case": "a/three", "mode": "reverse", "exactness": "bound", "ulp": 3.0},
            {**cell, "case": "a/four", "status": "wrong value", "exactness": "", "gap": "known"},
        ],
    }


@pytest.fixture
def kept(report, tmp_path) -> Path:
    """The matrix of the report, in a file."""
    (tmp_path / "report.json").write_text(json.dumps(report))
    file = tmp_path / "kept.json"
    assert keep([str(tmp_path / "report.json"), "abc", str(file), "ADSTACK_VULKAN_ADDRESSES=0"]) == 0
    return file


def test_a_kept_matrix_says_what_ran_where_and_how_and_what_came_of_it(kept):
    matrix = json.loads(kept.read_text())
    assert (matrix["commit"], matrix["seed"], matrix["subject"]["device"]) == ("abc", 3, "a device")
    assert (matrix["options"], matrix["sources"]["cases"]) == ({"ADSTACK_VULKAN_ADDRESSES": "0"}, "c")
    assert matrix["counts"] == {"gap": 1, "pass": 3}
    assert matrix["not passed"] == {"a/four": {"forward": "gap: known"}}
    assert matrix["exactness"]["bound"] == {"cells": 2, "largest distance in ulp": 12.0}


@pytest.fixture
def of_two(report, tmp_path) -> Path:
    """The report of a run on two subjects, of which one fails and one ran a part of the cases."""
    second = {**report["subjects"][0], "name": "cpu:aarch64", "part": "one variant of each case"}
    cells = [{**cell, "subject": "cuda", "seconds": 0.5} for cell in report["cells"]]
    cells.append({**cells[0], "subject": "cpu:aarch64", "failed": True, "status": "wrong value", "message": "no"})
    file = tmp_path / "two.json"
    file.write_text(json.dumps({**report, "subjects": [*report["subjects"], second], "cells": cells}))
    return file


@pytest.mark.parametrize(
    ("name", "cells", "seconds", "passed", "part"),
    [("cuda", 4, 2.0, True, None), ("cpu:aarch64", 1, 0.5, False, "one variant of each case")],
)
def test_one_subject_of_several_is_kept(of_two, tmp_path, name, cells, seconds, passed, part):
    assert keep(["--subject", name, str(of_two), "abc", str(tmp_path / "kept.json")]) == 0
    matrix = json.loads((tmp_path / "kept.json").read_text())
    assert (matrix["subject"]["name"], matrix["cells"]) == (name, cells)
    assert (matrix["seconds"], matrix["passed"], matrix.get("part")) == (seconds, passed, part)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([], "--subject must name one of cuda, cpu:aarch64"),
        (["--subject", "x"], "no subject 'x', but: cuda, cpu:aarch64"),
    ],
)
def test_which_of_several_subjects_is_to_be_kept_must_be_said(of_two, tmp_path, capsys, chosen, message):
    with pytest.raises(SystemExit, match="2"):
        keep([*chosen, str(of_two), "abc", str(tmp_path / "kept.json")])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "kept.json").exists()


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({}, 0, "the same"),
        ({"ulp": 1.0}, 0, "digests, measured"),
        ({"exactness": "ulp(1)"}, 1, "digests, cells"),
        ({"case": "a/other"}, 1, "the cases are not those of abc"),
        (
            {"status": "refused", "failed": True, "message": "no"},
            1,
            'a/one: nothing before, {"forward": "refused: no"}',
        ),
    ],
)
def test_a_run_is_compared_with_a_kept_matrix(kept, report, change, status, message, monkeypatch, capsys):
    report["cells"][0] |= change
    write = (
        "import json, os, sys; json.dump({'options': os.environ['ADSTACK_VULKAN_ADDRESSES'], **json.loads(sys.argv[1])}"
    )
    program = f"{write}, open(sys.argv[2], 'w'))"
    monkeypatch.setattr(
        device_results, "command", lambda kept, file, jobs: [*python(program), json.dumps(report), str(file)]
    )
    assert keep(["--compare", str(kept)]) == status
    assert message in capsys.readouterr().out


def test_a_run_without_a_report_is_told(kept, monkeypatch):
    monkeypatch.setattr(device_results, "command", lambda kept, file, jobs: list(python("raise SystemExit(2)")))
    with pytest.raises(RuntimeError, match="its exit status is 2"):
        keep(["--compare", str(kept)])


def test_what_is_missing_or_not_to_be_compared_here_is_told(tmp_path, capsys):
    (tmp_path / "peer.json").write_text('{"peer": "taichi"}')
    for words, message in ((["--compare", str(tmp_path / "peer.json")], "subjects.record"), (["a", "b"], "are needed")):
        with pytest.raises(SystemExit, match="2"):
            keep(words)
        assert message in capsys.readouterr().err


def test_the_suite_runs_again_on_the_same_subject_with_the_same_seed():
    asked = device_results.command({"subject": {"name": "cuda"}, "seed": 3}, Path("r.json"), 2)
    assert asked[3:] == ["conformance", "--backend", "cuda", "--seed", "3", "--jobs", "2", "--json", "r.json"]
    assert CliRunner().invoke(conformance, [*asked[4:], "--list"]).exit_code == 0


def test_a_matrix_in_deterministic_mode_is_kept_as_such_and_runs_again_in_it(report):
    report["subjects"][0]["init"] = {"deterministic": True}
    kept = device_results.matrix(report, "abc")
    asked = device_results.command(kept, Path("r.json"), 2)
    assert "--deterministic" in asked
    assert CliRunner().invoke(conformance, [*asked[4:], "--list"]).exit_code == 0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that take no time."""
    for module in (rows, throughput):
        monkeypatch.setattr(module, "N", 256)
    monkeypatch.setattr(rows, "ROUNDS", 1)
    monkeypatch.setattr(rows, "CALLS", {"dispatch": 2, "recurrence": 1, "gather": 1})


def test_throughput_tells_times_and_how_far_gradients_are_off(small, tmp_path, capsys):
    assert throughput.main("cpu", str(tmp_path / "found.json"), "adstack") == 0
    record = json.loads((tmp_path / "found.json").read_text())
    assert json.loads(capsys.readouterr().out) == record
    assert set(peers.least([record])) == {
        "dispatch nop",
        "dispatch args",
        f"dispatch a graph of {throughput.LAUNCHES} nop",
        *(f"{group} {mode}" for group in ("recurrence", "gather") for mode in ("forward", "reverse")),
    }
    assert all(0 <= record[group]["gradient off by"] < 2**-16 for group in ("recurrence", "gather"))


def test_a_group_of_rows_that_fails_is_told_and_the_others_are_measured(small, tmp_path):
    class Subject:
        def sync(self) -> None:
            pass

        def dispatch(self):
            return {"nop": lambda: None}

        def recurrence(self):
            raise NotImplementedError("no loops")

        def gather(self):
            return {"forward": lambda: None}, {"gradient off by": 0.5}

    rows.measured(Subject(), "some", "1", str(tmp_path / "found.json"))
    record = json.loads((tmp_path / "found.json").read_text())
    assert record["recurrence"] == {"error": "NotImplementedError: no loops"}
    assert set(record["gather"]) == {"forward", "gradient off by"}
    assert set(peers.least([record])) == {"dispatch nop", "gather forward"}


def test_peers_are_measured_in_turn_and_whoever_is_missing_is_told(monkeypatch, tmp_path, capsys):
    asked: list[str] = []

    def command(name: str, arch: str, file: str, pythons: dict[str, str]) -> list[str]:
        asked.append(name)
        if name == "jax":
            return ["/no/such/python"]
        if name == "warp":
            return [sys.executable, "-c", "raise SystemExit('no module named warp')"]
        if name == "quadrants":
            return [sys.executable, "-c", "import time; time.sleep(60)"]
        figures = json.dumps({"dispatch": {"nop": 3.0 + len(asked)}, "forward": 0.5, "gather": {"forward": 0.25}})
        return [sys.executable, "-c", f"open({file!r}, 'w').write({figures!r})"]

    monkeypatch.setattr(peers, "command", command)
    file = tmp_path / "peers.json"
    monkeypatch.setattr(sys, "argv", ["peers", "cuda", str(file), "--seconds", "0.7"])
    assert peers.main() == 0
    record = json.loads(file.read_text())["peers"]
    assert asked == [*peers.NAMES, "adstack", "by hand"]
    assert record["by hand"]["least"] == {"dispatch nop": 8.0, "recurrence forward": 0.5, "gather forward": 0.25}
    assert len(record["adstack"]["runs"]) == 2
    why = {name: record[name]["missing"] for name in ("quadrants", "jax", "warp")}
    assert why["quadrants"] == "no answer in 0.7 s"
    assert "/no/such/python" in why["jax"]
    assert why["warp"] == "no module named warp"
    assert "dispatch nop" in capsys.readouterr().out


@pytest.mark.parametrize("name", peers.NAMES)
def test_everyone_is_measured_by_their_own_interpreter(name):
    python, flag, module, *rest = peers.command(name, "cuda", "file", {"quadrants": "/peers/python"})
    assert python == ("/peers/python" if name == "quadrants" else sys.executable)
    assert flag == "-m"
    assert importlib.util.find_spec(module) is not None
    wanted = {"adstack": ["cuda", "file", "adstack"], "quadrants": ["cuda", "file", "quadrants"], "by hand": ["file"]}
    assert rest == wanted.get(name, ["cuda", "file"])


class Devices:
    """Memory of two devices, as nvidia-smi would tell; the second look of each pair finds more on some."""

    def __init__(self, *more: tuple[int, int]) -> None:
        self.more, self.looks = list(more), 0

    def __call__(self) -> list[int]:
        self.looks += 1
        second = self.looks > 1 and self.looks % 2 == 1
        return [7 + mib for mib in self.more.pop(0)] if second else [7, 7]


@pytest.mark.parametrize(
    ("more", "works"),
    [(((1500, 0), (3, 1400)), True), (((0, 1500), (1500, 0)), True), (((1500, 0), (1500, 0)), False),
     (((1500, 1500), (0, 1500)), False), (((900, 0), (0, 1500)), False)],
)  # fmt: skip
def test_each_device_is_chosen_by_its_number(more, works, monkeypatch):
    monkeypatch.setattr(several, "_WORK", "print('ready', flush=True); input()")
    record = several.chosen("CUDA_VISIBLE_DEVICES", Devices(*more))
    assert [record[k]["MiB more on each device"] for k in "01"] == [list(one) for one in more]
    assert record["works"] == works


def test_a_device_that_can_not_be_used_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(several, "VARIABLES", {"ADSTACK_CUDA_DEVICE": "cuda"})
    monkeypatch.setattr(several, "used", lambda: [7, 7])
    assert several.main(str(tmp_path / "found.json")) == 1
    record = json.loads((tmp_path / "found.json").read_text())
    assert record["ADSTACK_CUDA_DEVICE"] == {
        "0": {"error": "it ended before it was ready"},
        "1": {"error": "it ended before it was ready"},
        "works": False,
    }
    assert "BackendUnavailableError" in capsys.readouterr().err


PUT = """
import sys
import numpy as np
from adstack.tools.device import driver

def put(grid, block, at):
    first, value = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int64 * 2).from_address(at)).tolist()
    words = np.arange(value, value + grid * block)
    np.ctypeslib.ctypes.memmove(first, words.ctypes.data, words.nbytes)

played.kernels["put"] = put
driver.ALONE = {}
sys.exit(driver.main())
"""


def test_every_call_of_the_driver_is_checked(tmp_path):
    results = json.loads(run(PUT, tmp_path))
    assert {name: results[name] for name in results if name not in ("device", "declarations")} == {
        check.__name__: "ok" for check in driver.CHECKS
    }


@pytest.mark.parametrize("name", ["a child that was forked is told so", "reset and init again"])
def test_processes_that_use_a_device_end_well(name, monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    assert driver.outcome(lambda: driver.alone(name)) == "ok"
