"""Runs tests up to the first that fails and says which, for one copy of the sources after another.

This file is a program. A line of JSON comes in, {"copy": folder, "tests": [...], "limit": seconds}, and one goes out,
{"first": the test ("" if all pass), "how": what it failed with}. Each request has a fork of its own, which imports
adstack from its copy; what all share, and need not import again, are the libraries.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from typing import Any, Final

import pytest

SHARED: Final = ("numpy", "llvmlite.binding", "hypothesis.strategies", "mpmath", "click", "rich.console")
MOST_BYTES: Final = 16 << 30
"""What a process may take: a wrong capacity must not take the machine's memory."""
OPTIONS: Final = (
    *("-x", "-q", "--timeout=120", "-p", "no:cacheprovider", "-p", "no:xdist"),
    "-Wignore::pytest.PytestAssertRewriteWarning",  # of libraries that are imported already
)


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


def _tested(request: dict[str, Any], answer: int) -> None:
    """In a fork: run the tests, and send what comes of it."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    os.chdir(request["copy"])
    os.environ["PYTHONPATH"] = request["copy"]
    sys.path[0] = request["copy"]  # in the place of this file's folder
    witness = Witness()
    status = pytest.main([*OPTIONS, *request["tests"]], plugins=[witness])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not witness.first:
        witness.first, witness.how = "no test", f"pytest ended with {int(status)}"
    os.write(answer, json.dumps({"first": witness.first, "how": witness.how}).encode())


def _answered(request: dict[str, Any]) -> dict[str, str]:
    """What a fork says."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        _tested(request, sender)
        os._exit(0)
    os.close(sender)
    try:
        if not _ended(child, time.monotonic() + request["limit"]):
            return {"first": "no test", "how": "it took too long"}
        told = os.read(receiver, 1 << 16)  # at most one line of a message, so it fits into a pipe
    finally:
        os.close(receiver)
    answer: dict[str, str] = json.loads(told) if told else {"first": "no test", "how": "the process died"}
    return answer


def _ended(child: int, end: float) -> bool:
    """Wait for a fork; one that takes too long is ended, with all that it has started."""
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.01)
    return True


def main() -> None:
    """Answer until there is no more to answer."""
    for name in SHARED:
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_answered(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
