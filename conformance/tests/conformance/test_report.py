"""The reports say the same thing in four forms, and none of them breaks on odd text."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console
from suites import plain_subject, write_suite

from adstack.conformance.harness.cells import Cell, Gap, Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import Selection
from adstack.conformance.report.comparison import before_of, changes
from adstack.conformance.report.html import html, page_text
from adstack.conformance.report.junit import junit
from adstack.conformance.report.summary import Report, record
from adstack.conformance.report.terminal import show

ODD = "got <b> & \x1b[31m'quotes' [bold] \N{SNOWMAN}"


@pytest.fixture
def entry(tmp_path):
    (only,) = collect(write_suite(tmp_path, {"topic/b.py": '@case(rules=["t.x"])\ndef odd_one(qd): ...'}))
    return only


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


CELL = re.search(r"const CELL = \[(.*?)\];", page_text("page.js"), re.DOTALL)[1]
CELL = re.findall(r"'(\w+)'", CELL)
"""The parts of a cell, as the page's script has them."""


def unpacked(page: str) -> dict:
    """The data of a page, as its script unpacks them."""
    packed = re.search(r'<script id="data" type="text/plain">(.*?)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def cells_of(page: str) -> list[dict]:
    """The cells of a page, with their texts."""
    data, cells = unpacked(page), []
    for case, mode, _, some in data["rows"]:
        for values in some:
            cell = dict(zip(CELL, values, strict=True), case=data["cases"][case]["id"], mode=mode)
            texts = {name: data["texts"][cell[name]] for name in ("exactness", "message", "output", "departure")}
            states = {"state": data["states"][cell["state"]], "subject": data["subjects"][cell["subject"]]}
            cells.append({**cell, **texts, **states})
    return cells


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

    def test_a_run_that_was_interrupted_is_no_pass(self, report):
        passing = self.results(report, Status.PASS)
        assert not replace(passing, interrupted=2).passed
        assert "failed: 1 pass, 2 left when it was interrupted" in text_of(replace(passing, interrupted=2))


def test_what_was_not_run_and_the_reasons_of_gaps_are_said(report):
    far = replace(report.subjects[1], name="far", reason="no driver", fix="install one")
    text = text_of(replace(report, left_out=[far]))
    assert "plain: 1 gap: known to fail" in text
    assert "away is unavailable: no device\n  do: buy one" in text
    assert "far was not run: no driver\n  do: install one" in text
    assert [one["name"] for one in record(replace(report, left_out=[far]))["left_out"]] == ["far"]


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

    def test_every_cell_is_in_its_data_with_its_state_and_details(self, report):
        cells = {(cell["mode"], cell["subject"]): cell for cell in cells_of(html(report))}
        assert {name: cell["state"] for name, cell in cells.items()} == {
            ("forward", "plain"): "pass",
            ("reverse", "plain"): "gap",
            ("forward-mode", "plain"): "crashed",
            ("forward", "away"): "unavailable",
        }
        assert cells["reverse", "plain"]["message"] == "known gap: known to fail\ngradient[0]: got 1"
        assert cells["forward-mode", "plain"]["output"] == "last words"
        assert (cells["forward", "plain"]["exactness"], cells["forward", "plain"]["ulp"]) == ("ulp(2)", 1.0)

    def test_a_case_has_its_source_and_its_rules_their_text(self, report, entry):
        cited = replace(entry, case=replace(entry.case, rules=("arith.wrap",)))
        results = [replace(one, cell=replace(one.cell, entry=cited)) for one in report.results]
        data = unpacked(html(replace(report, results=results)))
        (case,) = data["cases"]
        assert data["texts"][case["source"]] == '@case(rules=["t.x"])\ndef odd_one(qd): ...'
        assert "wrap modulo 2^bits" in data["rules"]["arith.wrap"]

    def test_what_explains_a_cell_is_shown_and_programs_once_for_all_subjects(self, report):
        value = {"what": "expect[0]", "dtype": "f32", "ulp": 3.0, "worst": "[1]", "values": "shape 2: got 1, 2"}
        program = {"name": "k", "stages": {"frontend": "kernel @k() {}"}}
        details = {"values": [value], "programs": [program], "departures": ["here: sin"]}
        results = [replace(one, details=details) for one in report.results[:1]]
        data = unpacked(html(replace(report, results=results)))
        ((_, _, programs, (cell,)),) = data["rows"]
        name, ((stage, text),) = programs[0]
        assert [data["texts"][number] for number in (name, stage, text)] == ["k", "frontend", "kernel @k() {}"]
        what, _, ulp, values, worst = cell[CELL.index("values")][0]
        assert (data["texts"][what], ulp, data["texts"][values]) == ("expect[0]", 3.0, "shape 2: got 1, 2")
        assert data["texts"][cell[CELL.index("departure")]] == "here: sin"
        assert data["texts"][worst] == "[1]"

    def test_another_run_is_compared_cell_by_cell(self, report):
        before = record(replace(report, results=report.results[1:]))
        before["cells"][1]["status"] = "pass"
        before["cells"].append({**before["cells"][0], "case": "topic/was"})
        page = html(report, before)
        changes = {(cell["mode"], cell["subject"]): cell["change"] for cell in cells_of(page)}
        assert changes == {
            ("forward", "plain"): "new",
            ("reverse", "plain"): "",
            ("forward-mode", "plain"): "state",
            ("forward", "away"): "",
        }
        assert "gone from plain: topic/was reverse" in page
        assert "1 of 3</td><td>1 of 3</td><td>1</td><td>0</td><td>1</td><td>1</td>" in page

    @pytest.mark.parametrize(
        ("selection", "known", "gone"),
        [
            (Selection(), (), ["topic/was reverse", "topic/was:2 forward"]),
            (Selection(), [("topic/was", "reverse")], ["topic/was:2 forward"]),
            (Selection(), [("topic/was", "forward"), ("topic/was:2", "forward")], ["topic/was reverse"]),
            (Selection(patterns=("topic/*",)), (), ["topic/was reverse", "topic/was:2 forward"]),
            (Selection(patterns=("topic/was",)), (), ["topic/was reverse", "topic/was:2 forward"]),
            (Selection(patterns=("arith/*",)), (), []),
            (Selection(modes=("reverse", "forward-mode")), (), ["topic/was reverse"]),
            (Selection(rules=("was.*",)), (), ["topic/was:2 forward"]),
        ],
    )
    def test_only_what_was_asked_for_and_the_suite_has_no_more_is_gone(self, report, selection, known, gone):
        """Also after an interruption: cells that were not reached are known."""
        before = record(report)
        plain = before["cells"][1]
        before["cells"] += [
            {**plain, "case": "topic/was", "mode": "reverse"},
            {**plain, "case": "topic/was:2", "mode": "forward", "rules": ["was.rule"]},
            {**plain, "case": "topic/was", "mode": "reverse", "subject": "another"},
        ]
        now = replace(report, selection=selection, known=known)
        (one, _) = changes(now, before_of(before))
        assert one["gone"] == gone
        assert one["before"] == f"1 of {3 + len(gone)}"
        assert record(now)["suite"]["selection"]["modes"] == list(selection.modes)

    def test_a_topic_has_its_counts_and_only_a_quiet_one_is_folded(self, report):
        page = html(report)
        assert re.findall(r'<span class="(\w+)" title="\w+">. (\d)</span>', page) == [
            ("pass", "1"), ("gap", "1"), ("crashed", "1"), ("unavailable", "1")]  # fmt: skip
        assert 'data-quiet="false"' in page
        assert 'data-quiet="true"' in html(replace(report, results=report.results[:1]))

    def test_what_ran_is_told(self, report):
        page = html(report)
        assert record(report)["subjects"][0]["identity"] in page
        assert record(report)["suite"]["sources"]["cases"][:16] in page


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
