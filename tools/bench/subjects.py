"""Who can be measured: adstack's compiled backends, and peers in their own environments.

`environments.py` says which interpreter a peer is installed for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adstack import inspection
from adstack.conformance.harness.records import Record

from .environments import interpreter
from .workers import Worker, WorkerError

__all__ = ["Subject", "Variant", "compiled_backends", "mine", "peer"]

_RUNNERS: Final = Path(__file__).resolve().parent / "runners"


@dataclass(frozen=True)
class Subject:
    """One implementation on one arch.

    Attributes:
        name: "adstack", or a peer's.
        arch: what it runs on, by adstack's name.
        command: what starts a worker.
        version: of the implementation; empty where it is unavailable.
        reason: why it is unavailable.
        fix: what would help.
    """

    name: str
    arch: str
    command: tuple[str, ...]
    version: str = ""
    python: str = ""
    reason: str = ""
    fix: str = ""

    @property
    def is_available(self) -> bool:
        """Whether it can run here; `reason` says why not."""
        return not self.reason

    def record(self) -> Record:
        """As plain data."""
        names = ("name", "arch", "version", "python", "reason", "fix")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Variant:
    """adstack once more, to be compared with itself.

    Attributes:
        name: what tables call it.
        options: of `init`, beyond those of the measurement.
        python: an interpreter that has another version of adstack installed; empty for this one.
    """

    name: str
    options: Record
    python: str = ""

    def on(self, arch: str) -> Subject:
        """It on one of its backends."""
        return _asked(
            self.name, arch, self.python or sys.executable, ("language.py", "adstack", arch, json.dumps(self.options))
        )


def compiled_backends() -> list[str]:
    """The arches that are available here and compile."""
    probes = {arch: inspection.probe(arch) for arch in inspection.ARCHES if arch != "reference"}
    return [arch for arch, probe in probes.items() if not isinstance(probe, inspection.Unavailable)]


def mine(arch: str) -> Subject:
    """adstack on one of its backends."""
    return _asked("adstack", arch, sys.executable, ("language.py", "adstack", arch))


def peer(name: str, arch: str, pythons: Mapping[str, str], folder: Path) -> Subject:
    """A peer on the arch that adstack calls so; `folder` may have an environment for it."""
    python = interpreter(name, pythons, folder)
    runner = "jax_scan.py" if name == "jax" else "language.py"
    return _asked(name, arch, python, (runner, name, arch))


def _asked(name: str, arch: str, python: str, program: Sequence[str]) -> Subject:
    command = (python, str(_RUNNERS / program[0]), *program[1:])
    try:
        with Worker(command) as worker:
            about = worker.ask({"row": "about"})
    except WorkerError as error:
        fix = f"--install, or --python {name}=PATH with the interpreter that {name} is installed for"
        return Subject(name, arch, command, reason=str(error), fix=fix)
    return Subject(name, arch, command, str(about["version"]), str(about["python"]))
