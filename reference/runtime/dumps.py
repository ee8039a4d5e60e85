"""ADSTACK_DUMP_IR=FOLDER: what becomes of every kernel that a process compiles, stage by stage, as files.

A program has a folder of its own in FOLDER, PROCESS-NUMBER-NAME, in the order in which programs were compiled: a
kernel, its reverse mode, its forward mode. In it is a file per stage, in order: the IR from "frontend" to "sized", then
what the backend made of it. Files of other processes and of earlier runs stay as they are.

ADSTACK_DUMP_STAGES=frontend,sized limits this to some stages, and takes the time of these alone.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..errors import AdstackRuntimeError
from ..ir.structure import Kernel, Program
from ..ir.text.printer import print_ir

__all__ = ["STAGES", "VARIABLE", "Dump", "dump_of"]

VARIABLE: Final = "ADSTACK_DUMP_IR"
"""The environment's name for the folder."""
STAGES: Final = "ADSTACK_DUMP_STAGES"
"""The environment's name for the stages, with commas between them; all if it is empty or missing."""
_LONGEST: Final = 80
_NUMBERS: Final = itertools.count(1)


class Dump:
    """Writes the stages of one program.

    Args:
        folder: of all programs; it is made if it is missing.
        name: of the program.
        stages: those that are written; all if there are none.
    """

    def __init__(self, folder: Path, name: str, stages: frozenset[str] = frozenset()) -> None:
        self._stages = itertools.count()
        self._wanted, self._missing = stages, set(stages)
        with _writing():
            folder.mkdir(parents=True, exist_ok=True)
            self.folder = _new(folder, name)

    @property
    def is_complete(self) -> bool:
        """Whether all stages that are to be written have been."""
        return bool(self._wanted) and not self._missing

    def ir(self, stage: str, root: Kernel | Program) -> None:
        """Write the IR after a stage."""
        if not self._wanted or stage in self._wanted:
            self.text(stage, print_ir(root), ".ir")

    def text(self, stage: str, text: str, ending: str = ".txt") -> None:
        """Write what a stage made."""
        if self._wanted and stage not in self._wanted:
            return
        self._missing.discard(stage)
        path = self.folder / f"{next(self._stages):02}-{_safe(stage)}{ending}"
        with _writing():
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8", "backslashreplace")


def dump_of(name: str) -> Dump | None:
    """What writes the stages of a program, if the environment asks for it; AdstackRuntimeError if it can't be done."""
    folder, stages = os.environ.get(VARIABLE), os.environ.get(STAGES, "")
    return Dump(Path(folder), name, frozenset(filter(None, stages.split(",")))) if folder else None


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AdstackRuntimeError(
            f"{VARIABLE} is {os.environ.get(VARIABLE, '')!r}, where IR can't be written: {error.strerror}",
            do=f"let {VARIABLE} name a folder that can be written, or unset it",
        ) from error


def _new(folder: Path, name: str) -> Path:
    """A folder that was not there: numbers of processes come again."""
    while True:
        path = folder / f"{os.getpid()}-{next(_NUMBERS):04}-{_safe(name)}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path


def _safe(name: str) -> str:
    """A name that is a file's on every system, and in no other folder."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:_LONGEST].rstrip(".") or "_"
