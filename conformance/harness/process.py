"""A worker process seen from outside: it can be asked, it can die, it can hang."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import sys
import tempfile
import threading
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import IO, Final, Protocol

from .execute import Request
from .records import Record

__all__ = [
    "GRACE_SECONDS",
    "STARTUP",
    "STARTUP_SECONDS",
    "Process",
    "WorkerCrashError",
    "WorkerProcess",
    "WorkerTimeoutError",
    "end_group",
    "output_in",
]

STARTUP: Final = "startup"
"""The file in the folder of a process that has what it says before it catches its own output."""
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


class Process(Protocol):
    """A process that serves a stream of requests; `answers` is where it answers, line by line."""

    @property
    def answers(self) -> IO[str]: ...

    def send(self, text: str) -> None:
        """Write a request. OSError or ValueError if the stream has ended."""

    def finish(self) -> None:
        """Say that there are no more requests."""

    def exit_code(self, seconds: float) -> int | None:
        """Its exit code, minus the signal that it died of; None if it has not ended in time, or it can't be known."""

    def end(self) -> None:
        """Kill it, and what it has started."""


class WorkerProcess:
    """A process that runs cells of one subject.

    Args:
        folder: where its output is kept; it goes with the process.
        process: what it is.
    """

    def __init__(self, folder: tempfile.TemporaryDirectory[str], process: Process) -> None:
        self._folder, self._process = folder, process
        self.folder = Path(folder.name)
        self._answers: queue.Queue[Record | None] = queue.Queue()
        self._stray: deque[str] = deque(maxlen=STRAY_LINES)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Take the worker's answers from its stream: the lines that begin with its folder's name, unlike any other."""
        stream, name = self._process.answers, f"{self.folder.name} "
        # Closed here alone: a process that the worker has left behind may hold the other end for as long as it likes.
        with stream, contextlib.suppress(ConnectionError):
            for line in iter(lambda: stream.readline(LONGEST_LINE), ""):
                if line.startswith(name):
                    self._answers.put(json.loads(line.removeprefix(name)))
                elif line.strip():
                    self._stray.append(line[:TAIL])
        self._answers.put(None)

    def greeting(self) -> Record:
        """What it says first; WorkerCrashError or WorkerTimeoutError if it does not."""
        return self._answer(STARTUP_SECONDS)

    def ask(self, request: Request, timeout: float) -> Record:
        """The observation of one cell; WorkerCrashError or WorkerTimeoutError if there is none."""
        # in a thread of its own: a process that hangs doesn't read what is more than a pipe holds
        threading.Thread(target=self._tell, args=(json.dumps(asdict(request)) + "\n",), daemon=True).start()
        return self._answer(timeout)

    def _tell(self, line: str) -> None:
        """Write to the process; if it has ended, or is ended while it should read, whoever waits for it is told."""
        with contextlib.suppress(OSError, ValueError):
            self._process.send(line)

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
        return output_in(self.folder, "".join(self._stray))

    def _last_words(self) -> str:
        code = self._process.exit_code(GRACE_SECONDS)
        if code is None:
            self.end()
            return "the process gave up its stream, and was ended"
        self._process.end()  # what it has left behind
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            return f"the process died of {names.get(-code, f'signal {-code}')}"
        return f"the process ended with exit code {code}"

    def end(self) -> None:
        """End the process and what it started."""
        self._process.end()

    def close(self) -> None:
        """Let the process go; its folder goes too."""
        self._process.finish()
        if self._process.exit_code(GRACE_SECONDS) is None:
            self.end()
        self._folder.cleanup()


def end_group(pid: int) -> None:
    """Kill a process that leads a group, and the group; nothing if there is none."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)


def output_in(folder: Path, startup: str = "") -> str:
    """The end of each kind of output that a process has left in its folder; and that of `startup`."""
    texts = {name: _end_of(folder / name) for name in (STARTUP, "stdout", "stderr")}
    texts[STARTUP] += startup
    texts = {name: _COLOURS.sub("", text)[-TAIL:].rstrip() for name, text in texts.items()}
    return "\n".join(f"--- {name}\n{text}" for name, text in texts.items() if text.strip())


def _end_of(path: Path) -> str:
    """The end of a file, which may be large, or not there."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4 * TAIL))
        return file.read(4 * TAIL).decode("utf-8", "replace")
