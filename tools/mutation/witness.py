"""Runs tests up to the first that fails and writes which: `python -m adstack.tools.mutation.witness OUT TESTS...`.

OUT gets one line of JSON: the test ("" if all pass), and what it failed with. It stays away if the process dies.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any, Final

import pytest

MOST_BYTES: Final = 16 << 30
"""What a process may take: a wrong capacity must not take the machine's memory."""


class Witness:
    """A pytest plugin that remembers the first failure."""

    def __init__(self) -> None:
        self.first = self.how = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for the setup, the call and the end of each test."""
        self._note(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Called by pytest for each file."""
        self._note(report)

    def _note(self, report: Any) -> None:
        if report.failed and not self.first:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = str(report.longrepr) if crash is None else crash.message
            self.first, self.how = report.nodeid, text.splitlines()[0] if text else ""


def main(out: str, *tests: str) -> None:
    """Run these."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    witness = Witness()
    options = ["-x", "-q", "--timeout=120", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*options, *tests], plugins=[witness])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not witness.first:
        witness.first, witness.how = "no test", f"pytest ended with {int(status)}"
    Path(out).write_text(json.dumps({"first": witness.first, "how": witness.how}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
