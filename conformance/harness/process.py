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
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Final

from .cells import Subject
from .execute import Request
from .records import Record

__all__ = ["WorkerCrashError", "WorkerProcess", "WorkerTimeoutError"]

STARTUP_SECONDS: Final = 120.0
GRACE_SECONDS: Final = 5.0
TAIL: Final = 2000
"""Characters of each kind of output that are shown."""
LONGEST_LINE: Final = 1 << 28
STRAY_LINES: Final = 20
"""Lines that are no answers, of which so many are shown."""
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
                errors="replace",
                start_new_session=os.name == "posix",
            )
        self._answers: queue.Queue[Record | None] = queue.Queue()
        self._stray: deque[str] = deque(maxlen=STRAY_LINES)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.greeting = self._answer(STARTUP_SECONDS)
        except (WorkerCrashError, WorkerTimeoutError) as error:
            words = self.output()
            self.close()
            raise type(error)(f"while starting: {error}\n{words}") from error

    def _listen(self) -> None:
        """Take the worker's answers from its pipe: the lines that begin with its folder's name, unlike any other."""
        pipe = self._process.stdout
        assert pipe is not None
        name = f"{self.folder.name} "
        # Closed here alone: a process that the worker has left behind may hold the other end for as long as it likes.
        with pipe:
            for line in iter(lambda: pipe.readline(LONGEST_LINE), ""):
                if line.startswith(name):
                    self._answers.put(json.loads(line.removeprefix(name)))
                elif line.strip():
                    self._stray.append(line[:TAIL])
        self._answers.put(None)

    def ask(self, request: Request, timeout: float) -> Record:
        """The observation of one cell; WorkerCrashError or WorkerTimeoutError if there is none."""
        # in a thread of its own: a process that hangs doesn't read what is more than a pipe holds
        threading.Thread(target=self._tell, args=(json.dumps(asdict(request)) + "\n",), daemon=True).start()
        return self._answer(timeout)

    def _tell(self, line: str) -> None:
        """Write to the process; if it has ended, or is ended while it should read, whoever waits for it is told."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _answer(self, timeout: float) -> Record:
        try:
            answer = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.end()
            raise WorkerTimeoutError(f"no result after {timeout:g} s; the process was ended") from None
        if answer is None:
            raise WorkerCrashError(self._last_words())
        return answer

    def output(self) -> str:
        """The end of what the process wrote during its latest cell."""
        texts = {name: _end_of(self.folder / name) for name in ("startup", "stdout", "stderr")}
        texts["startup"] += "".join(self._stray)
        texts = {name: _COLOURS.sub("", text)[-TAIL:].rstrip() for name, text in texts.items()}
        return "\n".join(f"--- {name}\n{text}" for name, text in texts.items() if text.strip())

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE_SECONDS)
        self.end()
        code = self._process.wait()
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            return f"the process died of {names.get(-code, f'signal {-code}')}"
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
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
        self._folder.cleanup()


def _end_of(path: Path) -> str:
    """The end of a file, which may be large, or not there."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4 * TAIL))
        return file.read(4 * TAIL).decode("utf-8", "replace")
