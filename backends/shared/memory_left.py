"""How much memory this process may still take.

Systems promise more memory than there is, and end a process that believes them. So the adstack heap asks before it
grows: the system, and the control groups that the process is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["memory_left"]


def memory_left(root: Path = Path("/")) -> int | None:
    """Bytes, or None where the system does not tell. `root` is the folder that has /proc and /sys."""
    amounts = [left for left in (_system(root), *map(_group, _groups(root))) if left is not None]
    return min(amounts, default=None)


def _system(root: Path) -> int | None:
    """What the system can give without swapping."""
    for line in _text(f"{root}/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the control groups around this process that know of memory, in either version of them."""
    for line in _text(f"{root}/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
            within = PurePosixPath(path.lstrip("/"))
            yield from (top / group for group in (within, *within.parents))


def _group(folder: Path) -> int | None:
    """What is left of a group's limit; what it holds of files only to have them at hand counts as left."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"),
    ):
        most = _text(f"{folder}/{limit}").strip()
        taken = _text(f"{folder}/{used}").strip() if most.isdigit() else ""
        if taken.isdigit():
            return max(0, int(most) - int(taken) + _entry(f"{folder}/memory.stat", cached))
    return None


def _entry(path: str, name: str) -> int:
    rows = (line.split(" ", 1) for line in _text(path).splitlines() if line.startswith(f"{name} "))
    return next((int(value) for _, value in rows), 0)


def _text(path: str) -> str:
    """What a file holds; nothing if it can't be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
