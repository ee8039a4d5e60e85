"""What an examination found, in small files to be kept: the device, its driver, the date, what every part found.

`python -m adstack.tools.device.results REPORT COMMIT FILE` makes one of a report of the conformance suite.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record

__all__ = ["NAME", "main", "matrix", "results"]

NAME: Final = "results.json"
_SUBJECT: Final = ("name", "kind", "device", "version", "details")
_SAID: Final = re.compile(r"^(?:=+ )?((?:\d+ runs of \d+ variants|(?:ERROR|RACECHECK) SUMMARY).*)$", re.MULTILINE)
"""What cases and compute-sanitizer say in the end."""


def results(out: Path, files: Mapping[str, str], summary: Mapping[str, Record]) -> Record:
    """Of parts that ran: `files` are those that they write to the folder, by the part's name."""
    read = {name: _read(out, files.get(name, "")) for name in summary}
    written = {name: found for name, found in read.items() if found is not None}
    suites = [found for found in written.values() if "subjects" in found]
    parts = {
        name: {
            "code": found["code"],
            "seconds": found.get("seconds"),
            "found": _brief(written[name]) if name in written else _SAID.findall(found["end"]),
        }
        for name, found in summary.items()
    }
    head: Record = {"date": datetime.date.today().isoformat()}
    if suites:
        subject = suites[0]["subjects"][0]
        head |= {"machine": suites[0]["machine"], "subject": {key: subject[key] for key in _SUBJECT}}
    return {**head, "parts": parts}


def _read(out: Path, file: str) -> Record | None:
    """What a part has written, if it came so far."""
    if not file or not (out / file).is_file():
        return None
    try:
        found: Record = json.loads((out / file).read_text())
    except json.JSONDecodeError:  # it was ended while it wrote
        return None
    return found


def _brief(found: Record) -> Record:
    """Of the suite, how many cases came out how, and those that failed; of others, everything."""
    if "subjects" not in found:
        return found
    failed = [f"{cell['case']}: {cell['status']}" for cell in found["cells"] if cell["failed"]]
    return {**found["suite"], "failed": failed}


def matrix(report: Record, commit: str) -> Record:
    """A report of the suite on one subject, small enough to be kept: what came of every case, how exact it was.

    Args:
        report: what `adstack conformance --json` writes.
        commit: what was run.
    """
    (subject,) = report["subjects"]
    modes: dict[str, dict[str, str]] = {}
    classes: dict[str, Record] = {}
    for cell in report["cells"]:
        said = (
            cell["exactness"] if cell["status"] == "pass" else f"gap: {cell['gap']}" if cell["gap"] else cell["status"]
        )
        modes.setdefault(cell["mode"], {})[cell["case"]] = f"{said}, {cell['ulp']:g} ulp" if cell["ulp"] else said
        if cell["status"] == "pass" and cell["exactness"]:
            found = classes.setdefault(cell["exactness"], {"cells": 0, "largest distance in ulp": 0.0})
            found["cells"] += 1
            found["largest distance in ulp"] = max(found["largest distance in ulp"], cell["ulp"] or 0.0)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "machine": report["machine"],
        "subject": {key: subject[key] for key in _SUBJECT},
        **{key: report["suite"][key] for key in ("seconds", "seed", "passed", "counts")},
        "exactness": classes,
        "cases": modes,
    }


def main(report: str, commit: str, file: str) -> int:
    """Write the matrix of a report."""
    made = matrix(json.loads(Path(report).read_text()), commit)
    Path(file).write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
