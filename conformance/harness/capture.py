"""Catches what a process writes to its standard output and error, below Python: prints of device code too."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["Capture"]


class Capture:
    """Sends file descriptors 1 and 2 to files of a folder, from now on.

    The files outlive a crash of this process: whoever started it can read the last words.
    """

    NAMES = ("stdout", "stderr")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for descriptor, name in zip((1, 2), self.NAMES, strict=True):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC
            handle = os.open(folder / name, flags, 0o600)
            os.dup2(handle, descriptor)
            os.close(handle)

    def clear(self) -> None:
        """Forget what was written so far."""
        flush()
        for name in self.NAMES:
            os.truncate(self.folder / name, 0)

    def mark(self) -> int:
        """How much was written to standard output so far."""
        flush()
        return (self.folder / "stdout").stat().st_size

    def since(self, mark: int) -> str:
        """What was written to standard output since `mark`."""
        flush()
        return (self.folder / "stdout").read_bytes()[mark:].decode("utf-8", "replace")


def flush() -> None:
    """Empty Python's and C's buffers."""
    sys.stdout.flush()
    sys.stderr.flush()
    libc = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    libc.fflush(None)
