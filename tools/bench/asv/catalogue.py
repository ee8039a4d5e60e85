"""The benchmarks that asv knows, as `asv run` listed them in its results."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

__all__ = ["FOLDER", "RESULTS", "Benchmark", "Setting", "catalogue", "importable"]

FOLDER: Final = Path(__file__).resolve().parents[3] / "asv_benchmarks"
RESULTS: Final = FOLDER / "results"
Setting: TypeAlias = tuple[str, ...]
"""One value of each parameter, as Python writes it."""


@dataclass(frozen=True)
class Benchmark:
    """One method of a class of `asv_benchmarks/benchmarks`.

    Attributes:
        name: module, class and method, with dots between them.
        names: of the parameters.
        params: their values, as Python writes them.
        version: asv draws no lines between results of different versions.
    """

    name: str
    names: tuple[str, ...]
    params: tuple[Setting, ...]
    version: str

    def settings(self) -> Iterator[Setting]:
        """All combinations of values, in asv's order."""
        return itertools.product(*self.params)


def catalogue(folder: Path = RESULTS) -> dict[str, Benchmark]:
    """By name, those that the file of a folder of asv's results lists."""
    listed = json.loads((folder / "benchmarks.json").read_text("utf-8"))
    return {
        name: Benchmark(name, tuple(one["param_names"]), tuple(map(tuple, one["params"])), one["version"])
        for name, one in listed.items()
        if name != "version"
    }


_ENVIRONMENT: Final = {"ADSTACK_CACHE_DIR": "", "ADSTACK_VERIFY": "0"}


@contextmanager
def importable() -> Iterator[None]:
    """The benchmarks as a package, as asv imports them; nothing compiled on disk, none of the checks of tests."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    sys.path.insert(0, str(FOLDER))
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        sys.path.remove(str(FOLDER))
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
