"""GradBench's evals: programs that give the golden numbers, a tool that answers its protocol, and sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gradbench_formulas
import numpy as np
import pytest

import adstack as qd
from adstack.conformance.gradbench import answers, evaluate
from adstack.conformance.gradbench.session import session
from adstack.conformance.programs.gradbench import EVALS

GOLDEN = json.loads(gradbench_formulas.GOLDEN.read_text("utf-8"))
FUNCTIONS = [(name, function) for name, module in EVALS.items() for function in module.FUNCTIONS]
INTERPRETED = [pair for pair in FUNCTIONS if pair[0] in ("hello", "lse", "llsq", "ba", "kmeans")]
"""The evals that the interpreter runs in an instant; an optimisation takes it minutes."""


ROUNDINGS = 64
"""How many eps of its largest number an array may be off: 8 were measured; numpy rounds differently elsewhere."""


def assert_close(actual, wanted, path):
    """Same shape, and numbers that differ by rounding alone."""
    if isinstance(wanted, dict):
        assert actual.keys() == wanted.keys(), path
        for name in wanted:
            assert_close(actual[name], wanted[name], [*path, name])
    else:
        bound = ROUNDINGS * np.finfo(np.float64).eps * np.abs(wanted).max(initial=0)
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=bound, err_msg=str(path))


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_an_eval_gives_the_golden_numbers(name, function):
    qd.init(arch=qd.cpu, default_fp=qd.f64)
    assert_close(evaluate(name, function, EVALS[name].EXAMPLE)["output"], GOLDEN[name][function], [name, function])


@pytest.mark.parametrize(("name", "function"), INTERPRETED)
def test_the_interpreter_gives_them_too(name, function):
    qd.init(arch=qd.reference, default_fp=qd.f64)
    assert_close(evaluate(name, function, EVALS[name].EXAMPLE)["output"], GOLDEN[name][function], [name, function])


def test_the_golden_numbers_are_those_of_the_formulas():
    for name, functions in gradbench_formulas.golden().items():
        for function, wanted in functions.items():
            assert_close(GOLDEN[name][function], wanted, [name, function])


def talk(*messages):
    return [json.loads(line) for line in answers(json.dumps({"id": n, **m}) for n, m in enumerate(messages))]


def test_messages_are_answered_as_the_protocol_wants():
    qd.init(arch=qd.cpu, default_fp=qd.f64)
    square = {"kind": "evaluate", "module": "hello", "function": "square", "input": 3.0}
    started, defined, unknown, result, failed, noted = talk(
        {"kind": "start", "eval": "hello"},
        {"kind": "define", "module": "hello"},
        {"kind": "define", "module": "nothing"},
        square,
        {**square, "function": "cube"},
        {"kind": "analysis", "of": 3, "valid": True},
    )
    assert started == {"id": 0, "tool": "adstack"}
    assert (defined["success"], unknown["success"], noted) == (True, False, {"id": 5})
    assert (result["id"], result["success"], result["output"]) == (3, True, 9.0)
    assert [row["name"] for row in result["timings"]] == ["prepare", "evaluate"]
    assert not failed["success"]
    assert "cube" in failed["error"]


def test_an_input_says_how_often_it_is_run():
    qd.init(arch=qd.cpu, default_fp=qd.f64)
    timings = evaluate("lse", "primal", {"x": [0.5, 1.0], "min_runs": 4, "min_seconds": 0})["timings"]
    assert [row["name"] for row in timings] == ["prepare", *["evaluate"] * 4]


def scripted(lines, echo):
    """A process that prints lines, each after it has read one if `echo`, or before."""
    steps = ["input(); print(line, flush=True)" if echo else "print(line, flush=True); input()"]
    return [sys.executable, "-c", f"for line in {lines!r}: {steps[0]}"]


def test_a_session_gives_what_the_eval_judged(tmp_path: Path):
    asks = [{"id": 0, "kind": "start"}]
    replies = [{"id": 0}]
    for n in (1, 3):
        asks += [{"id": n, "kind": "evaluate", "function": "f", "description": f"n={n}"}]
        replies += [{"id": n, "success": True, "timings": [{"name": "evaluate", "nanoseconds": 5 * n}]}]
        asks += [{"id": n + 1, "kind": "analysis", **({"error": "off"} if n == 3 else {})}]
        replies += [{"id": n + 1}]
    asks += [{"id": 5, "kind": "evaluate", "function": "g"}]
    replies += [{"id": 5, "success": False, "error": "no"}]
    commands = (scripted([json.dumps(m) for m in talked], echo) for talked, echo in ((asks, False), (replies, True)))
    right, wrong, failed = session(*commands, tmp_path)
    assert (right.description, right.nanoseconds, right.error) == ("n=1", [5], None)
    assert (wrong.nanoseconds, wrong.error) == ([15], "off")
    assert (failed.function, failed.nanoseconds, failed.error) == ("g", [], "no")
