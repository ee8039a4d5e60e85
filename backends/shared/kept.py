"""Files that processes share: in one folder, each with the hash of its contents in front.

A file is written under another name and renamed, so that a reader sees all of it or nothing; one that was truncated or
damaged is taken for none.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["DEVICES", "default_folder", "device_files", "read", "remove", "write"]

DEVICES = "vulkan"
"""The folder of what drivers keep, and of what is known of devices."""
_UNFINISHED = ".writing-"


def default_folder() -> Path:
    """$ADSTACK_CACHE_DIR, or adstack in the user's cache folder."""
    given = os.environ.get("ADSTACK_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "adstack"


def read(path: Path) -> bytes | None:
    """The contents of a file, or None if it is not there or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, body = data[:32], data[32:]
    return body if hashlib.sha256(body).digest() == head else None


def write(path: Path, body: bytes) -> None:
    """Make or replace a file; where the folder can't be written, do nothing."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def remove(path: Path) -> None:
    """Remove a file, unless another process was faster."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def device_files(folder: Path) -> list[tuple[Path, int]]:
    """What is kept of devices and for their drivers, with the size of each in bytes."""
    found = []
    for path in sorted((folder / DEVICES).glob("*")):
        with suppress(OSError):
            found.append((path, path.stat().st_size))
    return found
