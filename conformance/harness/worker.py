"""A process that runs cells for the harness: one JSON line in, one line out, until its input ends.

Started as `... MODULE ARCH FOLDER OPTIONS`: what to import, the arch to initialise, where captured output goes, and
what to initialise with, as JSON. Its first line says that it is ready, and the version of what it imported.

A line out is the name of FOLDER, which nobody else knows, a space, and JSON. What an interpreter prints before this
module runs is on the same pipe, and has no such name; what a subject prints goes to files.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import traceback
from os import _exit as leave_at_once
from pathlib import Path
from typing import Final, TextIO

from .capture import Capture
from .execute import Request, Target
from .explain import answer
from .records import Record

__all__ = ["LARGEST_FILE", "main", "version_of"]

LARGEST_FILE: Final = 512 << 20
"""Bytes that a worker may write to one file: a subject that never stops printing shall not fill the disk."""


def main(module: str, arch: str, folder: str, options: str = "{}") -> None:
    """Serve until standard input ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    capture, name, process = Capture(Path(folder)), Path(folder).name, os.getpid()
    _limit_files()
    faulthandler.enable()
    os.environ["ADSTACK_ANNOUNCE"] = "0"
    _send(replies, name, _greet(module))
    target = Target(importlib.import_module(module), arch, json.loads(options))
    for line in requests:
        capture.clear()
        observation = answer(Request(**json.loads(line)), target, capture)
        if os.getpid() != process:  # a process that the subject has forked: nobody asked it
            leave_at_once(0)
        _send(replies, name, observation)


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


def _send(replies: TextIO, name: str, message: Record) -> None:
    """Write a line, whether or not what stands before it was a whole one."""
    replies.write(f"\n{name} {json.dumps(message)}\n")
    replies.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
