"""The reports say the same thing in four forms, and none of them breaks on odd text."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console
from suites import plain_subject, write_suite

from adstack.conformance.harness.cells import Cell, Gap, Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.report.html import html
from adstack.conformance.report.junit import junit
from adstack.conformance.report.summary import Report, record
from adstack.conformance.report.terminal import show

ODD = "got <b> & \x1b[31m'quotes' [bold] \N{SNOWMAN}"


@pytest.fixture
def entry(tmp_path):
    (found,) = collect(write_suite(tmp_path, {"topic/b.py": '@case(rules=["t.x"])\ndef odd_one(qd): ...'}))
    return found


@pytest.fixture
def report(tmp_path, entry):
    gap, dead = Gap("topic/*", "known to fail", mode="reverse"), Gap("gone/*", "was")
    plain = plain_subject(tmp_path, gaps=(gap, dead))
    away = Subject("away", "x", "cpu", kind="unavailable", reason="no device", fix="buy one")
    results = [
        Result(Cell(entry, plain, "forward", 5), Status.PASS, "ulp(2)", 1.0, seconds=0.25),
        Result(Cell(entry, plain, "reverse", 5), Status.WRONG_GRADIENT, "exact", None, "gradient[0]: got 1"),
        Result(Cell(entry, plain, "forward-mode", 5), Status.CRASHED, message=ODD, output="last words"),
        Result(Cell(entry, away, "forward", 5), Status.UNAVAILABLE, message="no device; buy one"),
    ]
    return Report(results, [plain, away], [(plain, dead)], seed=3, seconds=1.5)


def text_of(report: Report, **options: bool) -> str:
    stream = io.StringIO()
    show(report, Console(file=stream, width=160, highlight=False), **options)
    return stream.getvalue()


class TestJson:
    def test_it_is_plain_json_with_the_promised_keys(self, report):
        data = json.loads(json.dumps(record(report), allow_nan=False))
        assert data["suite"]["version"]
        assert set(data["machine"]) >= {"platform", "cpu", "cores", "python"}
        assert {key for subject in data["subjects"] for key in subject} >= {"name", "kind", "device", "version"}
        keys = {"case", "subject", "mode", "status", "exactness", "ulp", "message", "seconds", "seed"}
        assert all(set(cell) >= keys for cell in data["cells"])

    def test_a_cell_says_what_became_of_it(self, report):
        first, second = record(report)["cells"][:2]
        assert (first["case"], first["subject"], first["mode"]) == ("topic/odd-one", "plain", "forward")
        assert (first["status"], first["exactness"], first["ulp"], first["failed"]) == ("pass", "ulp(2)", 1.0, False)
        assert (second["status"], second["gap"], second["failed"]) == ("wrong gradient", "known to fail", False)

    def test_the_whole_says_whether_it_passed(self, report):
        assert record(report)["suite"]["passed"] is False
        assert record(report)["suite"]["counts"] == {"pass": 1, "gap": 1, "crashed": 1, "unavailable": 1}


class TestPassed:
    def results(self, report, *statuses: Status) -> Report:
        return Report([r for r in report.results if r.status in statuses], report.subjects)

    def test_a_pass_is_enough(self, report):
        assert self.results(report, Status.PASS, Status.UNAVAILABLE).passed

    def test_a_known_gap_does_not_fail(self, report):
        assert self.results(report, Status.PASS, Status.WRONG_GRADIENT).passed

    def test_a_crash_fails(self, report):
        assert not self.results(report, Status.PASS, Status.CRASHED).passed

    def test_nothing_run_is_no_pass(self, report):
        assert not self.results(report, Status.UNAVAILABLE).passed

    def test_a_stale_gap_fails(self, report):
        passing = self.results(report, Status.PASS)
        assert not Report(passing.results, passing.subjects, report.stale_gaps).passed


class TestJunit:
    def test_it_is_xml_with_a_suite_per_subject(self, report):
        root = Xml.fromstring(junit(report))
        plain, away, gaps = root.findall("testsuite")
        assert (plain.get("name"), plain.get("tests"), plain.get("errors"), plain.get("skipped")) == (
            "plain",
            "3",
            "1",
            "1",
        )
        assert away.get("skipped") == "1"
        assert gaps.get("failures") == "1"

    def test_odd_text_survives_without_what_xml_forbids(self, report):
        error = Xml.fromstring(junit(report)).find("testsuite/testcase/error")
        assert error is not None
        assert error.text == ODD.replace("\x1b", r"\x1b")


class TestHtml:
    def test_it_needs_nothing_from_elsewhere(self, report):
        assert not re.search(r"(src|href)\s*=|@import|url\(", html(report))

    def test_odd_text_is_escaped(self, report):
        page = html(report)
        assert "got &lt;b&gt; &amp;" in page
        assert "<b> &" not in page

    def test_every_cell_is_there_with_its_state_and_details(self, report):
        page = html(report)
        assert page.count("<details>") == 4
        for text in ("wrong gradient", "known to fail", "no device; buy one", "last words", "ulp(2)", "topic/odd-one"):
            assert text in page

    def test_subjects_share_the_row_of_a_case_and_its_mode(self, report):
        rows = re.findall(r"<tr data-states=\"([^\"]*)\">", html(report))
        assert rows == ["pass unavailable", "gap", "crashed"]

    def test_a_topic_has_its_counts_and_only_a_quiet_one_is_folded(self, report):
        page = html(report)
        assert re.findall(r'<span class="(\w+)">. (\d)</span>', page) == [
            ("pass", "1"), ("gap", "1"), ("crashed", "1"), ("unavailable", "1")]  # fmt: skip
        assert "<tbody data-quiet=false>" in page
        quiet = dataclasses.replace(report, results=report.results[:1])
        assert "<tbody data-quiet=true>" in html(quiet)


class TestTerminal:
    def test_topics_are_summed_up(self, report):
        line = next(line for line in text_of(report).splitlines() if "topic" in line)
        assert "✓ 1/3" in line
        assert "1 gap" in line
        assert "1 crashed" in line

    def test_verbose_has_a_row_per_case_and_mode(self, report):
        text = text_of(report, verbose=True)
        assert "topic/odd-one (reverse)" in text
        assert "✓ pass 1 ulp" in text

    def test_failures_are_told_and_markup_in_them_is_text(self, report):
        text = text_of(report)
        assert "crashed  topic/odd-one forward-mode on plain" in text
        assert "'quotes' [bold]" in text
        assert "last words" in text

    def test_what_is_unavailable_says_why_and_what_to_do(self, report):
        text = text_of(report)
        assert "away is unavailable: no device" in text
        assert "do: buy one" in text

    def test_a_stale_gap_is_named(self, report):
        assert "plain: gap 'gone/*' matches no case; remove it" in text_of(report)

    def test_a_pipe_gets_no_escape_codes_of_ours(self, report):
        clean = Report([r for r in report.results if r.status is not Status.CRASHED], report.subjects)
        assert "\x1b" not in text_of(clean)

    def test_the_last_line_sums_up(self, report):
        last = text_of(report).strip().splitlines()[-1]
        assert last == "failed: 1 pass, 1 gap, 1 unavailable, 1 crashed in 1.5 s"
