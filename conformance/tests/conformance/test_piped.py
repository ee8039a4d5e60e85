"""Any program is a subject: it is told of launches over a pipe, and what it can't do is missing, not wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import toy_compiler
from suites import no_budgets, write_suite

from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.peers import GROUP, peer_subject
from adstack.tools.bench import environments
from adstack.tools.subjects import asked_peers

TOY = Path(toy_compiler.__file__)
CASES = """
    def launch(qd, step):
        x, y = (qd.field(qd.f32, shape=3, needs_grad=True) for _ in range(2))

        @qd.kernel
        def k():
            for i in x:
                step(x, y, i)
        gradient = Gradient(seed={y: 1}, expect={x: [3, 5, 7]})
        return Run(k, given={x: [1, 2, 3]}, expect={y: [2.5, 6.5, 12.5]}, gradient=gradient)

    @case(rules=["t.x"], modes=("forward", "reverse"))
    def straight(qd):
        @qd.func
        def step(x, y, i):
            y[i] = x[i] * x[i] + x[i] + 0.5
        return launch(qd, step)

    @case(rules=["t.x"])
    def branching(qd):
        @qd.func
        def step(x, y, i):
            if x[i] > 0:
                y[i] = x[i]
        return launch(qd, step)
"""


def subject(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> Subject:
    """The subject of an installed distribution that has an entry point for a compiler with this source."""
    (folder / "compiler.py").write_text(source)
    command = [sys.executable, str(folder / "compiler.py")]
    (folder / "toy.py").write_text(f"def about():\n    return {{'version': '0.1', 'command': {command!r}}}\n")
    installed = folder / "toy-0.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 0.1\n")
    (installed / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = toy:about\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return peer_subject("toy", {})


def results(folder: Path, toy: Subject, *numbers: int) -> list[Result]:
    """Of the cells with these numbers: straight code forward and in reverse, and a branch."""
    root = write_suite(folder, {"t/a.py": CASES})
    cells = cells_of(collect(root), [toy])
    return run_cells([cells[number] for number in numbers], Settings(no_budgets, root=root))


def test_a_toy_passes_what_it_compiles_forward_and_in_reverse_and_the_rest_is_missing(tmp_path, monkeypatch):
    toy = subject(tmp_path, monkeypatch, TOY.read_text())
    assert (toy.is_available, toy.version) == (True, "0.1")
    straight, back, branching = results(tmp_path, toy, 0, 1, 2)
    assert (straight.status, back.status) == (Status.PASS, Status.PASS), straight.message + back.message
    assert branching.status is Status.MISSING
    assert not branching.is_failure
    assert branching.message.startswith("no ")


def test_a_toy_that_multiplies_wrongly_is_found(tmp_path, monkeypatch):
    wrong = TOY.read_text().replace('"{} * {}"', '"{} + {}"')
    (back,) = results(tmp_path, subject(tmp_path, monkeypatch, wrong), 1)
    assert back.status is Status.WRONG_GRADIENT


def test_a_program_that_ends_or_complains_is_the_result_of_its_cell(tmp_path, monkeypatch):
    source = """
import json, sys
for line in sys.stdin:
    if json.loads(line)["launch"] == 1 and "if" in line:
        sys.exit(7)
    print(json.dumps({"error": "out of toys"}), flush=True)
"""
    straight, branching = results(tmp_path, subject(tmp_path, monkeypatch, source), 0, 2)
    assert (straight.status, straight.message) == (Status.REFUSED, "LaunchFailedError: out of toys")
    assert branching.status is Status.CRASHED
    assert "the subject's process ended: exit code 7" in branching.output


def test_a_version_that_is_stated_has_an_environment_of_its_own(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(environments.inspection, "cache", lambda: SimpleNamespace(folder=str(tmp_path / "kernels")))
    monkeypatch.setattr(environments, "_run", commands.append)
    for one in asked_peers(["taichi==1.7.4@cpu,vulkan"], {}):
        assert one.name in ("taichi", "taichi:vulkan")
        assert str(tmp_path / "adstack-peers" / "taichi-1.7.4") in one.reason  # nothing was installed
    venv, install = commands
    assert venv[1:3] == ["-m", "venv"]
    assert install[1:] == ["-m", "pip", "install", "--quiet", "taichi==1.7.4", "numpy"]


@pytest.mark.parametrize("word", ["taichi@", "taichi==", "==1", "taichi@cpu vulkan", "", "--help"])
def test_a_word_that_names_no_subject_is_refused(word):
    with pytest.raises(click.BadParameter):
        asked_peers([word], {})


def test_the_toy_is_small():
    assert len(TOY.read_text().splitlines()) <= 60
