"""A process that runs cells for the harness: one JSON line in, one line out, until its input ends.

Started as `... MODULE ARCH FOLDER OPTIONS`: what to import, the arch to initialise, where captured output goes, and
what to initialise with, as JSON. First it greets: whether it is ready, and the version of what it imported.

Where standard input is a socket, it then waits for charges, and forks a process for each (see `forking`). Else it
serves its standard streams itself.

A line out is the name of the folder, which nobody else knows, a space, and JSON. What an interpreter prints before this
module runs is on the same pipe, and has no such name; what a subject prints goes to files.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import _exit as leave_at_once
from pathlib import Path
from socket import socket
from typing import Final, TextIO

from .capture import Capture
from .execute import Request, Target
from .explain import answer
from .forking import Charge, can_fork, control_of, next_charge, tell
from .records import Record

__all__ = ["LARGEST_FILE", "main", "version_of"]

LARGEST_FILE: Final = 512 << 20
"""Bytes that a worker may write to one file: a subject that never stops printing shall not fill the disk."""


def main(
    module: str,
    arch: str,
    folder: str,
    options: str = "{}",
    *,
    session: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Serve until the input ends; `session` is entered by each process that serves, when it begins."""
    control, line = control_of(0), _Line.of_standard_streams(Path(folder).name)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    capture = Capture(Path(folder))
    _limit_files()
    faulthandler.enable()
    os.environ["ADSTACK_ANNOUNCE"] = "0"
    greeting = _greet(module)
    if control is None:
        line.send(greeting)
    else:
        charge = _charged(control, greeting)
        if charge is None:
            return
        os.chdir(charge.folder)
        capture, line = Capture(charge.folder), _Line.of_charge(charge)
    if greeting["ready"]:
        with session():
            _serve(line, Target(importlib.import_module(module), arch, json.loads(options)), capture)


def _charged(control: socket, greeting: Record) -> Charge | None:
    """Greet over a socket, and wait for what this process is to serve; None if there is no more."""
    forks = can_fork()
    tell(control, {**greeting, "forks": forks})
    return next_charge(control, forks) if greeting["ready"] else None


@dataclass(frozen=True)
class _Line:
    """Requests that come in, and answers that go out under a name."""

    requests: TextIO
    replies: TextIO
    name: str

    @classmethod
    def of_standard_streams(cls, name: str) -> _Line:
        return cls(os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8"), name)

    @classmethod
    def of_charge(cls, charge: Charge) -> _Line:
        stream = charge.stream
        return cls(stream.makefile("r", encoding="utf-8"), stream.makefile("w", encoding="utf-8"), charge.folder.name)

    def send(self, message: Record) -> None:
        """Write a line, whether or not what stands before it was a whole one."""
        self.replies.write(f"\n{self.name} {json.dumps(message)}\n")
        self.replies.flush()


def _serve(line: _Line, target: Target, capture: Capture) -> None:
    """Answer each request."""
    process = os.getpid()
    for request in line.requests:
        capture.clear()
        observation = answer(Request(**json.loads(request)), target, capture)
        if os.getpid() != process:  # a process that the subject has forked: nobody asked it
            leave_at_once(0)
        line.send(observation)


def _limit_files() -> None:
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        limits = [limit for limit in (soft, LARGEST_FILE) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_FSIZE, (min(limits), hard))


def _greet(module: str) -> Record:
    try:
        return {"ready": True, "version": version_of(importlib.import_module(module)), "python": sys.version.split()[0]}
    except Exception:  # noqa: BLE001 - importing a subject may fail in any way; the harness reports how
        return {"ready": False, "message": traceback.format_exc(limit=-2)}


def version_of(module: object) -> str:
    """A version in words; some subjects have a tuple."""
    version = getattr(module, "__version__", "unknown")
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


if __name__ == "__main__":
    main(*sys.argv[1:])
