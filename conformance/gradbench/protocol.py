"""Answers to the messages of GradBench's protocol.

A message and its answer are one line of JSON each. `define` asks for an eval by name, `evaluate` for a function of
it on an input, which says how often at least, and how many seconds at least, it is to be run; GradBench's
CONTRIBUTING.md has the protocol. The first run, in which kernels are compiled, is not among those that are timed and
reported.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterable, Iterator

import adstack as qd

from ..harness.records import Record
from ..programs.gradbench import EVALS

__all__ = ["answers", "evaluate"]


def answers(lines: Iterable[str]) -> Iterator[str]:
    """The answer to each message, a line of JSON for a line of JSON."""
    for line in lines:
        message = json.loads(line)
        yield json.dumps({"id": message["id"], **_answer(message)})


def _answer(message: Record) -> Record:
    if message["kind"] == "start":
        return {"tool": "adstack"}
    if message["kind"] == "define":
        return {"success": message["module"] in EVALS}
    if message["kind"] == "evaluate":
        try:
            return evaluate(message["module"], message["function"], message["input"])
        except (KeyError, qd.AdstackError):
            return {"success": False, "error": traceback.format_exc()}
    return {}


def evaluate(module: str, function: str, inputs: object) -> Record:
    """What a function of an eval gives on this input, and how long each of its runs took.

    Returns:
        The fields of an answer to `evaluate`: success, output, and timings, in nanoseconds.

    Raises:
        KeyError: there is no such eval or function, or the input lacks something.
    """
    begin = time.perf_counter_ns()
    task = EVALS[module].FUNCTIONS[function](inputs)
    task.run()
    qd.sync()
    timings = [("prepare", time.perf_counter_ns() - begin)]
    limits = inputs if isinstance(inputs, dict) else {}
    total, least = 0, 1e9 * limits.get("min_seconds", 0)
    while len(timings) <= limits.get("min_runs", 1) or total < least:
        begin = time.perf_counter_ns()
        task.run()
        qd.sync()
        timings.append(("evaluate", time.perf_counter_ns() - begin))
        total += timings[-1][1]
    rows = [{"name": name, "nanoseconds": nanoseconds} for name, nanoseconds in timings]
    return {"success": True, "output": task.answer(), "timings": rows}
