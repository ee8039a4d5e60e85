"""Compiled objects on disk, shared by processes.

An entry is a file (see `shared/kept.py`) named by the hash of everything that decides its contents.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adstack.backends.shared import kept

__all__ = ["MOST_BYTES", "ObjectCache"]

_VERSION = "1"
MOST_BYTES = 512 * 1024 * 1024
"""What the cache may take; more is trimmed now and then."""


@dataclass(frozen=True)
class ObjectCache:
    """A folder of compiled objects.

    Attributes:
        folder: made when first written to. A folder that can't be written is no error: nothing is kept.
    """

    folder: Path

    @staticmethod
    def key(*parts: str) -> str:
        """The name of the entry that these texts decide."""
        digest = hashlib.sha256(_VERSION.encode())
        for part in parts:
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def read(self, key: str) -> bytes | None:
        """The contents of an entry, or None if it is not there or damaged."""
        path = self._path(key)
        body = kept.read(path)
        if body is not None:
            with suppress(OSError):
                os.utime(path)  # what is used last is trimmed last
        return body

    def write(self, key: str, body: bytes) -> None:
        """Add an entry; where the folder can't be written, do nothing."""
        kept.write(self._path(key), body)
        if key.startswith("00"):  # once in 256 writes
            self.trim()

    def entries(self) -> list[tuple[Path, int]]:
        """The file and size in bytes of every entry, the one used longest ago first."""
        found = []
        for path in self.folder.glob("objects/*/*.o"):
            with suppress(OSError):  # another process may have removed it
                state = path.stat()
                found.append((state.st_mtime_ns, path, state.st_size))
        return [(path, size) for _, path, size in sorted(found)]

    def clear(self) -> int:
        """Remove all entries, and what interrupted writes have left; how many entries there were."""
        found = self.entries()
        for path in (*(path for path, _ in found), *self.folder.glob("objects/*/.writing-*")):
            kept.remove(path)
        return len(found)

    def trim(self, most: int = MOST_BYTES) -> None:
        """Remove entries, those used longest ago first, until the rest takes at most so many bytes."""
        found = self.entries()
        total = sum(size for _, size in found)
        for path, size in found:
            if total <= most:
                return
            kept.remove(path)
            total -= size

    def _path(self, key: str) -> Path:
        return self.folder / "objects" / key[:2] / f"{key}.o"
