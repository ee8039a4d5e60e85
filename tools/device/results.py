"""What an examination found, in one small file to be kept: the device, its driver, the date, what every part found."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["NAME", "results"]

NAME: Final = "results.json"
_SUBJECT: Final = ("name", "kind", "device", "version", "details")
_SAID: Final = re.compile(r"^(?:=+ )?((?:\d+ runs of \d+ variants|(?:ERROR|RACECHECK) SUMMARY).*)$", re.MULTILINE)
"""What cases and compute-sanitizer say in the end."""


def results(out: Path, files: Mapping[str, str], summary: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
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
    head: dict[str, Any] = {"date": datetime.date.today().isoformat()}
    if suites:
        subject = suites[0]["subjects"][0]
        head |= {"machine": suites[0]["machine"], "subject": {key: subject[key] for key in _SUBJECT}}
    return {**head, "parts": parts}


def _read(out: Path, file: str) -> dict[str, Any] | None:
    """What a part has written, if it came so far."""
    if not file or not (out / file).is_file():
        return None
    try:
        found: dict[str, Any] = json.loads((out / file).read_text())
    except json.JSONDecodeError:  # it was ended while it wrote
        return None
    return found


def _brief(found: dict[str, Any]) -> dict[str, Any]:
    """Of the suite, how many cases came out how, and those that failed; of others, everything."""
    if "subjects" not in found:
        return found
    failed = [f"{cell['case']}: {cell['status']}" for cell in found["cells"] if cell["failed"]]
    return {**found["suite"], "failed": failed}
