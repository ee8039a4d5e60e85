"""The page of the API: what is public, for Sphinx' autodoc to document from docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Final

import adstack

__all__ = ["api"]

_GROUPS: Final = {
    "Kernels, and how they are started": ("adstack.kernels", "adstack.runtime"),
    "Data": ("adstack.data",),
    "What kernels call": ("adstack.values",),
    "Types": ("adstack.ir",),
    "Errors": ("adstack.errors",),
}


def api() -> str:
    """The page of public functions and classes, for autodoc: grouped by the room that they live in."""
    parts = ["# API", "What `import adstack as qd` gives; [names](spec/names.md) lists constants and other names too."]
    for heading, rooms in _GROUPS.items():
        parts += [f"## {heading}", *_documented(adstack, "adstack", rooms)]
    parts += ["## Differentiation: `qd.ad`", *_documented(adstack.ad, "adstack.ad", ("adstack",))]
    parts += ["## Profiles: `qd.profiler`", *_documented(adstack.profiler, "adstack.profiler", ("adstack",))]
    return "\n\n".join(parts) + "\n"


def _documented(home: ModuleType, place: str, rooms: Sequence[str]) -> Iterator[str]:
    """A directive for every name with a docstring of its own that lives in one of the rooms."""
    for name in home.__all__:
        value = getattr(home, name)
        lives = getattr(value, "__module__", "") or ""
        if getattr(value, "__name__", "") == name and lives.startswith(tuple(rooms)) and inspect.getdoc(value):
            kind = "function" if inspect.isfunction(value) else "class"
            yield f"```{{eval-rst}}\n.. auto{kind}:: {place}.{name}\n```"
