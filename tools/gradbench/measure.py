"""Runs GradBench's evals on adstack and on GradBench's tools, and writes what they took.

python -m adstack.tools.gradbench.measure CHECKOUT --python PATH [--json FILE] [--eval NAME ...] [--tool NAME ...]

The tools are asked in turn for each input, so that what else the machine does falls on all of them. The first run of a
function is left out where there are others: in it JAX compiles, and all processors' caches are cold.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from adstack.conformance.gradbench.session import Outcome, session
from adstack.conformance.harness.records import Record
from adstack.conformance.report.summary import machine
from adstack.tools.bench.asv.commits import described

from .inputs import EVALS, Input, runs
from .peers import TOOLS, asked, build, command, versions

__all__ = ["FILE", "dumped", "figures", "main", "rows"]

FILE: Final = Path(__file__).parents[2] / "conformance" / "results" / "gradbench.json"
Key = tuple[str, str]


def figures(outcomes: Sequence[Outcome]) -> Record:
    """What outcomes of one function and input come to: times in seconds, or why there are none.

    Returns:
        `median` and `least` of the times, and of how many `runs`; `error` instead if an output was not right.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        return {"error": errors[0].strip().splitlines()[-1][:200]}
    times = [time for outcome in outcomes for time in outcome.nanoseconds]
    times = times[1:] or times
    return {
        "median": float(f"{statistics.median(times) / 1e9:.4g}"),
        "least": float(f"{min(times) / 1e9:.4g}"),
        "runs": len(times),
    }


def rows(name: str, by_tool: Mapping[str, Sequence[Outcome]]) -> Iterator[Record]:
    """A row for each function and input of an eval, with the figures of each tool."""
    outcomes: dict[Key, dict[str, list[Outcome]]] = {}
    for tool, its in by_tool.items():
        for outcome in its:
            key = (outcome.function, outcome.description)
            outcomes.setdefault(key, {}).setdefault(tool, []).append(outcome)
    for (function, description), tools in outcomes.items():
        yield {
            "eval": name,
            "function": function,
            "input": description,
            "times": {tool: figures(its) for tool, its in tools.items()},
        }


def _measured(name: str, chosen: Input, tools: Sequence[str], checkout: Path, python: str) -> Iterator[Record]:
    script = checkout / "python" / "gradbench" / "gradbench" / "evals" / name / "run.py"
    by_tool: dict[str, Sequence[Outcome]] = {}
    for tool in tools:
        if tool not in chosen.without and asked(tool, name):
            asking = [python, str(script), *chosen.arguments.split(), *runs(tool, name)]
            by_tool[tool] = list(session(asking, command(tool, python), checkout))
    yield from rows(name, by_tool)


def dumped(record: Record) -> str:
    """The record as JSON, a line for each row."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in record["rows"])
    head = json.dumps({key: value for key, value in record.items() if key != "rows"}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'


def main(arguments: Sequence[str]) -> int:
    """Measures and writes the record; returns 1 if adstack's output was wrong somewhere, or an eval gave nothing."""
    parser = argparse.ArgumentParser(description="GradBench's evals on adstack and on GradBench's tools.")
    parser.add_argument("checkout", type=Path, help="a checkout of GradBench")
    parser.add_argument("--python", default=sys.executable, help="a Python with numpy, scipy, pydantic, "
                        "dataclasses-json, torch and jax")  # fmt: skip
    parser.add_argument("--json", type=Path, default=FILE, help="where the record goes")
    parser.add_argument("--eval", nargs="+", choices=list(EVALS), default=list(EVALS), help="which evals")
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=TOOLS, help="which tools")
    options = parser.parse_args(arguments)
    checkout = options.checkout.resolve()
    build(checkout)
    record: Record = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": described(),
        "machine": machine(),
        "versions": versions(checkout, options.python),
        "load": [os.getloadavg()[0]],
        "tools": list(options.tool),
        "rows": [],
    }
    for name in options.eval:
        for chosen in EVALS[name]:
            for row in _measured(name, chosen, options.tool, checkout, options.python):
                print(name, row["function"], row["input"], json.dumps(row["times"]), sep="\t", flush=True)
                record["rows"].append(row)
    record["load"].append(os.getloadavg()[0])
    options.json.write_text(dumped(record))
    missing = set(options.eval) - {row["eval"] for row in record["rows"]}
    return int(bool(missing) or any("error" in row["times"].get("adstack", {}) for row in record["rows"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
