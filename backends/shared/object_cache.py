"""Compiled objects on disk, shared by processes.

An entry is a file (see `shared/kept.py`) named by the hash of everything that decides its contents.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adstack.backends.shared import kept
from adstack.version import VERSION

__all__ = ["MOST_BYTES", "ObjectCache"]

_OBJECTS: Final = "objects"
_ENDING: Final = ".o"
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
        """The name of the entry that these texts, the `parts`, and adstack's version decide: hexadecimal digits."""
        digest = hashlib.sha256()
        for part in (VERSION, *parts):
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def read(self, key: str) -> bytes | None:
        """The contents of the entry `key`, or None if it is not there, damaged, or not safe to use."""
        return kept.read(self.folder, _name(key))

    def write(self, key: str, body: bytes) -> None:
        """Add an entry `key` with the contents `body`; where the folder can't be written, do nothing."""
        kept.write(self.folder, _name(key), body)
        if key.startswith("00"):  # once in 256 writes
            self.trim()

    def entries(self) -> list[tuple[str, int]]:
        """The path from the folder on and the size in bytes of every entry, the one used longest ago first."""
        states = [(state.st_mtime_ns, name, state.st_size) for name, state in kept.files(self.folder, _OBJECTS)]
        return [(name, size) for _, name, size in sorted(states) if name.endswith(_ENDING)]

    def clear(self) -> int:
        """Remove all entries, and what interrupted writes have left; how many entries there were."""
        entries = self.entries()
        for name, _ in entries:
            kept.remove(self.folder, name)
        kept.remove_unfinished(self.folder, _OBJECTS, all_of_them=True)
        return len(entries)

    def trim(self, most: int = MOST_BYTES) -> None:
        """Remove entries, those used longest ago first, until the rest takes at most so many bytes."""
        kept.remove_unfinished(self.folder, _OBJECTS)
        entries = self.entries()
        total = sum(size for _, size in entries)
        for name, size in entries:
            if total <= most:
                return
            kept.remove(self.folder, name)
            total -= size


def _name(key: str) -> str:
    """The path of an entry, from the folder on."""
    return f"{_OBJECTS}/{key[:2]}/{key}{_ENDING}"
