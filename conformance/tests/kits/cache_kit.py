"""What processes do to a cache on disk that they share."""

from __future__ import annotations

from pathlib import Path

from adstack.backends.shared.object_cache import ObjectCache


def write_and_read(folder: Path) -> int:
    """What a process does to entries that others write at the same time: how many it found damaged."""
    kept, wrong = ObjectCache(folder), 0
    for turn in range(60):
        key = kept.key(str(turn % 5))
        body = bytes([turn % 5]) * 50_000
        kept.write(key, body)
        content = kept.read(key)
        wrong += content is not None and content != body
        if turn % 20 == 19:
            kept.trim(100_000)
    return wrong
