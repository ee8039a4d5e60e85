"""Where the worker processes of a subject come from: forked from one that has imported it, so that each costs little.

Of a subject that has threads after its import, which may not be forked, the next process is started while the last one
works: it has imported the subject by the time that it is needed. Where a system can't tell, each process starts when it
is needed, and is spoken to over pipes.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .cells import Subject
from .piped_process import piped_worker
from .process import STARTUP, WorkerCrashError, WorkerProcess, WorkerTimeoutError, output_in
from .records import Record
from .server import Server

__all__ = ["Nursery"]


class Nursery:
    """Gives worker processes of one subject.

    Args:
        subject: whose.
        over_pipes: whether each starts when it is needed, and is spoken to over pipes.
    """

    def __init__(self, subject: Subject, over_pipes: bool = sys.platform != "linux") -> None:
        self.subject = subject
        self._over_pipes = over_pipes
        self._server: Server | None = None
        self._refusal = ""

    def worker(self) -> WorkerProcess:
        """A new process. WorkerCrashError or WorkerTimeoutError: the subject can't be started or imported."""
        if self._refusal:
            raise WorkerCrashError(self._refusal)
        if self._over_pipes:
            return self._greeted(piped_worker(self.subject))
        server = self._ready()
        try:
            worker = server.worker()
        except WorkerCrashError:  # a cell has killed it just now, say
            self.close()
            server = self._ready()
            worker = server.worker()
        _keep_startup(server.folder, worker.folder)
        if not server.forks:
            self._server = Server(self.subject)
        return worker

    def _ready(self) -> Server:
        """A process that has imported the subject."""
        if self._server is not None and not self._server.runs:  # a cell has killed it, say
            self.close()
        server = self._server = self._server or Server(self.subject)
        self._check(server.greeting(), server.folder)
        return server

    def _greeted(self, worker: WorkerProcess) -> WorkerProcess:
        try:
            self._check(worker.greeting(), worker.folder)
        except (WorkerCrashError, WorkerTimeoutError) as error:
            words = worker.output()
            worker.close()
            raise type(error)(f"while starting: {error}\n{words}") from error
        return worker

    def _check(self, greeting: Record, folder: Path) -> None:
        """WorkerCrashError if the subject could not be imported: nor can it be for the next cell."""
        if not greeting["ready"]:
            self._refusal = f"the subject can't be imported: {greeting['message']}\n{output_in(folder)}".rstrip()
            raise WorkerCrashError(self._refusal)

    def close(self) -> None:
        """End the process that has imported the subject, unless it serves."""
        if self._server is not None:
            self._server.close()
            self._server = None


def _keep_startup(server: Path, worker: Path) -> None:
    """What a process said as it started is told with the output of those that are forked from it, by their folders."""
    said = server / STARTUP
    if worker != server and said.is_file():
        shutil.copyfile(said, worker / STARTUP)
