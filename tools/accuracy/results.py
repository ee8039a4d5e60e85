"""What was measured, as JSON under conformance/results/math/: one file per function and format."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record
from adstack.ir.structure import Task
from adstack.ir.text.printer import print_ir
from adstack.ir.types import DType
from adstack.transforms.math.library import traced

__all__ = ["FOLDER", "Result", "commit", "fingerprint", "load", "save", "today"]

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "conformance" / "results" / "math"


@dataclass(frozen=True)
class Result:
    """One function in one format.

    Attributes:
        function, format: which.
        max_ulp: the largest distance from the exact value, in units in the last place.
        at: the arguments where it is, as C99 hexadecimal floats.
        points: how many arguments were tried.
        exhaustive: whether those are all there are.
        tested: how, in words.
        judged: how many results mpmath has looked at, the worst ones among them.
        float_ops, ops: operations on the usual path; all of them, those of cold branches included.
        ns, numpy_ns: nanoseconds per element of an array in cache, here and by numpy.
        machine: what that was measured on.
        date, commit: of the measurement.
        fingerprint: of the algorithm that was measured.
    """

    function: str
    format: str
    max_ulp: float
    at: tuple[str, ...]
    points: int
    exhaustive: bool
    tested: str
    judged: int
    float_ops: int
    ops: int
    ns: float
    numpy_ns: float
    machine: str
    date: str
    commit: str
    fingerprint: str


def fingerprint(name: str, dtype: DType) -> str:
    """Changes exactly if the algorithm does."""
    text = print_ir(Task(name, traced(name, dtype)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def commit() -> str:
    """The commit that the working tree stands on."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip()[:12]


def today() -> str:
    """The date, in UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")


def _path(name: str, dtype: DType, folder: Path) -> Path:
    return folder / f"{name}.{dtype.name}.json"


def save(result: Result, dtype: DType, folder: Path = FOLDER) -> None:
    """Write a result to its file."""
    folder.mkdir(parents=True, exist_ok=True)
    _path(result.function, dtype, folder).write_text(json.dumps(asdict(result), indent=1) + "\n")


def load(name: str, dtype: DType, folder: Path = FOLDER) -> Result | None:
    """The result on file, if there is one."""
    path = _path(name, dtype, folder)
    if not path.exists():
        return None
    fields: Record = json.loads(path.read_text())
    return Result(**{**fields, "at": tuple(fields["at"])})
