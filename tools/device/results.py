"""What an examination found, in small files to be kept: the device, its driver, the date, what every part found.

    python -m adstack.tools.device.results [--subject NAME] REPORT COMMIT FILE [NAME=VALUE ...]
    python -m adstack.tools.device.results --compare FILE [--report REPORT] [--jobs N]

The first makes FILE, the matrix in few lines (see `adstack.conformance.report.compact`), of what `adstack conformance
--json REPORT` wrote, of the subject NAME where there are several; NAME=VALUE are variables of the environment that the
suite ran with. The second runs the suite
again as FILE says, and tells in which digests, counts and cells its matrix differs: its exit status is 0 if only
distances in ulp do.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record
from adstack.conformance.report.compact import compact, differences, outcomes, text

__all__ = ["NAME", "again", "command", "main", "matrix", "of_subject", "results", "same"]

NAME: Final = "results.json"
_SUBJECT: Final = ("name", "kind", "device", "version", "details")
_SAID: Final = re.compile(r"^(?:=+ )?((?:\d+ runs of \d+ variants|(?:ERROR|RACECHECK) SUMMARY).*)$", re.MULTILINE)
"""What cases and compute-sanitizer say in the end."""


def results(out: Path, files: Mapping[str, str], summary: Mapping[str, Record]) -> Record:
    """What is kept of parts that ran.

    Args:
        out: the folder that they wrote to.
        files: by a part's name, the file that it writes there.
        summary: by a part's name, its outcome.
    """
    read = {name: _read(out, files.get(name, "")) for name in summary}
    written = {name: record for name, record in read.items() if record is not None}
    suites = [record for record in written.values() if "subjects" in record]
    parts = {
        name: {
            "code": part["code"],
            "seconds": part.get("seconds"),
            "found": _brief(written[name]) if name in written else _SAID.findall(part["end"]),
        }
        for name, part in summary.items()
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
        return _json(out / file)
    except json.JSONDecodeError:  # it was ended while it wrote
        return None


def _brief(record: Record) -> Record:
    """A record of the suite cut to its counts and the cases that failed; other records as they are."""
    if "subjects" not in record:
        return record
    failed = [f"{cell['case']}: {cell['status']}" for cell in record["cells"] if cell["failed"]]
    return {**record["suite"], "failed": failed}


def of_subject(report: Record, name: str) -> Record:
    """What a report says about one of its subjects, as a report on that subject alone.

    Its time is that of the subject's cells, one after the other: nobody knows what the run would have taken without
    the others.

    Raises:
        ValueError: the report has no such subject.
    """
    subjects = [subject for subject in report["subjects"] if subject["name"] == name]
    if not subjects:
        present = ", ".join(subject["name"] for subject in report["subjects"])
        raise ValueError(f"the report has no subject {name!r}, but: {present}")
    cells = [cell for cell in report["cells"] if cell["subject"] == name]
    seconds = round(sum(cell["seconds"] for cell in cells), 1)
    passed = not any(cell["failed"] for cell in cells)
    return {
        **report,
        "subjects": subjects,
        "cells": cells,
        "suite": {**report["suite"], "seconds": seconds, "passed": passed},
    }


def matrix(report: Record, commit: str, options: Mapping[str, str] | None = None) -> Record:
    """A report of the suite on one subject, small enough to be kept.

    Args:
        report: what `adstack conformance --json` writes, or `of_subject` makes of it.
        commit: what was run.
        options: variables of the environment that decided how it ran.

    Returns:
        When, what, where and how it ran, and what `compact` keeps of its cells; `init` are options that every case had,
        and `part` says in words which cases were run where it was not all of them.

    Raises:
        ValueError: the report is on several subjects.
    """
    if len(report["subjects"]) != 1:
        names = ", ".join(subject["name"] for subject in report["subjects"])
        raise ValueError(f"--subject must name one of {names}")
    (subject,) = report["subjects"]
    suite = report["suite"]
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "sources": suite["sources"],
        "machine": report["machine"],
        "subject": {key: subject[key] for key in _SUBJECT},
        "options": dict(options or {}),
        "init": subject.get("init", {}),
        **({"part": subject["part"]} if subject.get("part") else {}),
        **{key: suite[key] for key in ("seed", "seconds", "passed")},
        **compact(outcomes(report["cells"])),
    }


def command(kept: Record, report: Path, jobs: int) -> list[str]:
    """What runs the suite again as a kept matrix says.

    Args:
        kept: the matrix, with its subject and seed.
        report: where the full report is written, as JSON.
        jobs: processes at a time.
    """
    subject, seed = kept["subject"]["name"], str(kept["seed"])
    suite = [sys.executable, "-m", "adstack.tools.cli", "conformance", "--backend", subject, "--seed", seed]
    alike = ["--deterministic"] if kept.get("init", {}).get("deterministic") else []
    return [*suite, *alike, "--jobs", str(jobs), "--json", str(report)]


def again(kept: Record, jobs: int) -> Record:
    """The full report of a run as a kept matrix says. RuntimeError if the suite writes none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(command(kept, report, jobs), env={**os.environ, **kept["options"]}, check=False)
        if not report.is_file():
            raise RuntimeError(f"the suite wrote no report; its exit status is {done.returncode}")
        return _json(report)


def same(kept: Record, other: Record) -> bool:
    """Whether two matrices have the same cases, and every cell the same state and exactness."""
    return all(kept["digests"][name] == other["digests"][name] for name in ("cases", "cells"))


def _json(path: Path) -> Record:
    record: Record = json.loads(path.read_text("utf-8"))
    return record


def _compare(file: Path, report: Path | None, jobs: int) -> int:
    """Tell how a run differs from a kept one; 0 if they are the same but for distances."""
    kept = _json(file)
    full = _json(report) if report is not None else again(kept, jobs)
    other = compact(outcomes(full["cells"]))
    if kept["digests"]["cases"] != other["digests"]["cases"]:
        print(f"the cases are not those of {kept['commit']}: that commit's suite writes a report of the same ones")
    for line in differences(kept, other):
        print(line)
    print(f"{file}: {'the same' if same(kept, other) else 'not the same'}; {other['digests']['cells']}")
    return int(not same(kept, other))


def main(arguments: Sequence[str]) -> int:
    """Write the matrix of a report, or compare one that is kept with another run."""
    parser = argparse.ArgumentParser(prog="python -m adstack.tools.device.results", description="Keep a matrix.")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="a matrix that is kept")
    parser.add_argument("--report", type=Path, help="with --compare: of this report, instead of a run")
    parser.add_argument("--subject", metavar="NAME", help="which of the report's subjects to keep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the run (default: %(default)s)")
    parser.add_argument("kept", nargs="*", metavar="REPORT COMMIT FILE [NAME=VALUE ...]")
    asked = parser.parse_args(arguments)
    if asked.compare is not None:
        if asked.report is None and "subject" not in _json(asked.compare):
            parser.error("a peer's results are compared by `python -m adstack.conformance.subjects.record LOG VERSION`")
        return _compare(asked.compare, asked.report, asked.jobs)
    if len(asked.kept) < 3:
        parser.error("REPORT, COMMIT and FILE are needed, or --compare FILE")
    report, commit, file, *options = asked.kept
    variables = {name: value for name, _, value in (option.partition("=") for option in options)}
    full = _json(Path(report))
    try:
        kept = matrix(full if asked.subject is None else of_subject(full, asked.subject), commit, variables)
    except ValueError as error:
        parser.error(str(error))
    Path(file).write_text(text(kept), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
