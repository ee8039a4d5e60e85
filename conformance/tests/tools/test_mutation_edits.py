"""Edits of source text: each is there to be read, fits the sources as they are, and changes what runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adstack.ir.ops import TABLE
from adstack.tools.mutation.autodiff import TESTS, edits, order, stale
from adstack.tools.mutation.edits import Edit, StaleEditError, applied, read_edits
from adstack.tools.mutation.rules import rules
from adstack.tools.mutation.run import ROOT

SOURCE = '''
class Counter:
    """Counts."""

    def step(self, by):
        if by:
            self.n += by
        return self.n


def twice(x):
    return x + x


LIMITS = {"low": 1, "high": 3}
'''
EDIT = Edit("some.py", "Counter.step", "counts down", "self.n += by\n", "self.n -= by\n", "some.py Counter.step")


def test_every_edit_fits_the_sources() -> None:
    assert stale() == []


def test_every_kind_of_decision_and_every_derivative_is_edited() -> None:
    files = {edit.file.rsplit("/", 1)[-1].removesuffix(".py") for edit in edits()}
    assert files >= {"scalar_ops", "activity", "planner", "choice", "mincut", "sweep", "backward", "state"}
    assert files >= {"reverse", "rotate", "loops"}
    assert files >= {"conflicts", "replay", "before", "parts", "access", "undo", "tape"}
    assert {edit.row for edit in edits()} >= {
        f"derivative of {row.name.upper()}" for row in TABLE.values() if row.pulls
    }


def test_lines_are_found_at_any_indentation_and_replaced() -> None:
    text = applied(SOURCE, EDIT)
    assert "            self.n -= by\n" in text
    assert text.count("\n") == SOURCE.count("\n")
    edit = Edit("some.py", "Counter.step", "", "if by:\n    self.n += by\n", "self.n = by\n", "")
    assert "        self.n = by\n        return" in applied(SOURCE, edit)


@pytest.mark.parametrize(
    ("where", "old", "new", "message"),
    [
        ("Counter.step", "self.m += by\n", "", "stands there 0 times"),
        ("twice", "self.n += by\n", "", "stands there 0 times"),
        ("Counter.walk", "self.n += by\n", "", "there is no Counter.walk"),
        ("twice", "return x + x\n", "return x +  x\n", "nothing changes"),
        ("twice", "return x + x\n", "return x +\n", "no program"),
    ],
)
def test_an_edit_that_does_not_fit_is_an_error(where: str, old: str, new: str, message: str) -> None:
    with pytest.raises(StaleEditError, match=message):
        applied(SOURCE, Edit("some.py", where, "", old, new, "some.py"))


def test_edits_are_read_as_they_would_stand_in_a_diff(tmp_path: Path) -> None:
    text = tmp_path / "wrong.txt"
    text.write_text(
        "# Some.\n\n=== a.py\n\n@ f: goes: wrong\n- x\n-     y\n+ z\n\n@ g: is gone\n- x\n\n"
        "=== b.py\n@ h: h\n- h\n+ i\n"
    )
    assert read_edits(text) == [
        Edit("a.py", "f", "goes: wrong", "x\n    y\n", "z\n", "a.py f"),
        Edit("a.py", "g", "is gone", "x\n", "", "a.py g"),
        Edit("b.py", "h", "h", "h\n", "i\n", "b.py h"),
    ]
    text.write_text("* what\n")
    with pytest.raises(StaleEditError, match="is no line of an edit"):
        read_edits(text)


def test_rules_follow_the_table() -> None:
    source = 'F = _unary("f", pulls=through(("x", lambda g, s: g * (s.x - 1.5))))\n'
    texts = {edit.change: applied(source, edit) for edit in rules(source)}
    start, end = "F = _unary('f', pulls=through(('", "))\n"
    assert texts == {
        "x: negated": start + "x', lambda g, s: -(g * (s.x - 1.5)))" + end,
        "x: the factor dropped": start + "x', lambda g, s: g)" + end,
        "x: r taken for x": start + "r', lambda g, s: g * (s.r - 1.5))" + end,
        "x: plus for minus in s.x - 1.5": start + "x', lambda g, s: g * (s.x + 1.5))" + end,
        "x: 1.5 dropped from s.x - 1.5": start + "x', lambda g, s: g * s.x)" + end,
        "x: 1.5 doubled": start + "x', lambda g, s: g * (s.x - 3.0))" + end,
    }


DRIVER = """
import sys
from adstack.tools.mutation.edits import Edit
from adstack.tools.mutation.patches import patch
from adstack.tools.mutation.run import ROOT

def edited(file, where, old, new):
    patch(Edit(file, where, "", old + "\\n", new + "\\n", ""), ROOT / "reference")()

from adstack.ir.scalar_ops import CAST as before
from adstack.autodiff.emission import state
from adstack.autodiff.saving import mincut
edited("autodiff/saving/mincut.py", "_Network.reaching", "reached, queue = {sink}, deque([sink])",
       "reached, queue = {sink, -7}, deque([sink])")
print(sorted(mincut._Network(3).reaching(2)))
edited("ir/scalar_ops.py", "CAST", '    pulls=through(("", _same)),', '    pulls=through(None),')
from adstack.ir import ops, scalar_ops
print(before.pulls, before is ops.TABLE["cast"] is scalar_ops.CAST)
edited("autodiff/emission/state.py", "Adjoints.inner", "outer, self._sums = self._sums, {}",
       "outer, self._sums = self._sums, {1: 2}")
adjoints = state.Adjoints(None)
with adjoints.inner():
    print(adjoints.take(1))
"""


def test_an_edit_changes_what_runs() -> None:
    before = {path: path.read_text() for path in (ROOT / "reference" / "autodiff").rglob("*.py")}
    done = subprocess.run([sys.executable, "-c", DRIVER], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[-7, 2]", "(None,) True", "2"], done.stderr
    assert {path: path.read_text() for path in before} == before


class Item:
    """What an order looks at."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.path = nodeid, Path(nodeid.split("::")[0])


def test_what_killed_an_edit_before_is_tried_first_and_its_own_tests_next() -> None:
    place = order({(EDIT.row, EDIT.change): "kernels/test_x.py::test_a"})
    assert [place(Item(name), EDIT) for name in ("kernels/test_x.py::test_a", "kernels/test_x.py::test_b")] == [0, 2]
    mincut = Edit("autodiff/saving/mincut.py", "f", "", "", "", "autodiff/saving/mincut.py f")
    assert place(Item("autodiff/test_mincut.py::test_a"), mincut) == 1


def test_the_tests_to_run_exist() -> None:
    folder = Path(__file__).parents[1]
    assert [pattern for pattern in TESTS if not list(folder.glob(f"{pattern}.py"))] == []
