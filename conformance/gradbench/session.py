"""A session of GradBench: an eval asks, a tool answers, and the eval judges what it answered.

python -m adstack.conformance.gradbench.session CHECKOUT EVAL [--python PATH] [--tool COMMAND] [-- ARGUMENT ...]

Both are processes that exchange lines of JSON; what passes between them is read here, and printed: function, input,
the least time of a run, and whether the eval took the output for right. The eval is that of a checkout of GradBench,
run by a Python that has what it needs (numpy, scipy, pydantic, dataclasses-json), and its arguments choose sizes.
Where it compares with GradBench's tool `manual`, that has been built (`make -C tools/manual bin/EVAL`).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..harness.records import Record

__all__ = ["TOOL", "Outcome", "main", "session"]

TOOL = f"{sys.executable} -m adstack.conformance.gradbench"
"""The command of adstack as a tool."""


@dataclass(frozen=True)
class Outcome:
    """What became of one evaluation.

    Attributes:
        function: the name of the function.
        description: the input, as the eval describes it.
        nanoseconds: the times of all runs; none if the tool failed.
        error: why the output is not right, or None.
    """

    function: str
    description: str
    nanoseconds: Sequence[int]
    error: str | None


def session(asking: Sequence[str], answering: Sequence[str], folder: Path) -> Iterator[Outcome]:
    """Lets two commands talk in `folder`; gives an outcome for each evaluation, when it has been judged."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "python" / "gradbench")}
    with (
        subprocess.Popen(asking, stdin=-1, stdout=-1, text=True, cwd=folder, env=environment) as judge,
        subprocess.Popen(answering, stdin=-1, stdout=-1, text=True, cwd=folder) as tool,
    ):
        assert judge.stdin
        assert judge.stdout
        assert tool.stdin
        assert tool.stdout
        asked: Record = {}
        answer: Record = {}
        for line in judge.stdout:
            message = json.loads(line)
            tool.stdin.write(line)
            tool.stdin.flush()
            reply = tool.stdout.readline()
            judge.stdin.write(reply)
            judge.stdin.flush()
            if message["kind"] == "analysis":
                yield _outcome(asked, answer, message.get("error"))
            elif message["kind"] == "evaluate":
                asked, answer = message, json.loads(reply)
                if not answer["success"]:
                    yield _outcome(asked, answer, str(answer.get("error", "no success")))
        tool.stdin.close()
        judge.stdin.close()


def _outcome(asked: Record, answer: Record, error: str | None) -> Outcome:
    times = [row["nanoseconds"] for row in answer.get("timings") or () if row["name"] == "evaluate"]
    return Outcome(asked["function"], asked.get("description", ""), times, error)


def main(arguments: Sequence[str]) -> int:
    """Runs a session and prints its outcomes; returns 1 if one is not right, or there is none."""
    parser = argparse.ArgumentParser(
        description="A session of GradBench.", epilog="What stands behind -- are arguments of the eval."
    )
    parser.add_argument("checkout", type=Path, help="a checkout of GradBench")
    parser.add_argument("eval", help="the name of an eval")
    parser.add_argument("--python", default=sys.executable, help="what runs the eval")
    parser.add_argument("--tool", default=TOOL, help="the command that answers")
    own = list(arguments).index("--") if "--" in arguments else len(arguments)
    options, rest = parser.parse_args(arguments[:own]), arguments[own + 1 :]
    folder = options.checkout.resolve()
    script = folder / "python" / "gradbench" / "gradbench" / "evals" / options.eval / "run.py"
    wrong, count = 0, 0
    for outcome in session([options.python, str(script), *rest], shlex.split(options.tool), folder):
        count, wrong = count + 1, wrong + (outcome.error is not None)
        least = f"{min(outcome.nanoseconds) / 1e9:.6f} s" if outcome.nanoseconds else "-"
        print(
            options.eval, outcome.function, outcome.description, least, outcome.error or "right", sep="\t", flush=True
        )
    return int(wrong > 0 or count == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
