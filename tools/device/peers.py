"""adstack and its peers on one machine, in turn, several times: `python -m adstack.tools.device.peers ARCH FILE`.

Everyone is measured in a process of its own. `--python NAME=PATH` names the interpreter that a peer is installed for;
this one otherwise. FILE says what every run found, the least figure of each row, and of whom there are none, why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record

__all__ = ["NAMES", "command", "least", "main", "one"]

NAMES: Final = ("adstack", "quadrants", "jax", "warp", "by hand")
_MODULES: Final = {"jax": "peer_jax", "warp": "peer_warp", "by hand": "limit"}
_SAID: Final = 600
"""Characters that are kept of what somebody said who failed."""


def command(name: str, arch: str, file: str, pythons: Mapping[str, str]) -> list[str]:
    """What measures a subject.

    Args:
        name: of the subject.
        arch: the backend.
        file: where it writes the figures, as JSON.
        pythons: by the subject's name, the interpreter that has it; this one for others.
    """
    python = pythons.get(name, sys.executable)
    tool = f"adstack.tools.device.{_MODULES.get(name, 'throughput')}"
    about = [file] if name == "by hand" else [arch, file]
    about += [] if name in _MODULES else [name]
    return [python, "-m", tool, *about]


def one(name: str, arch: str, pythons: Mapping[str, str], seconds: float) -> Record:
    """Measure a subject once.

    Args:
        name: of the subject.
        arch: the backend.
        pythons: by the subject's name, the interpreter that has it.
        seconds: after so many it is stopped.

    Returns:
        Its figures, or {"missing": why}.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        try:
            done = subprocess.run(
                command(name, arch, str(file), pythons),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=seconds,
                check=False,
            )
            said = done.stdout.strip()[-_SAID:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            said = f"no answer in {seconds} s"
        except OSError as error:
            said = str(error)
        record: Record = json.loads(file.read_text()) if file.is_file() else {}
    return record | ({"missing": said} if said else {})


def least(runs: list[Record]) -> dict[str, float]:
    """The least figure of each row of all runs."""
    figures: dict[str, float] = {}
    for run in runs:
        for row, value in _rows(run):
            figures[row] = min(value, figures.get(row, value))
    return figures


def _rows(run: Record) -> list[tuple[str, float]]:
    """Figures by the names of their rows; what was written by hand has its recurrence at the top."""
    groups = {"recurrence": {key: run[key] for key in ("forward", "reverse") if key in run}, **run}
    return [
        (f"{group} {row}", value)
        for group in ("dispatch", "recurrence", "gather")
        for row, value in groups.get(group, {}).items()
        if isinstance(value, float) and not row.startswith("gradient")
    ]


def table(answers: Mapping[str, Record]) -> str:
    """The least figures side by side."""
    rows = list(dict.fromkeys(row for peer in answers.values() for row in peer["least"]))
    lines = ["".join(f"{cell:>14}" for cell in ("", *answers))]
    for row in rows:
        cells = (f"{peer['least'][row]:.4g}" if row in peer["least"] else "-" for peer in answers.values())
        lines.append(f"{row:<20}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    """Measure everyone in turn; 0 if adstack was among them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch")
    parser.add_argument("file", type=Path)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--only", action="append", choices=NAMES, help="only these; repeatable")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=90, help="for one run (default %(default)s)")
    asked = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in asked.python)
    records: dict[str, Record] = {name: {"runs": []} for name in asked.only or NAMES}
    for _ in range(asked.rounds):
        for name, about in records.items():
            if "missing" in about:
                continue  # it won't come
            run = one(name, asked.arch, pythons, asked.seconds)
            about["runs"].append({**run, "load": os.getloadavg()[0]})
            about["least"] = least(about["runs"])
            if "missing" in run:
                about["missing"] = run["missing"]
            asked.file.write_text(json.dumps({"unit": "us of dispatch, ms of others", "peers": records}, indent=1))
    print(table(records))
    return int("missing" in records.get("adstack", {}))


if __name__ == "__main__":
    sys.exit(main())
