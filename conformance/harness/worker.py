"""A process that runs cells for the harness: one JSON line in, one JSON line out, until its input ends.

Started as `... MODULE ARCH FOLDER OPTIONS`: what to import, the arch to initialise, where captured output goes, and
what to initialise with, as JSON. Its first line says that it is ready, and the version of what it imported.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from .capture import Capture
from .execute import Request, Target, perform

__all__ = ["main", "version_of"]


def main(module: str, arch: str, folder: str, options: str = "{}") -> None:
    """Serve until standard input ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    capture = Capture(Path(folder))
    faulthandler.enable()
    _send(replies, _greet(module))
    target = Target(importlib.import_module(module), arch, json.loads(options))
    for line in requests:
        capture.clear()
        _send(replies, perform(Request(**json.loads(line)), target, capture))


def _greet(module: str) -> dict[str, Any]:
    try:
        return {"ready": True, "version": version_of(importlib.import_module(module)), "python": sys.version.split()[0]}
    except Exception:  # noqa: BLE001 - importing a subject may fail in any way; the harness reports how
        return {"ready": False, "message": traceback.format_exc(limit=-2)}


def version_of(module: Any) -> str:
    """A version in words; some subjects have a tuple."""
    version = getattr(module, "__version__", "unknown")
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


def _send(replies: Any, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
