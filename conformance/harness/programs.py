"""Programs by name, and the import switch: the same file on any module that speaks the language."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias, cast

__all__ = ["NAMES", "Language", "Program", "load", "make", "title"]

Language: TypeAlias = Any
"""The module that programs import: adstack, or a peer of it."""
Place: TypeAlias = Any
"""A field or an ndarray of that module."""

_FOLDER: Final = Path(__file__).resolve().parent.parent / "programs"
NAMES: Final = tuple(path.stem.replace("_", "-") for path in sorted(_FOLDER.glob("[!_]*.py")))
"""All programs."""


class Program(Protocol):
    """What a program's class `Program` offers.

    Attributes:
        loss: a place with one number.
        inputs: the places that are optimised, by name.
    """

    loss: Place
    inputs: Mapping[str, Place]

    def forward(self) -> None:
        """Launch everything from the inputs to the loss."""

    def differentiate(self) -> float:
        """The loss; its gradient is in the `grad` of the inputs afterwards."""

    def update(self) -> None:
        """Change the inputs, by what their gradient says."""


class Source(Protocol):
    """The module of a program."""

    SIZES: Mapping[str, Mapping[str, float]]

    def Program(self, **sizes: float) -> Program:  # noqa: N802 - a class
        """The program at given sizes, such as those of `SIZES`; what is left out has the program's defaults."""


def load(name: str, qd: Language) -> Source:
    """The module of a program, with `qd` in the place of adstack; a new one each time. KeyError: no such program."""
    if name not in NAMES:
        raise KeyError(name)
    path = _FOLDER / f"{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _instead(qd):
        spec.loader.exec_module(module)
    return cast(Source, module)


def make(name: str, qd: Language, size: str) -> Program:
    """The program with this name and size; the language has been initialised."""
    source = load(name, qd)
    return source.Program(**source.SIZES[size])


def title(name: str) -> str:
    """What a program computes, in a line: the first of its file."""
    path = _FOLDER / f"{name.replace('-', '_')}.py"
    return path.read_text("utf-8").partition("\n")[0].strip('"')


@contextmanager
def _instead(qd: Language) -> Iterator[None]:
    """`import adstack` gives this module."""
    before: ModuleType | None = sys.modules.get("adstack")
    sys.modules["adstack"] = qd
    try:
        yield
    finally:
        if before is None:
            del sys.modules["adstack"]
        else:
            sys.modules["adstack"] = before
