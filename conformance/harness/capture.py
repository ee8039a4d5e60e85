"""Catches what a process writes to its standard output and error, below Python: prints of device code too."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final, TextIO

__all__ = ["Capture", "flush"]

LONGEST: Final = 1 << 20
"""Bytes of output that are compared with what a case expects."""


class Capture:
    """Sends file descriptors 1 and 2 to files of a folder, from now on.

    The files outlive a crash of this process: whoever started it can read the last words.
    """

    NAMES = ("stdout", "stderr")

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
        self._handles = [os.open(folder / name, flags, 0o600) for name in self.NAMES]
        self._streams = sys.stdout, sys.stderr
        self._redirect()

    def _redirect(self) -> None:
        for handle, descriptor in zip(self._handles, (1, 2), strict=True):
            os.dup2(handle, descriptor)

    def clear(self) -> None:
        """Forget what was written so far, and what the last cell has done to the streams."""
        self._redirect()
        sys.stdout, sys.stderr = self._streams = _opened(self._streams[0], 1), _opened(self._streams[1], 2)
        flush()
        for handle in self._handles:
            os.ftruncate(handle, 0)

    def mark(self) -> int:
        """How much was written to standard output so far."""
        flush()
        return os.fstat(self._handles[0]).st_size

    def since(self, mark: int) -> str:
        """What was written to standard output since `mark`, as far as anybody would compare it."""
        flush()
        os.lseek(self._handles[0], mark, os.SEEK_SET)
        return os.read(self._handles[0], LONGEST).decode("utf-8", "replace")


def _opened(stream: TextIO, descriptor: int) -> TextIO:
    """The stream, or a new one if it was closed."""
    if not stream.closed:
        return stream
    return open(descriptor, "w", encoding=stream.encoding, errors=stream.errors, closefd=False)


def flush() -> None:
    """Empty Python's and C's buffers, unless a subject has taken the streams away."""
    for stream in (sys.stdout, sys.stderr):
        if not getattr(stream, "closed", True):
            stream.flush()
    libc = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    libc.fflush(None)
