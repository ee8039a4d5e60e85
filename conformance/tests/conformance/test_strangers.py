"""The runner and odd input: logs of anybody, subjects that print nonsense, characters that no report may have."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from suites import no_budgets, plain_subject, run_suite, write_suite

from adstack.conformance.harness.cells import Cell, Result, Status, Subject
from adstack.conformance.harness.identity import identity
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.harness.text import printable
from adstack.conformance.report.html import html
from adstack.conformance.report.junit import junit
from adstack.conformance.report.log import Log
from adstack.conformance.report.summary import Report, record
from adstack.conformance.report.terminal import show
from adstack.tools.commands import cli

ODD = "nul \0 bell \a escape \x1b]0;title\a return \r half \udc80 pair \ud83d separator \u2028 mark \ufffe end"


@pytest.fixture
def cells(tmp_path) -> list[Cell]:
    root = write_suite(tmp_path, {"t/a.py": '@case(rules=["t.x"], params={"n": [0, 1, 2]})\ndef odd(qd, n): ...'})
    return cells_of(collect(root), [plain_subject(tmp_path)])


def results_of(cells: list[Cell]) -> list[Result]:
    return [Result(cell, Status.PASS, "exact", 0.0, seconds=0.5) for cell in cells]


class Told(Log):
    """A log, and what it has said."""

    def __init__(self, path) -> None:
        self.said: list[str] = []
        super().__init__(path, self.said.append)


def resumed(path, cells: list[Cell]) -> tuple[list[str], list[str]]:
    """Which cells a run with this log runs, and what it says."""
    log = Told(path)
    ran: list[str] = []

    def run(missing: list[Cell]) -> list[Result]:
        ran.extend(cell.entry.id for cell in missing)
        for result in results_of(missing):
            log.add(result)
        return results_of(missing)

    assert [result.status for result in log.complete(cells, run)] == [Status.PASS] * len(cells)
    return ran, log.said


def names(cells: list[Cell]) -> list[str]:
    return [cell.entry.id for cell in cells]


FOREIGN = [
    b"no JSON", b"3", b"null", b"[]", b'"text"', b"{}", b'{"subject": ["plain"]}', b"\xff\xfe\x00", b"\x1c\xe2\x80\xa8",
    b"[" * 100_000, b"9" * 5000, b'{"subject": NaN}', ODD.encode("utf-8", "surrogatepass"),
]  # fmt: skip


@pytest.mark.parametrize("line", FOREIGN, ids=range(len(FOREIGN)))
def test_a_foreign_line_is_skipped_and_said(tmp_path, cells, line):
    path = tmp_path / "log"
    assert resumed(path, cells) == (names(cells), [])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], line, *lines[1:]]))
    assert resumed(path, cells) == ([], [f"{path}: 1 line is no result: skipped (2)"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "odd"), ("status", ["pass"]), ("seed", "1"), ("seed", True), ("ulp", "0"), ("ulp", float("nan")),
     ("seconds", None), ("message", None), ("case", {}), ("output", 3), ("exactness", [])],
)  # fmt: skip
def test_a_line_with_a_field_of_another_kind_is_skipped_and_its_cell_run_again(tmp_path, cells, field, value):
    path = tmp_path / "log"
    resumed(path, cells)
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), field: value}), *rest]) + "\n")
    assert resumed(path, cells) == (names(cells[:1]), [f"{path}: 1 line is no result: skipped (1)"])


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(FOREIGN[:9])), max_size=4), st.integers(0, 2000))
def test_a_log_of_anything_and_cut_anywhere_never_stops_a_run(tmp_path_factory, noise, cut):
    folder = tmp_path_factory.mktemp("log")
    root = write_suite(folder, {"t/a.py": '@case(rules=["t.x"], params={"n": [0, 1]})\ndef odd(qd, n): ...'})
    cells = cells_of(collect(root), [plain_subject(folder)])
    resumed(folder / "log", cells)
    path = folder / "other"
    path.write_bytes(b"\n".join([*noise, (folder / "log").read_bytes()[:cut]]))
    ran, _ = resumed(path, cells)
    complete = (folder / "log").read_bytes()[:cut].count(b"\n")
    assert len(ran) <= len(cells) - complete + len(noise)
    assert resumed(path, cells)[0] == []


@pytest.mark.parametrize("change", [{"version": "9"}, {"device": "another"}, {"kind": "software"}, {"arch": "f32"}])
def test_results_of_another_version_or_device_are_run_again(tmp_path, cells, change):
    path = tmp_path / "log"
    resumed(path, cells)
    other = dataclasses.replace(cells[0].subject, **change)
    others = [dataclasses.replace(cell, subject=other) for cell in cells]
    said = [f"{path}: 3 results are of another version or device: run again, not used"]
    assert resumed(path, others) == (names(cells), said)
    assert resumed(path, others) == ([], [])


def test_results_that_do_not_say_what_they_are_of_are_run_again(tmp_path, cells):
    path = tmp_path / "log"
    resumed(path, cells)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["identity"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert resumed(path, cells)[0] == names(cells)


def test_what_a_result_is_of_changes_with_the_suite_and_the_subject(monkeypatch, tmp_path):
    own, peer = Subject("cpu", "adstack", "cpu"), Subject("peer", "taichi", "cpu")
    assert identity(own) == identity(dataclasses.replace(own))
    from adstack.conformance.harness import identity as module

    for package, changes in (("adstack.conformance", (True, True)), ("adstack.backends", (True, False))):
        before = identity(own), identity(peer)
        with monkeypatch.context() as patch:
            sources = module.sources
            patch.setattr(module, "sources", lambda name, p=package, s=sources: s(name) + "x" * (name == p))
            after = identity.__wrapped__(own), identity.__wrapped__(peer)
        assert tuple(a != b for a, b in zip(before, after, strict=True)) == changes


def test_a_log_that_cannot_be_is_an_error_of_the_command_line(tmp_path):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "file" / "log", tmp_path / "pipe"):
        words = ["conformance", "-b", "reference", "-k", "arith/floor-division-of-negatives", "--log", str(path)]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 1
        assert "Could not open file" in result.output


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path, cells, monkeypatch):
    log = Told(tmp_path / "log")

    def full(data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "_append", full)
    for result in results_of(cells):
        log.add(result)
    assert log.said == [
        f"{log.path} can't be written (No space left on device): results from here on may be missing in it"
    ]


NOISE = """
    def noise(text):
        for descriptor in (1, 2):
            os.write(descriptor, text)
        print(text)

    @case(rules=["t.x"])
    def prints_nonsense(qd):
        def k():
            noise(b'\\xff\\xfe\\x00{"outcome": "finished"}\\n' * 3 + b"[[[[ no line end")
            return 3
        return Run(k, returns=3)

    @case(rules=["t.x"])
    def takes_the_streams_away(qd):
        def k():
            import sys
            sys.stdout.close()
            sys.stderr = None
            os.close(1)
        return Run(k)

    @case(rules=["t.x"])
    def moves_away(qd):
        def k():
            for name in os.listdir("."):
                os.unlink(name)
            os.chdir("/")
        return Run(k)

    @case(rules=["t.x"])
    def forks_and_both_go_on(qd):
        return Run(lambda: min(os.fork(), 1) * 0, returns=0)

    @case(rules=["t.x"])
    def is_limited(qd):
        import resource
        return Run(lambda: resource.getrlimit(resource.RLIMIT_FSIZE)[0] <= 1 << 29, returns=1, returns_dtype="i32")

    @case(rules=["t.x"])
    def prints_too_much(qd):
        return Run(lambda: print("x" * 3_000_000), prints="x")

    @case(rules=["t.x"])
    def says_nothing_that_could_be_shown(qd):
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError("no")
        def k():
            raise Odd
        return Run(k)

    @case(rules=["t.x"])
    def raises_odd_text(qd):
        def k():
            print("\\x1b[31mred\\x1b]0;title\\a")
            raise ValueError("nul \\0 half \\udc80")
        return Run(k)

    @case(rules=["t.x"])
    def dies_of_a_signal_without_a_name(qd):
        return Run(lambda: os.kill(os.getpid(), 40))

    @case(rules=["t.x"])
    def still_runs(qd):
        return Run(lambda: 3, returns=3)
"""


@pytest.fixture(scope="module")
def noisy(tmp_path_factory) -> dict[str, Result]:
    return run_suite(tmp_path_factory.mktemp("noisy"), {"t/noise.py": NOISE})


@pytest.mark.parametrize(
    ("name", "status", "phrase"),
    [
        ("prints-nonsense", Status.PASS, ""),
        ("takes-the-streams-away", Status.PASS, ""),
        ("moves-away", Status.PASS, ""),
        ("forks-and-both-go-on", Status.PASS, ""),
        ("is-limited", Status.PASS, ""),
        ("prints-too-much", Status.WRONG_VALUE, "more), expected 'x'"),
        ("says-nothing-that-could-be-shown", Status.REFUSED, "Odd: (its message can't be had: RuntimeError)"),
        ("raises-odd-text", Status.REFUSED, r"ValueError: nul \x00 half \udc80"),
        ("dies-of-a-signal-without-a-name", Status.CRASHED, "the process died of signal 40"),
        ("still-runs", Status.PASS, ""),
    ],
)
def test_whatever_a_subject_does_is_the_result_of_its_own_cell(noisy, name, status, phrase):
    result = noisy[f"t/{name}"]
    assert (result.status, phrase in result.message) == (status, True), result.message
    assert len(result.message) < 10_000


def test_what_an_interpreter_prints_while_it_starts_is_no_answer(tmp_path):
    plain = plain_subject(tmp_path)
    noise = r"""import os; os.write(1, b'{"ready": true}\n\xff nonsense\n' + b'no line end'); """
    loud = dataclasses.replace(plain, command=(plain.command[0], "-c", noise + plain.command[2]))
    text = """
        @case(rules=["t.x"])
        def three(qd):
            return Run(lambda: 3, returns=3)

        @case(rules=["t.x"])
        def four(qd):
            return Run(lambda: 3, returns=4)
    """
    root = write_suite(tmp_path, {"t/a.py": text})
    results = run_cells(cells_of(collect(root), [loud]), Settings(no_budgets, root=root))
    assert {one.cell.entry.id: one.status.value for one in results} == {"t/three": "pass", "t/four": "wrong value"}
    assert any("nonsense\nno line end" in one.output for one in results)


@given(st.text())
def test_printable_text_is_in_every_encoding_and_document(text):
    shown = printable(text)
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    element = Xml.Element("a", b=shown)
    element.text = shown
    again = Xml.fromstring(Xml.tostring(element, encoding="utf-8"))
    assert (again.text or "") == shown
    assert printable(shown) == shown


def test_no_report_has_a_character_that_its_form_does_not(tmp_path, cells):
    odd = dataclasses.replace(cells[0].subject, name="plain", device=ODD, version=ODD)
    away = Subject("away", "x", "cpu", kind="unavailable", reason=ODD, fix=ODD)
    results = [
        Result(dataclasses.replace(cells[0], subject=odd), Status.REFUSED, message=ODD, output=ODD),
        Result(dataclasses.replace(cells[0], subject=away), Status.UNAVAILABLE, message=ODD),
    ]
    report = Report(results, [odd, away])
    Xml.fromstring(junit(report).encode())
    for text in (html(report), json.dumps(record(report), ensure_ascii=False), junit(report)):
        assert all(c.isprintable() or c in "\n\t" or c == "\xa0" for c in text)
        text.encode()
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    show(report, Console(file=stream, width=160, highlight=False, no_color=True))
    stream.seek(0)
    assert r"escape \x1b]0;title\x07" in stream.read().replace("\n", " ")
