"""What decides a result besides its cell: the suite's code, adstack's, and the subject that it was measured on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Final

from .cells import Subject

__all__ = ["identity", "sources"]

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
    text = json.dumps([about, subject.details, [sources(name) for name in packages]], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def sources(package: str) -> str:
    """The sha256 of a package's Python files and of the IR that it is made with: their paths, lengths and contents."""
    spec = importlib.util.find_spec(package)
    digest = hashlib.sha256()
    if spec is not None and spec.origin is not None:
        # An editable installation is a folder of links, into which a walk does not go.
        folder = Path(spec.origin).resolve().parent
        for path in sorted(folder.rglob("*")):
            within = path.relative_to(folder)
            if path.suffix in (".py", ".ir") and _OTHER_FOLDERS.isdisjoint(within.parts):
                data = path.read_bytes()
                digest.update(f"{within.as_posix()} {len(data)} ".encode() + data)
    return digest.hexdigest()
