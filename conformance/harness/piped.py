"""A subject that is any program: it is told of launches over a pipe, and answers with what memory holds after them.

Started as `... COMMAND MODULE ARCH FOLDER OPTIONS`: what starts the program, as a list in JSON, and what a worker is
started with. Messages are lines of JSON; README.md in the folder of subjects says what is in them.
"""

from __future__ import annotations

import base64
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import numpy as np

from .execute import MissingError
from .records import Record
from .worker import main as serve

__all__ = ["LaunchFailedError", "main"]

_TYPES: Final = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "u1"}


class LaunchFailedError(Exception):
    """The program says that it could not do what it was asked for, in its own words."""


def main(command: str, *worker: str) -> None:
    """Serve cells until standard input ends."""
    serve(*worker, session=partial(_served, json.loads(command)))


@contextmanager
def _served(command: Sequence[str]) -> Iterator[None]:
    """The program runs, and launches are carried out by it."""
    inspection = importlib.import_module("adstack.inspection")
    with _Program(command) as program, inspection.launches_by(program.launch):
        yield


class _Program:
    """The process at the other end of the pipe."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *exc: object) -> None:
        with self._process:
            self._process.kill()

    def launch(self, launch: Any) -> list[float]:
        """Have a launch carried out; its arrays are changed. See `adstack.inspection.launches_by`."""
        arrays = {name: _told(array) for name, array in launch.arrays.items()}
        head = {"program": launch.program, "scalars": [np.asarray(one).item() for one in launch.scalars]}
        rest = {"debug": launch.debug, "seed": launch.seed, "launch": launch.number}
        answer = self._ask({**head, **rest, "arrays": arrays})
        if "missing" in answer:
            raise MissingError(answer["missing"])
        if "error" in answer:
            raise LaunchFailedError(answer["error"])
        for name, data in answer["arrays"].items():
            array = launch.arrays[name]
            array[...] = np.frombuffer(base64.b64decode(data), array.dtype).reshape(array.shape)
        returns: list[float] = answer.get("returns", [])
        return returns

    def _ask(self, message: Record) -> Record:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            sys.exit(f"the subject's process ended: exit code {self._process.wait()}")
        answer: Record = json.loads(line)
        return answer


def _told(array: Any) -> Record:
    """An array as it stands in a message: its elements in order, little-endian, in base64."""
    dtype = array.dtype
    name = _TYPES.get(dtype.name, f"{dtype.kind}{8 * dtype.itemsize}")
    return {"type": name, "shape": array.shape, "data": base64.b64encode(array.tobytes()).decode()}
