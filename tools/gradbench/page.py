"""The table of GradBench's evals: `python -m adstack.tools.gradbench.page --write`.

It stands in conformance/results/README.md, made from gradbench.json beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from adstack.conformance.harness.records import Record
from adstack.tools.marked import Marked

from .inputs import DERIVATIVES
from .measure import FILE
from .peers import COMPILED

__all__ = ["PAGE", "TABLE", "behind", "best_compiled", "standing", "table"]

PAGE: Final = FILE.with_name("README.md")
TABLE: Final = Marked("gradbench", "python -m adstack.tools.gradbench.page --write")
_NAMES: Final = {
    "manual": "by hand",
    "manual-openmp": "by hand, OpenMP",
    "tapenade": "Tapenade",
    "adol-c": "ADOL-C",
    "finite": "differences",
    "pytorch": "PyTorch",
    "jax": "JAX",
}


def table(record: Record) -> str:
    """What the record is of, a row for each function and input, and what follows from them."""
    tools = record["tools"]
    machine, versions = record["machine"], record["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "compiler" and version)
    load = " and ".join(f"{load:.2f}" for load in record["load"])
    identity = f"{record['date'][:10]}, commit {record['commit']}; {machine['cpu']}, {machine['cores']} cores"
    lines = [
        f"{identity}, load before and after: {load}. {versions['compiler']}; {packages}.",
        "",
        f"| eval | function | input | {' | '.join(_NAMES.get(tool, tool) for tool in tools)} | of the best in C++ |",
        f"| --- | --- | --- | {' | '.join(['---:'] * len(tools))} | ---: |",
        *(_line(row, tools) for row in record["rows"]),
        "",
        *_conclusions(record["rows"]),
    ]
    return "\n".join(lines)


def _line(row: Record, tools: Sequence[str]) -> str:
    times = row["times"]
    ratio = _ratio(row, best_compiled(row))
    cells = [_cell(times.get(tool)) for tool in tools]
    last = "" if ratio is None else f"{ratio:.2f}"
    return f"| {row['eval']} | {row['function']} | {row['input']} | {' | '.join(cells)} | {last} |"


def _cell(figures: Record | None) -> str:
    if figures is None:
        return ""
    return "wrong" if "error" in figures else f"{figures['median'] * 1e3:.3g}"


def best_compiled(row: Record) -> str | None:
    """The tool in C++ that was right and took least; None if there is none."""
    right = [tool for tool in COMPILED if "median" in row["times"].get(tool, {})]
    return min(right, key=lambda tool: float(row["times"][tool]["median"]), default=None)


def _ratio(row: Record, tool: str | None) -> float | None:
    """adstack's median over another tool's; None if either has none."""
    ours, theirs = row["times"].get("adstack", {}), row["times"].get(tool, {})
    return ours["median"] / theirs["median"] if "median" in ours and "median" in theirs else None


def standing(rows: Sequence[Record]) -> Mapping[str, float]:
    """By eval, adstack's time over that of the best tool in C++: a mean over the derivatives of its last input.

    The mean is the geometric one.
    """
    last = {row["eval"]: row["input"] for row in rows}
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratio = _ratio(row, best_compiled(row))
        if ratio is not None and row["function"] in DERIVATIVES and row["input"] == last[row["eval"]]:
            ratios.setdefault(row["eval"], []).append(ratio)
    return {name: _geometric_mean(several) for name, several in ratios.items()}


def _geometric_mean(ratios: Sequence[float]) -> float:
    product = 1.0
    for ratio in ratios:
        product *= ratio
    return float(product ** (1 / len(ratios)))


def behind(rows: Sequence[Record], tool: str) -> Sequence[str]:
    """The functions and inputs that another tool computes in less time than adstack."""
    return [
        f"{row['eval']} {row['function']}{' of ' * bool(row['input'])}{row['input']}"
        for row in rows
        if (_ratio(row, tool) or 0.0) > 1.0
    ]


def _conclusions(rows: Sequence[Record]) -> Iterator[str]:
    right = sum("median" in row["times"].get("adstack", {}) for row in rows)
    yield f"- adstack's output was judged right in {right} of {len(rows)} rows."
    ratios = standing(rows)
    within = [name for name, ratio in ratios.items() if ratio <= 1.0]
    others = ", ".join(f"{name} ({ratio:.2f})" for name, ratio in ratios.items() if ratio > 1.0)
    yield (
        f"- Derivatives of the largest input take no longer than with the best tool in C++ in {len(within)} evals: "
        f"{', '.join(within)}{f'; they take longer in {others}' * bool(others)}."
    )
    for tool in ("jax", "pytorch"):
        compared = sum(_ratio(row, tool) is not None for row in rows)
        ahead = behind(rows, tool)
        yield f"- {_NAMES[tool]} is ahead in {len(ahead)} of {compared} rows{': ' * bool(ahead)}{', '.join(ahead)}."


def main(arguments: list[str]) -> None:
    """Prints the table, or writes it into the page."""
    TABLE.serve(arguments, PAGE, table(json.loads(FILE.read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
