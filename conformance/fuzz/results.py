"""Files of what came of random trials: counts by commit and backend.

{"date": ..., ..., "runs": [{"commit": ..., "backends": {ARCH: {"device": ..., COUNT: ..., ...}}}]}
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from adstack import inspection

from ..harness.records import Record

__all__ = ["Results", "standing"]

_HERE: Final = Path(__file__).resolve().parent
_RESULTS: Final = ":(exclude,top)conformance/results"


class Results:
    """A file of results, for one commit and backend; what others have added to it stays.

    Args:
        path: of the file, which need not be there yet.
        arch: the backend.
        commit: what is tried.
        head: what a new file begins with, behind the date.
    """

    def __init__(self, path: Path, arch: str, commit: str, head: Mapping[str, object]) -> None:
        self._path, self._arch, self._commit, self._head = path, arch, commit, head

    def known(self) -> Record:
        """What the file has of this commit and backend."""
        return _entry(self._read(), self._commit, self._arch)

    def add(self, counts: Mapping[str, int], others: Mapping[str, object] | None = None) -> None:
        """Add to the counts that there are, and write down other things."""
        content = self._read()
        content["date"] = datetime.now(timezone.utc).strftime("%Y-%m-%d")
        entry, probed = _entry(content, self._commit, self._arch), inspection.probe(self._arch)
        entry["device"] = "" if isinstance(probed, inspection.Unavailable) else probed.device
        for what, number in counts.items():
            name = what.replace(" ", "_")
            entry[name] = entry.get(name, 0) + number
        entry.update(others or {})
        self._path.write_text(text(content))

    def _read(self) -> Record:
        if not self._path.exists():
            return {"date": "", **self._head, "runs": []}
        content: Record = json.loads(self._path.read_text())
        return content


def standing() -> str:
    """The commit that the working tree stands on; with a plus if sources have changed since."""
    commit = _git("rev-parse", "--short", "HEAD")
    return commit + "+" * bool(_git("status", "--porcelain", "--untracked-files=no", "--", ":/", _RESULTS))


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_HERE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _entry(content: Record, commit: str, arch: str) -> Record:
    run = next((run for run in content["runs"] if run["commit"] == commit), None)
    if run is None:
        run = {"commit": commit, "backends": {}}
        content["runs"].append(run)
    entry: Record = run["backends"].setdefault(arch, {})
    return entry


def text(content: Record) -> str:
    """The file: JSON, with a line for each backend of a run."""
    head = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in content.items() if name != "runs"]
    runs = ",\n".join(map(_run_text, content["runs"]))
    return "\n".join(["{", *head, ' "runs": [', runs, " ]", "}"]) + "\n"


def _run_text(run: Record) -> str:
    lines = ",\n".join(f"   {json.dumps(arch)}: {json.dumps(entry)}" for arch, entry in run["backends"].items())
    return f'  {{"commit": {json.dumps(run["commit"])}, "backends": {{\n{lines}\n  }}}}'
