"""What decides a result besides its cell: the suite's code, adstack's, and the subject that it was measured on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Final

from .cells import Subject

__all__ = ["identity"]

SUITE: Final = "adstack.conformance"
_OTHER_FOLDERS: Final = frozenset({"tests", "results", "__pycache__"})
"""Folders of a package that decide no result."""


@cache
def identity(subject: Subject) -> str:
    """A short name for what results of this subject hold for: the same name, the same code and the same device.

    Of adstack's own backends all its sources are part of it, of other subjects their version and the suite's sources.
    """
    packages = (SUITE, "adstack", "adstack.backends") if subject.module == "adstack" else (SUITE,)
    about = [subject.module, subject.arch, subject.kind, subject.device, subject.version, subject.options]
    text = json.dumps([about, subject.details, [sources_of(name) for name in packages]], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def sources_of(package: str) -> str:
    """A hash of a package's Python files and of the IR that it is made with."""
    spec = importlib.util.find_spec(package)
    digest = hashlib.sha256()
    for folder in map(Path, (spec.submodule_search_locations if spec is not None else None) or ()):
        for path in sorted(folder.rglob("*")):
            within = path.relative_to(folder)
            if path.suffix in (".py", ".ir") and _OTHER_FOLDERS.isdisjoint(within.parts):
                data = path.read_bytes()
                digest.update(f"{within.as_posix()} {len(data)} ".encode() + data)
    return digest.hexdigest()
