"""A worker from outside that has imported its subject, and forks a process for each that is wanted; see `forking`."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from .cells import Subject
from .piped_process import started, worker_folder
from .process import (
    GRACE_SECONDS,
    STARTUP_SECONDS,
    WorkerCrashError,
    WorkerProcess,
    WorkerTimeoutError,
    end_group,
    output_in,
)
from .records import Record

__all__ = ["Server"]

LONGEST_ANSWER: Final = 1 << 18
POLL_SECONDS: Final = 0.002


class Server:
    """A process that imports the subject, and then forks one for each charge, or takes one itself."""

    def __init__(self, subject: Subject) -> None:
        self._folder = worker_folder()
        self.folder = Path(self._folder.name)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = started(subject, self.folder, theirs.fileno())
        self._greeting: Record = {}
        self._lock = threading.Lock()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def forks(self) -> bool:
        """Whether it goes on after a worker was made."""
        return bool(self._greeting["forks"])

    def greeting(self) -> Record:
        """What it said when it had imported the subject; the first time, it is waited for."""
        if not self._greeting:
            try:
                self._greeting = self._answer(STARTUP_SECONDS)
            except (WorkerCrashError, WorkerTimeoutError) as error:
                end_group(self._process.pid)
                code, words = self._process.wait(), output_in(self.folder)
                self.close()
                raise type(error)(f"while starting: {error}; exit code {code}\n{words}") from error
        return self._greeting

    def worker(self) -> WorkerProcess:
        """A process that serves: a forked one, or this one, which then is nobody's server any more."""
        folder, (ours, theirs) = worker_folder(), socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(folder.cleanup)
            undo.enter_context(ours)
            with theirs:
                pid = self._ask({"folder": folder.name}, theirs.fileno())["pid"]
            undo.pop_all()
        if self.forks:
            return WorkerProcess(folder, _Process(ours, pid, lambda: self._reaped(pid)))
        self._control.close()
        self._folder.cleanup()
        return WorkerProcess(folder, _Process(ours, pid, self._process.poll))

    def _reaped(self, pid: int) -> int | None:
        """The exit code of a forked process, if it has ended; WorkerCrashError if nobody can know any more."""
        code: int | None = self._ask({"reap": pid})["code"]
        return code

    def _ask(self, order: Record, *descriptors: int) -> Record:
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], descriptors)
            except OSError as error:
                raise WorkerCrashError(f"the process that forks others is gone: {error}") from error
            return self._answer(STARTUP_SECONDS)

    def _answer(self, seconds: float) -> Record:
        self._control.settimeout(seconds)
        try:
            data = self._control.recv(LONGEST_ANSWER)
        except TimeoutError:
            raise WorkerTimeoutError(f"no answer after {seconds:g} s") from None
        except OSError as error:
            raise WorkerCrashError(str(error)) from error
        if not data:
            raise WorkerCrashError("the process ended")
        answer: Record = json.loads(data)
        return answer

    def close(self) -> None:
        """End it, and all that it has forked."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
        end_group(self._process.pid)
        self._process.wait()
        self._folder.cleanup()


class _Process:
    """A process that serves a stream socket; see `process.Process`."""

    def __init__(self, stream: socket.socket, pid: int, poll: Callable[[], int | None]) -> None:
        self._stream, self._pid, self._poll = stream, pid, poll
        self.answers: IO[str] = stream.makefile("r", encoding="utf-8", errors="replace")
        self._code: int | None = None

    def send(self, text: str) -> None:
        self._stream.sendall(text.encode())

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_WR)
        self._stream.close()

    def exit_code(self, seconds: float) -> int | None:
        start = time.monotonic()
        with contextlib.suppress(WorkerCrashError):
            while self._code is None and time.monotonic() - start < seconds:
                self._code = self._poll()
                if self._code is None:
                    time.sleep(POLL_SECONDS)
        return self._code

    def end(self) -> None:
        end_group(self._pid)
        self.exit_code(GRACE_SECONDS)
