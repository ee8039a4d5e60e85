"""A process that answers requests, one line of JSON each."""

from __future__ import annotations

import json
import os
import selectors
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from adstack.conformance.harness.records import Record

__all__ = ["Worker", "WorkerError", "environment"]

_GIVEN: Final = frozenset(os.environ)
_OURS: Final = frozenset({"LP_NATIVE_VECTOR_WIDTH"})
"""What adstack sets, if nobody else has."""
_LAST = 400
"""Characters of a dead worker's last words that are shown."""


class WorkerError(Exception):
    """A worker can't be started, has died, takes too long, or says that it can't do what it was asked."""


def environment() -> dict[str, str]:
    """This process's, as it was given: what adstack asks of a driver for itself is not for peers.

    With bytecode kept (in a folder of its own): without it every first call would compile Python.
    """
    ours = {name for name in _OURS if name not in _GIVEN}
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONDONTWRITEBYTECODE", *ours}}
    return {"PYTHONPYCACHEPREFIX": _bytecode(), **kept}


@cache
def _bytecode() -> str:
    """The folder that runs share; one of this process alone where another user has made it, or may write to it."""
    folder = os.path.join(tempfile.gettempdir(), f"adstack-bench-{os.getuid()}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    state = os.lstat(folder)
    own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022
    return folder if own else tempfile.mkdtemp(prefix="adstack-bench-")


class Worker:
    """A running worker; leaving the context ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the worker
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                env=environment(),
            )
        except OSError as error:
            self._errors.close()
            raise WorkerError(f"{command[0]} does not start: {error}") from error

    def ask(self, request: Record, timeout: float = 600.0) -> Record:
        """The answer to one request."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise WorkerError(self._last_words()) from None
        answer: Record = json.loads(self._line(time.monotonic() + timeout))
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def _line(self, deadline: float) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                self._process.kill()
                raise WorkerError("no answer in time")
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(self._last_words())
        return line

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        words = self._errors.read().strip()[-_LAST:]
        return f"ended with status {code}: {words}"

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
