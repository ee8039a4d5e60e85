"""The `adstack` command, as a user meets it."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner
from rich.console import Console

from adstack import inspection
from adstack.conformance.harness.cells import Result, Status
from adstack.tools.commands import cli
from adstack.tools.terminal.progress import progress

COMMANDS = ["cache", "doctor", "conformance", "explain", "dump", "completion"]
ONE = ("--backend", "reference", "--case", "arith/floor-division-of-negatives", "-j", "1")


def adstack(*words: str):
    return CliRunner().invoke(cli, words, prog_name="adstack")


def spawn(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from adstack.tools.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_the_version_is_that_of_the_package():
    import adstack as package

    assert adstack("--version").output.strip().endswith(package.__version__)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_a_command_is_for_with_examples(command):
    result = adstack(command, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"adstack {command}" in result.output


WRITING = [("cache", "info"), ("conformance", *ONE), ("doctor", "-b", "reference")]


def _into(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = shlex.join([sys.executable, "-m", "adstack.tools.cli", *words])
    return subprocess.run(["sh", "-c", f"exec {command} {redirection}"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", WRITING, ids=lambda words: words[0])
def test_without_standard_output_a_command_says_so(words):
    done = _into(">&-", *words)
    assert (done.returncode, done.stderr) == (
        1,
        "Error: standard output is closed; redirect it to a file, or to /dev/null\n",
    )


@pytest.mark.parametrize("words", [*WRITING, ("--version",)], ids=lambda words: words[0])
def test_output_that_finds_no_space_is_told_in_a_line(words):
    done = _into(">/dev/full", *words)
    assert (done.returncode, done.stderr) == (1, "the output can't be written: No space left on device\n")


def test_a_reader_that_goes_is_told_nothing():
    done = _into("| true", "conformance", "--list")
    assert "Traceback" not in done.stderr


def test_without_standard_error_a_command_runs():
    done = _into("2>&-", "cache", "info")
    assert done.returncode == 0
    assert done.stdout


@pytest.mark.parametrize("module", ["adstack.tools.commands", "rich", "adstack.conformance"])
def test_an_interrupt_while_it_starts_ends_a_command_as_one_does_later(module):
    program = f"""
import sys

class Interrupted:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from adstack.tools.cli import main

main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "Aborted!")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell):
    output = adstack("completion", shell).output
    assert "_ADSTACK_COMPLETE" in output
    assert "adstack" in output


def test_the_shell_completes_case_ids():
    environment = {
        "_ADSTACK_COMPLETE": "bash_complete",
        "COMP_WORDS": "adstack conformance --case arith/floor",
        "COMP_CWORD": "3",
    }
    assert "arith/floor-division-of-negatives" in spawn(**environment).stdout


class TestConformance:
    def test_a_case_on_the_reference_passes_in_a_process_of_its_own(self):
        done = spawn("conformance", *ONE)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "passed: 1 pass" in done.stdout

    def test_a_pipe_gets_no_colours(self):
        assert "\x1b" not in spawn("conformance", *ONE).stdout

    def test_colours_can_be_forced_and_no_color_wins(self):
        assert "\x1b" in spawn("conformance", *ONE, FORCE_COLOR="1").stdout
        assert "\x1b[3" not in spawn("conformance", *ONE, FORCE_COLOR="1", NO_COLOR="1").stdout

    def test_the_reports_are_written(self, tmp_path):
        json_file, junit_file, html_file = (tmp_path / "new" / f"report.{kind}" for kind in ("json", "xml", "html"))
        files = ("--json", str(json_file), "--junit", str(junit_file), "--html", str(html_file))
        result = adstack("conformance", *ONE, *files)
        assert result.exit_code == 0, result.output
        (cell,) = json.loads(json_file.read_text())["cells"]
        assert (cell["subject"], cell["status"], cell["exactness"], cell["ulp"]) == ("reference", "pass", "exact", 0.0)
        assert Xml.fromstring(junit_file.read_text()).find("testsuite") is not None
        assert "what ran, and on what" in html_file.read_text()
        again = adstack("conformance", *ONE, "--html", str(html_file), "--against", str(json_file))
        assert again.exit_code == 0, again.output
        assert "1 of 1</td><td>1 of 1</td><td>0</td><td>0</td><td>0</td><td>0</td>" in html_file.read_text()

    def test_of_another_run_only_what_was_asked_for_can_be_gone(self, tmp_path):
        json_file, html_file = tmp_path / "old.json", tmp_path / "new.html"
        assert adstack("conformance", *ONE, "--json", str(json_file)).exit_code == 0
        old = json.loads(json_file.read_text())
        (cell,) = old["cells"]
        assert old["suite"]["selection"] == {"patterns": [cell["case"]], "rules": [], "modes": []}
        others = (f"{cell['case']}:a-variant", "arith/was-there-once", "arith/wrap-around")
        old["cells"] += [{**cell, "case": name} for name in others]
        json_file.write_text(json.dumps(old))
        assert adstack("conformance", *ONE, "--html", str(html_file), "--against", str(json_file)).exit_code == 0
        page = html_file.read_text()
        assert "2 of 2</td><td>1 of 1</td><td>0</td><td>0</td><td>0</td><td>1</td>" in page
        assert f"gone from reference: {others[0]} {cell['mode']}" in page

    def test_what_a_log_has_is_not_run_again(self, tmp_path):
        log = tmp_path / "new" / "cells.jsonl"
        words = ("conformance", "--backend", "reference", "--case", "arith/floor-division-of-*", "--log", str(log))
        assert adstack(*words).exit_code == 0
        first, *others = log.read_text().splitlines()
        assert others
        log.write_text(first.replace('"status": "pass"', '"status": "refused"') + "\n" + others[0][:40])
        assert "1 refused" in adstack(*words).output
        _, torn, *rest = log.read_text().splitlines()
        assert torn == others[0][:40]
        assert {json.loads(line)["case"] for line in rest} == {json.loads(line)["case"] for line in others}

    def test_a_page_that_cannot_be_made_is_told_of_before_the_run(self, monkeypatch, tmp_path):
        monkeypatch.setattr("adstack.tools.terminal.extras.find_spec", lambda name: None)
        result = adstack("conformance", *ONE, "--html", str(tmp_path / "page.html"))
        assert (result.exit_code, "jinja2, which is not installed" in result.output) == (2, True)

    def test_an_interrupted_run_reports_what_had_come(self, tmp_path, monkeypatch):
        def interrupted(cells, settings, *, on_result, **_):
            on_result(Result(cells[0], Status.PASS))
            raise KeyboardInterrupt

        monkeypatch.setattr("adstack.tools.conformance.run_cells", interrupted)
        words = ("conformance", "-b", "reference", "--case", "arith/floor-division-of-*")
        for more in ((), ("--log", str(tmp_path / "log"))):
            result = adstack(*words, "--json", str(tmp_path / "report.json"), *more)
            assert result.exit_code == 130
            assert "failed: 1 pass, " in result.output
            assert "left when it was interrupted" in result.output
            assert len(json.loads((tmp_path / "report.json").read_text())["cells"]) == 1

    def test_the_list_runs_nothing(self):
        output = adstack("conformance", "--list", "--rule", "arith.floordiv").output
        assert "arith/floor-division-of-negatives  [forward]  arith.floordiv" in output
        assert "passed" not in output

    def test_a_peer_that_is_missing_is_shown_and_the_rest_still_counts(self):
        result = adstack("conformance", *ONE, "--subject", "taichi", "--python", "taichi=/no/such/python")
        assert result.exit_code == 0
        assert "taichi is unavailable" in result.output
        assert "1 unavailable" in result.output

    def test_nothing_but_unavailable_subjects_is_a_failure(self):
        words = ("--subject", "taichi", "--python", "taichi=/no/such/python", "--case", "arith/floor-division-*")
        result = adstack("conformance", *words)
        assert result.exit_code == 1
        assert "nothing ran" in result.output

    @pytest.mark.parametrize(
        ("words", "phrase"),
        [
            (("--case", "no/such*"), "no case matches"),
            (("--rule", "no.such"), "no case matches"),
            (("--backend", "abacus"), "'abacus' is not one of"),
            (("--subject", "halide"), "'halide'; there are quadrants, taichi"),
            (("--python", "taichi"), "is not NAME=PATH"),
            (("--mode", "backward"), "'backward' is not one of"),
            (("--mode", "reverse", "--case", "arith/floor-division-of-negatives"), "has mode reverse"),
            (("--against", __file__), "is no report of a run"),
            (("--timeout", "0"), "0"),
            (("-j", "0"), "0"),
            (("--nonsense",), "No such option"),
        ],
    )
    def test_a_wrong_command_line_says_what_is_wrong(self, words, phrase):
        result = adstack("conformance", *words)
        assert result.exit_code == 2
        assert phrase in result.output

    def test_verbose_shows_every_case(self):
        assert "arith/floor-division-of-negatives" in adstack("conformance", *ONE, "-v").output


class TestDoctor:
    def test_every_backend_is_examined_and_a_kernel_runs_on_the_reference(self):
        result = adstack("doctor")
        assert all(arch in result.output for arch in inspection.ARCHES)
        assert "✓ runs" in result.output

    def test_json_has_state_reason_and_fix(self):
        result = adstack("doctor", "--json", *(word for arch in ("reference", "cpu", "cuda") for word in ("-b", arch)))
        findings = {finding["name"]: finding for finding in json.loads(result.output)["backends"]}
        assert findings["reference"]["smoke"] == "pass"
        assert "f64" in findings["reference"]["features"]["dtypes"]
        for finding in findings.values():
            assert finding["state"] in ("native", "software", "emulated", "unavailable")
            assert finding["state"] != "unavailable" or (finding["reason"] and finding["fix"])
        assert findings["reference"]["devices"] == []

    def test_devices_to_choose_from_are_listed_by_number(self, monkeypatch):
        monkeypatch.setattr(inspection, "device_names", lambda arch: ["first", "second"])
        assert "devices: 0: first, 1: second" in adstack("doctor", "-b", "reference").output

    def test_one_backend_alone(self):
        output = adstack("doctor", "-b", "reference").output
        assert "reference" in output
        assert "vulkan" not in output


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal():
    shown = io.StringIO()
    with progress("run", 3, Console(file=shown), every=0.0) as advance:
        for topic in "abc":
            advance(topic)
    assert [line.split(" after")[0] for line in shown.getvalue().splitlines()] == ["run: 1 of 3 (a)", "run: 2 of 3 (b)"]
    shown = io.StringIO()
    with progress("run", 2, Console(file=shown), every=100.0) as advance:
        advance("a")
    assert shown.getvalue() == ""


def test_characters_that_the_terminal_lacks_do_not_end_the_command():
    done = spawn("conformance", *ONE, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
