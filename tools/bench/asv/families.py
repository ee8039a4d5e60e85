"""asv's benchmarks, run in this process: no environments are built, and asv is not needed."""

from __future__ import annotations

import fnmatch
import importlib
import itertools
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .catalogue import Benchmark, Setting, importable
from .results import Figures, Point

__all__ = ["chosen", "measured"]

_LEAST: Final = 0.01
"""Seconds that a sample takes at least: shorter calls are timed together."""
_SAMPLES: Final = 5
_PROCESSES: Final = 3
"""Samples of a benchmark that wants a process of its own for each."""
_RAW: Final = """\
{setup}
import time as _time
_start = _time.perf_counter()
{statement}
print(_time.perf_counter() - _start)
"""

Note = Callable[[str], None]
Method: TypeAlias = Callable[..., Any]
"""A method of a benchmark: its setting decides what it takes, and its kind what it gives."""


def chosen(patterns: Sequence[str], benchmarks: Mapping[str, Benchmark]) -> list[Benchmark]:
    """The benchmarks with these names or patterns that have a backend as parameter; the others say nothing of one."""
    names = [name for name, one in benchmarks.items() if "backend" in one.names]
    return [benchmarks[name] for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def measured(benchmarks: Sequence[Benchmark], arches: Sequence[str], note: Note) -> Iterator[Figures]:
    """What the benchmarks say of backends, one after the other; nothing of those that are skipped.

    Args:
        benchmarks: those that time calls (time_, timeraw_) and those that count (track_); others are left out.
        arches: the backends.
        note: told the name of each benchmark before it begins.
    """
    for benchmark in benchmarks:
        note(benchmark.name)
        with importable():
            points = {setting: point for setting, point in _settings(benchmark, arches) if point is not None}
        if points:
            yield {benchmark.name: points}


def _settings(benchmark: Benchmark, arches: Sequence[str]) -> Iterator[tuple[Setting, Point | None]]:
    module, name, method = benchmark.name.split(".")
    cls = getattr(importlib.import_module(f"benchmarks.{module}"), name)
    place = benchmark.names.index("backend")
    for values in itertools.product(*cls.params):
        if values[place] in arches:
            yield tuple(map(repr, values)), _point(cls(), method, values)


def _point(instance: object, method: str, values: tuple[object, ...]) -> Point | None:
    """One figure; None if the benchmark is skipped here, or is of a kind that needs asv's own process."""
    measure = {"time": _timed, "timeraw": _timed_apart, "track": _tracked}.get(method.partition("_")[0])
    if measure is None:
        return None
    try:
        if hasattr(instance, "setup"):
            instance.setup(*values)
    except NotImplementedError:
        return None
    try:
        return measure(getattr(instance, method), values, getattr(instance, "number", 0))
    finally:
        if hasattr(instance, "teardown"):
            instance.teardown(*values)


def _tracked(method: Method, values: tuple[object, ...], number: int) -> Point:
    return Point(method(*values))


def _timed(method: Method, values: tuple[object, ...], number: int) -> Point:
    timer = timeit.Timer(lambda: method(*values))
    once = timer.timeit(1)
    together = number or max(1, round(_LEAST / max(once, 1e-9)))
    samples = tuple(seconds / together for seconds in timer.repeat(_SAMPLES, together))
    return Point(statistics.median(samples), samples)


def _timed_apart(method: Method, values: tuple[object, ...], number: int) -> Point:
    statement, setup = method(*values)
    command = [sys.executable, "-c", _RAW.format(setup=setup, statement=statement)]
    ended = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(_PROCESSES)]
    samples = tuple(float(one.stdout.split()[-1]) for one in ended)
    return Point(statistics.median(samples), samples)
