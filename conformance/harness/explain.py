"""What explains a cell beside its result: the programs that were compiled for it, and where it leaves the reference."""

from __future__ import annotations

import importlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from .capture import Capture
from .execute import Request, Target, perform
from .records import Record

__all__ = ["answer", "departures_of"]

STAGES: Final = ("frontend", "sized")
"""The IR of a program as the frontend made it, and as a backend gets it."""
LONGEST_PROGRAM: Final = 40_000
"""Characters of a stage that are kept."""
_PATH: Final = re.compile(r'loc\("[^"]*?([^"/\\]+)":(\d+):(\d+)[^)]*\)')


def answer(request: Request, target: Target, capture: Capture) -> Record:
    """What a request asks for: what `perform` gives, the same with "programs", or the "departures" alone."""
    if request.ask == "departures":
        return {"departures": [str(departure) for departure in departures_of(request, target, capture)]}
    if request.ask == "programs":
        return _with_programs(request, target, capture)
    return perform(request, target, capture)


def departures_of(request: Request, target: Target, capture: Capture) -> list[Any]:
    """Where a backend of adstack departs from the reference in a cell: the first value of each launch.

    Launches are deterministic. Whether the cell passes does not matter: what it computed until an error came is
    compared.
    """
    inspection = importlib.import_module(f"{target.qd.__name__}.inspection")
    options = {**target.options, "deterministic": True, "offline_cache": False}
    seen: list[Any]
    with inspection.departures() as seen:
        perform(request, replace(target, options=options), capture)
        target.qd.reset()
    return seen


def _with_programs(request: Request, target: Target, capture: Capture) -> Record:
    """What came of a cell, and the IR of the programs that were compiled for it, in order."""
    with tempfile.TemporaryDirectory(prefix="adstack-programs-") as folder:
        with _environment({"ADSTACK_DUMP_IR": folder, "ADSTACK_DUMP_STAGES": ",".join(STAGES)}):
            observation = perform(request, target, capture)
        return {**observation, "programs": _programs(Path(folder))}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _programs(folder: Path) -> list[Record]:
    """What was dumped: {"name", "stages": {name: text}} of each program."""
    return [
        {"name": one.name.split("-", 2)[2], "stages": {_stage(path): _short(path) for path in sorted(one.glob("*.ir"))}}
        for one in sorted(folder.iterdir(), key=lambda one: int(one.name.split("-")[1]))
    ]


def _stage(path: Path) -> str:
    return path.stem.partition("-")[2]


def _short(path: Path) -> str:
    """The IR, with the places of its source by file, line and column alone."""
    text = _PATH.sub(r"# \1:\2:\3", path.read_text("utf-8"))
    return text if len(text) <= LONGEST_PROGRAM else f"{text[:LONGEST_PROGRAM]}\n# {len(text) - LONGEST_PROGRAM} more"
