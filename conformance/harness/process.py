"""A worker process seen from outside: it can be asked, it can die, it can hang."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from .cells import Subject
from .execute import Request

__all__ = ["WorkerCrashError", "WorkerProcess", "WorkerTimeoutError"]

STARTUP_SECONDS: Final = 120.0
GRACE_SECONDS: Final = 5.0
TAIL: Final = 2000
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


class WorkerCrashError(Exception):
    """The process ended without an answer."""


class WorkerTimeoutError(Exception):
    """The process gave no answer in time, and was ended."""


class WorkerProcess:
    """A process that runs cells of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._folder = tempfile.TemporaryDirectory(prefix="adstack-worker-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        with (self.folder / "startup").open("w") as startup:
            self._process = subprocess.Popen(
                [*subject.command, subject.module, subject.arch, str(self.folder), json.dumps(dict(subject.options))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=startup,
                cwd=self.folder,
                text=True,
                encoding="utf-8",
                start_new_session=os.name == "posix",
            )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.greeting = self._answer(STARTUP_SECONDS)
        except (WorkerCrashError, WorkerTimeoutError) as error:
            words = self.output()
            self.close()
            raise type(error)(f"while starting: {error}\n{words}") from error

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed under us: the worker was ended
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put("")

    def ask(self, request: Request, timeout: float) -> dict[str, Any]:
        """The observation of one cell; WorkerCrashError or WorkerTimeoutError if there is none."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(request)) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerCrashError(self._last_words()) from error
        return self._answer(timeout)

    def _answer(self, timeout: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.end()
            raise WorkerTimeoutError(f"no result after {timeout:g} s; the process was ended") from None
        if not line:
            raise WorkerCrashError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def output(self) -> str:
        """The end of what the process wrote during its latest cell."""
        parts = []
        for name in ("startup", "stdout", "stderr"):
            path = self.folder / name
            text = _COLOURS.sub("", path.read_text("utf-8", "replace")) if path.exists() else ""
            if text.strip():
                parts.append(f"--- {name}\n{text[-TAIL:].rstrip()}")
        return "\n".join(parts)

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE_SECONDS)
        self.end()
        code = self._process.wait()
        if code < 0:
            return f"the process died of {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}"

    def end(self) -> None:
        """End the process and what it started."""
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Let the process go; its folder goes too."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
        self._process.stdout.close()
        self._folder.cleanup()
