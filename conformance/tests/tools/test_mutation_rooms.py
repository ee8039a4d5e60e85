"""Changes by operators: which there are, that each is one, and what is kept of verdicts on them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from adstack.tools.mutation import rooms
from adstack.tools.mutation.edits import applied
from adstack.tools.mutation.equivalent import equivalents
from adstack.tools.mutation.ledger import Ledger
from adstack.tools.mutation.operators import drawn, operated
from adstack.tools.mutation.page import RESULTS, TABLE, table
from adstack.tools.mutation.reach import Quickest
from adstack.tools.mutation.run import CPU, ROOT, Verdict

SOURCE = '''
class Heap:
    """Memory."""

    @property
    def room(self) -> int:
        """What is left: 7."""
        if not self.free:
            raise ValueError("1 + 1")
        return max(self.free, 0)


def lanes(a, b):
    assert a
    note(*zip(a, b, strict=True))
    note(a, b)
    return a < b and a + b
'''


def test_each_operator_changes_what_a_function_computes_and_nothing_else() -> None:
    changes = {(one.where, one.change) for one in operated(SOURCE, "some.py")}
    assert changes == {
        ("Heap.room", "`if not self.free` to `if self.free`"),
        ("Heap.room", "`not self.free` to `self.free`"),
        ("Heap.room", "`max(self.free, 0)` to `min(self.free, 0)`"),
        ("Heap.room", "`0` to `1` in `max(self.free, 0)`"),
        ("lanes", "`note(*zip(a, b, strict=True))` to `pass`"),
        ("lanes", "`zip(a, b, strict=True)` to `zip(b, a, strict=True)`"),
        ("lanes", "`note(a, b)` to `pass`"),
        ("lanes", "`note(a, b)` to `note(b, a)`"),
        ("lanes", "`a < b and a + b` to `a < b or a + b`"),
        ("lanes", "`a < b and a + b` to `a < b`"),
        ("lanes", "`a < b and a + b` to `a + b`"),
        ("lanes", "`a < b` to `a <= b`"),
        ("lanes", "`a + b` to `a - b`"),
    }


def test_an_edit_is_made_where_it_belongs() -> None:
    edits = drawn(operated(SOURCE, "some.py"), 100)
    texts = {edit.change: applied(SOURCE, edit) for edit in edits}
    assert "        return min(self.free, 0)\n" in texts["`max(self.free, 0)` to `min(self.free, 0)`"]
    assert "    note(a, b)\n    return a <= b and a + b\n" in texts["`a < b` to `a <= b`"]
    assert all("@property\n" in text for text in texts.values())


def test_more_are_drawn_beside_those_of_a_smaller_number() -> None:
    changes = operated(SOURCE, "some.py")
    few, more = ({edit.change for edit in drawn(changes, count)} for count in (4, 7))
    assert len(few) == 4
    assert len(more) == 7
    assert few < more


def test_alike_places_of_a_function_have_names_of_their_own() -> None:
    names = [one.change for one in operated("def f(a):\n    return a < 1, a < 1\n", "some.py")]
    assert len(set(names)) == len(names) == 4


def test_every_room_has_sources_and_tests() -> None:
    folder = Path(__file__).parents[1]
    counts = rooms.candidates()
    assert set(counts) == {
        "sizing", "heap layout", "launch record", "reverse mode", "planning", "LLVM generator", "SPIR-V generator",
    }  # fmt: skip
    for room in rooms.ROOMS:
        assert counts[room.name] >= room.count, room.name
        assert [pattern for pattern in room.tests if not list(folder.glob(f"{pattern}.py"))] == []


def test_a_change_belongs_to_the_room_of_its_file() -> None:
    edits = rooms.room_edits()
    assert len({(edit.row, edit.change) for edit in edits}) == len(edits) == sum(room.count for room in rooms.ROOMS)
    names = {edit.file: rooms.room_of(edit.row).name for edit in edits}
    assert {names[file] for file in names if file.startswith("backends/codegen_llvm/")} == {"LLVM generator"}
    assert {names[file] for file in names if file.startswith("sizing/")} == {"sizing"}


@dataclass(frozen=True)
class Change:
    """What a ledger looks at."""

    row: str
    change: str


CHANGES = [Change("a.py f", "one"), Change("a.py f", "two"), Change("b.py g", "one")]


def test_a_ledger_keeps_what_came_before(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    before = Ledger(file, CHANGES, "old")
    before.add(Verdict(CHANGES[0], True, "test_a.py::test_b"))
    before.add(Verdict(CHANGES[2], False, ""))
    now = Ledger(file, CHANGES, "new")
    now.add(Verdict(CHANGES[2], True, "test_c.py::test_d"))
    record = json.loads(file.read_text())
    assert [record[key] for key in ("commit", "rows", "changes", "killed", "equivalent", "survived")] == [
        "new", 2, 2, 2, 0, 0,
    ]  # fmt: skip
    assert record["earlier"] == {"old": [["a.py f", "one"]]}
    assert record["changed"] == {"a.py f": {"one": "test_a.py::test_b"}, "b.py g": {"one": "test_c.py::test_d"}}
    assert Ledger(file, CHANGES[1:], "new").record()["changes"] == 1  # a change that is no more


def test_a_survivor_with_a_reason_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {("a.py f", "two"): "Both are the same.", ("a.py f", "one"): "So it seemed."}
    monkeypatch.setattr("adstack.tools.mutation.ledger.equivalents", lambda: reasons)
    ledger = Ledger(tmp_path / "results.json", CHANGES, "new")
    ledger.add(Verdict(CHANGES[0], True, "test_a.py::test_b"))
    ledger.add(Verdict(CHANGES[1], False, ""))
    ledger.add(Verdict(CHANGES[2], False, ""))
    record = ledger.record()
    assert [record[key] for key in ("killed", "equivalent", "survived")] == [1, 1, 1]
    assert record["why equivalent"] == {"a.py f: two": "Both are the same."}
    assert ledger.noticed_after_all() == [("a.py f", "one")]


def test_reasons_are_read_by_row_and_change(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.txt"
    file.write_text("# Some.\n\n@ a.py f: `x: y` to `z`\nBecause\nof that.\n\n@ b.py g: one\nSo.\n")
    assert equivalents(file) == {("a.py f", "`x: y` to `z`"): "Because of that.", ("b.py g", "one"): "So."}
    other = tmp_path / "without.txt"
    other.write_text("# Some.\n\n@ a.py f: one\n\n@ b.py g: two\nSo.\n")
    with pytest.raises(ValueError, match="lacks a change or a reason"):
        equivalents(other)


def test_reasons_are_about_changes_that_there_are() -> None:
    names = {(edit.row, edit.change) for edit in rooms.room_edits()}
    assert equivalents().keys() <= names


@dataclass(frozen=True)
class Named:
    """What a place is given to."""

    nodeid: str


SMALL = """
from adstack.autodiff.saving.mincut import _Network

def test_slow():
    import time
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    assert _Network(3).reaching(2)

def test_quick():
    assert sorted(_Network(3).reaching(2)) == [2]

def test_of_something_else():
    pass

def test_that_fails():
    assert _Network(3).reaching(2) == "something else"
"""
DRIVER = """
import sys
from pathlib import Path
from adstack.tools.mutation.autodiff import mutants_of
from adstack.tools.mutation.edits import Edit
from adstack.tools.mutation.reach import Quickest
from adstack.tools.mutation.run import ROOT, judged

row = "autodiff/saving/mincut.py _Network.reaching"
old = "reached, queue = {sink}, deque([sink])\\n"
edits = [Edit(row.split()[0], row.split()[1], "one more", old, "reached, queue = {sink, 7}, deque([sink])\\n", row),
         Edit(row.split()[0], row.split()[1], "the same", old, "reached, queue = {sink, sink}, deque([sink])\\n", row)]
quickest = Quickest(edits, ROOT / "reference", Path(sys.argv[1]) / "reach.json", {})
verdicts = []
judged(mutants_of(edits), 1, verdicts.append, Path(sys.argv[1]), ["test_small"], quickest.order, quickest.ready)
print(quickest.reach.failed, quickest.reach.rows[row])
for verdict in verdicts:
    print(verdict.mutant.change, "|", verdict.by or "survived")
"""


def test_a_test_that_takes_nearly_all_the_time_there_is_notices_nothing(tmp_path: Path) -> None:
    row = "autodiff/saving/mincut.py _Network.reaching"
    edit = next(one for one in operated((ROOT / "reference" / row.split()[0]).read_text(), row.split()[0])).edit()
    file = tmp_path / "reach.json"
    file.write_text(json.dumps({"seconds": {"slow": 0.6 * CPU, "quick": 1.0}, "rows": {edit.row: ["slow", "quick"]}}))
    quickest = Quickest([edit], ROOT / "reference", file, {(edit.row, edit.change): "slow"})
    quickest.ready([])
    places = {name: quickest.order(Named(name), edit) for name in ("slow", "quick", "other")}
    assert places == {"slow": None, "quick": 1, "other": None}


def test_a_change_runs_the_tests_that_run_its_function_the_quickest_first(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(SMALL)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run([sys.executable, "-c", DRIVER, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "['test_small.py::test_that_fails'] ['test_small.py::test_slow', 'test_small.py::test_quick']",
        "one more | test_small.py::test_quick",
        "the same | survived",
    ], done.stderr
    measured = json.loads((tmp_path / "reach.json").read_text())["seconds"]
    assert measured["test_small.py::test_slow"] >= 0.2 > measured["test_small.py::test_quick"]


def test_the_table_of_results_is_that_of_the_files() -> None:
    page = (RESULTS / "README.md").read_text()
    assert page == TABLE.put(page, table()), "run python -m adstack.tools.mutation.page --write"


def test_a_table_counts_by_room_and_names_what_survives(tmp_path: Path) -> None:
    (tmp_path / "mutation.json").write_text(json.dumps({"changed": {"add": {"negated": "test_a.py::test_b"}}}))
    (tmp_path / "mutation-autodiff.json").write_text(
        json.dumps({"changed": {"derivative of ADD": {"x": "t"}, "autodiff/a.py f": {"y": "survived"}}})
    )
    sized = {"one": "survived", "two": "t", "three": "survived"}
    reasons = {"sizing/a.py f: one": "Because."}
    (tmp_path / "mutation-rooms.json").write_text(
        json.dumps({"drawn from": {"sizing": 9}, "why equivalent": reasons, "changed": {"sizing/a.py f": sized}})
    )
    lines = table(tmp_path).splitlines()
    assert lines[2:6] == [
        "| operations, atomics, conversions | by row | 1 | 1 | 1 | 0 | 0 |",
        "| the table of derivatives | by hand | 1 | 1 | 1 | 0 | 0 |",
        "| reverse mode and its plans | by hand | 1 | 1 | 0 | 0 | 1 |",
        "| sizing | by operators | 9 | 3 | 1 | 1 | 1 |",
    ]
    assert lines[-2:] == ["- autodiff/a.py f: y", "- sizing/a.py f: three"]
