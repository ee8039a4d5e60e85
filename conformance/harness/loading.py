"""Finds every case on disk, and loads files as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from ..case import Case, CaseError, Variant

__all__ = ["CASES", "Entry", "case_files", "collect", "load_entry", "load_module"]

CASES = Path(__file__).resolve().parent.parent / "cases"


@dataclass(frozen=True)
class Entry:
    """One variant of one case.

    Attributes:
        id: "topic/name" and the variant's suffix.
        topic: its folder, with dashes.
        path: its file, relative to the root of the cases.
        title: one line about it.
    """

    id: str
    topic: str
    path: str
    title: str
    case: Case
    variant: Variant


def case_files(root: Path = CASES) -> list[Path]:
    """Every Python file under a topic's folder, sorted."""
    return sorted(path for path in root.glob("*/**/*.py") if path.name != "__init__.py")


def collect(root: Path = CASES) -> list[Entry]:
    """Every case under `root`, sorted by file and place in it. CaseError if ids clash or a file has none."""
    entries = [entry for path in case_files(root) for entry in _entries(path, root)]
    files = Counter(name for name, _ in {(entry.id.partition(":")[0], entry.path) for entry in entries})
    repeated = Counter(entry.id for entry in entries)
    clashes = [name for counts in (files, repeated) for name, count in counts.items() if count > 1]
    if clashes:
        raise CaseError(f"two cases have the same id: {', '.join(clashes)}; rename one function")
    stray = sorted(path.name for path in root.glob("*.py") if path.name != "__init__.py")
    if stray:
        raise CaseError(f"{', '.join(stray)} in {root}: a case file belongs in a topic's folder")
    return entries


def load_entry(path: str, id_: str, root: Path = CASES) -> Entry:
    """The entry with this id of one file; the file of the last call is not read again."""
    entry = _by_id(root / path, root).get(id_)
    if entry is None:
        raise CaseError(f"{path} has no case {id_}")
    return entry


@lru_cache(maxsize=1)
def _by_id(path: Path, root: Path) -> dict[str, Entry]:
    return {entry.id: entry for entry in reversed(list(_entries(path, root)))}


def _entries(path: Path, root: Path) -> Iterator[Entry]:
    name = "adstack_case_" + "_".join(path.relative_to(root).with_suffix("").parts)
    module = load_module(path, name)
    cases = [value for value in vars(module).values() if isinstance(value, Case)]
    if not cases:
        raise CaseError(f"{path} holds no case: decorate a function with @case, or remove the file")
    relative = path.relative_to(root)
    topic = relative.parts[0].replace("_", "-")
    for case_ in cases:
        for variant in case_.variants:
            id_ = f"{topic}/{case_.slug}{variant.suffix}"
            yield Entry(id_, topic, relative.as_posix(), case_.title, case_, variant)


def load_module(path: Path, name: str = "") -> ModuleType:
    """Run a Python file as a new module, which `sys.modules` then has under its name.

    Args:
        path: the file.
        name: the module's; by default that of the file.

    Raises:
        ImportError: the file's name does not end as one of a Python file does. What the file raises is passed on.
    """
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
