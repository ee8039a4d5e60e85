"""Exact integers at zero change: the golden file is what is measured, and a regression is told of by name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from adstack.tools import gates
from adstack.tools.gates import GATES, GOLDEN, Gate, differences, main, measure
from adstack.transforms import pipeline

OPS = Gate("code_size", "GradientCode", ("cpu", "recurrence"), ("track_ir_ops",))

COMPILING = next(gate for gate in GATES if gate.module == "compile_time" and gate.setting == ("cpu", "recurrence"))


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """The benchmarks are modules of asv, not of this process."""
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


def test_no_exact_number_has_moved():
    """In a process of its own: calls also look at what other tests have left behind."""
    done = subprocess.run([sys.executable, "-m", "adstack.tools.gates"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}: what moves on purpose is written by adstack.tools.gates --write"
    )
    assert any("(cpu, " in name for name in json.loads(GOLDEN.read_text()))


def test_passes_that_are_missing_are_told_of_by_the_number_that_moves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    kept = tuple(one for one in pipeline.PASSES if one[0] not in ("licm", "forward", "cse", "cse-2"))
    monkeypatch.setattr(gates, "GATES", (OPS,))
    monkeypatch.setattr(gates, "measure", lambda: measure([OPS]))
    monkeypatch.setattr(gates, "GOLDEN", tmp_path / "exact.json")
    ((name, before),) = measure([OPS]).items()
    gates.GOLDEN.write_text(json.dumps({name: before, "heap.Adstacks.gone(cuda, x)": 1}))
    assert CliRunner().invoke(main, []).exit_code == 0
    monkeypatch.setattr(pipeline, "PASSES", kept)
    result = CliRunner().invoke(main, [])
    assert (result.exit_code, result.output.startswith(f"{name}: {before} -> ")) == (1, True)
    assert CliRunner().invoke(main, ["--write"]).exit_code == 0
    assert json.loads(gates.GOLDEN.read_text())[name] > before
    assert CliRunner().invoke(main, []).exit_code == 0


def test_compiling_that_takes_more_than_a_hundredth_more_functions_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    golden = measure([COMPILING])
    monkeypatch.setattr(gates, "GATES", (COMPILING,))
    monkeypatch.setattr(gates, "measure", lambda: measure([COMPILING]))
    monkeypatch.setattr(gates, "GOLDEN", tmp_path / "exact.json")
    gates.GOLDEN.write_text(json.dumps(golden))
    slow = [one for one in pipeline.PASSES if one[0] == "cse"] * 8
    monkeypatch.setattr(pipeline, "PASSES", (*pipeline.PASSES, *slow))
    result = CliRunner().invoke(main, [])
    assert (result.exit_code, result.output.startswith(f"{COMPILING.names[0]}: ")) == (1, True)


@pytest.mark.parametrize(("number", "moved"), [(990, 0), (1010, 0), (989, 1), (1011, 1)])
def test_what_stands_for_a_cost_may_move_by_a_hundredth(number: int, moved: int):
    (name,) = COMPILING.names
    assert len(differences({name: 1000}, {name: number})) == moved


def test_what_depends_on_the_machine_is_compared_with_its_kind_alone():
    (name,) = COMPILING.names
    base, on, _ = name.partition(" on ")
    assert differences({f"{base}{on}another machine": 1}, {name: 2}) == []
    assert len(differences({f"{base}{on}another machine": 2, name: 1}, {name: 2})) == 1


def test_a_number_that_only_one_side_knows_is_told_of_if_its_backend_is_there():
    golden = {"a(cpu, x)": 1, "b(cpu, x)": 2, "c(cuda, x)": 3}
    assert differences(golden, {"a(cpu, x)": 1, "d(cpu)": 4}) == [
        "d(cpu): not there -> 4",
        "b(cpu, x): 2 -> not measured",
    ]
