"""Mutated programs: reproducible, and none meets a defect."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from click.testing import CliRunner

from adstack.conformance.fuzz import text
from adstack.conformance.fuzz.mutants import Mutant, mutant
from adstack.conformance.fuzz.text import Finding, examine
from adstack.conformance.fuzz.trial import FINDINGS, Outcome, tried

PROGRAM = """
from adstack.conformance.case import Run, case


@case(rules=["memory.field"])
def stores(qd):
    x = qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        {body}

    return Run(k)
"""


def program(body: str) -> Mutant:
    return Mutant(0, "memory/stores", "stores", 0, PROGRAM.format(body=body), ("by hand",))


def test_a_number_and_a_seed_give_the_same_mutant_and_others_differ() -> None:
    first = [mutant(7, number) for number in range(20)]
    assert first == [mutant(7, number) for number in range(20)]
    assert len({one.text for one in (*first, mutant(8, 0))}) == 21
    for one in first:
        ast.parse(one.text)
        assert one.changes


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("x[0] = 1.0", "runs", ""),
        ("x[0] = nobody", "refused", "'nobody' is not defined"),
        ("while True: x[0] = 1.0", "stopped", ""),
    ],
)
def test_what_came_of_a_program_is_told(body: str, kind: str, words: str) -> None:
    outcome = tried(program(body), "reference")
    assert outcome.kind == kind
    assert words in outcome.detail


def test_an_exception_that_is_not_adstacks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("adstack.runtime.compiler.compile_kernel", broken)
    assert tried(program("x[0] = 1.0"), "reference").kind == "plain"


def test_a_worker_that_dies_is_a_finding_and_is_replaced() -> None:
    worker = text.Worker("reference")
    try:
        ends = program("x[0] = qd.static(__import__('os')._exit(3))")
        assert worker.run(ends) == Outcome("crashed", "the process ended with 3")
        assert worker.run(replace(ends, text=program("x[0] = 1.0").text)).kind == "runs"
    finally:
        worker.close()


def test_findings_are_shown_and_kept_and_decide_the_exit_status(monkeypatch, tmp_path) -> None:
    one = program("pass")
    monkeypatch.setattr(text, "examine", lambda *_, **__: [Finding(one, Outcome("plain", "KeyError: 'lost'"))])
    result = CliRunner().invoke(text.main, ["--count", "1", "--seed", "5", "--keep", str(tmp_path)])
    assert result.exit_code == 1
    assert "mutant 0 (memory/stores: by hand): plain\nKeyError: 'lost'" in result.output
    assert (tmp_path / "mutant_5_0.py").read_text() == one.text
    monkeypatch.setattr(text, "examine", lambda *_, **__: [Finding(one, Outcome("runs"))])
    assert CliRunner().invoke(text.main, []).exit_code == 0


@pytest.mark.parametrize(("arch", "seed"), [("reference", 11), ("cpu", 12)])
def test_no_mutant_meets_a_defect(arch: str, seed: int) -> None:
    findings = [one for one in examine(60, seed=seed, arch=arch) if one.outcome.kind in FINDINGS]
    assert not findings, "\n".join(map(str, findings))
