"""Workers as processes of their own, each spoken to over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from .cells import Subject
from .process import WorkerProcess, end_group

__all__ = ["piped_worker", "started", "worker_folder"]

_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1"}
"""Else numpy has threads from its import on, and nothing that imports it could be forked."""


def worker_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for what a worker writes; its name is unlike any other."""
    return tempfile.TemporaryDirectory(prefix="adstack-worker-", ignore_cleanup_errors=True)


def started(subject: Subject, folder: Path, stdin: int, stdout: int | None = None) -> subprocess.Popen[str]:
    """A process that imports a subject.

    Args:
        subject: whose command starts it.
        folder: where it runs; its file "startup" has what the process says before it catches its own output.
        stdin: of the process, as of `subprocess.Popen`.
        stdout: likewise; by default, it goes to that file.
    """
    with (folder / "startup").open("w") as startup:
        return subprocess.Popen(
            [*subject.command, subject.module, subject.arch, str(folder), json.dumps(dict(subject.options))],
            stdin=stdin,
            stdout=startup if stdout is None else stdout,
            stderr=startup,
            cwd=folder,
            env={**_ONE_THREAD, **os.environ},
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=os.name == "posix",
        )


def piped_worker(subject: Subject) -> WorkerProcess:
    """A worker that has yet to greet."""
    folder = worker_folder()
    return WorkerProcess(folder, _Piped(started(subject, Path(folder.name), subprocess.PIPE, subprocess.PIPE)))


class _Piped:
    """See `process.Process`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._requests, self.answers = process, process.stdin, process.stdout

    def send(self, text: str) -> None:
        self._requests.write(text)
        self._requests.flush()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            self._requests.close()

    def exit_code(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        end_group(self._process.pid)
        self._process.wait()
