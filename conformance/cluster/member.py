"""A worker of a run on several machines: what it has, and how it runs a batch of cells."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adstack import inspection

from ..harness.cells import Cell, Result, Subject
from ..harness.identity import SUITE, sources
from ..harness.loading import load_entry
from ..harness.records import Record
from ..harness.station import Settings, Shared, Station
from ..subjects.backends import backend_subject

__all__ = ["Batch", "announcement", "code", "own_subject", "resource", "run_batch", "serve"]


@dataclass(frozen=True)
class Batch:
    """Cells of one subject that a worker runs one after the other.

    Attributes:
        subject: its name.
        options: for its `init`.
        cells: path, id, mode and seed of each.
        root, timeout, alike, explain: as of `Settings`.
    """

    subject: str
    options: tuple[tuple[str, Any], ...]
    cells: tuple[tuple[str, str, str, int], ...]
    root: str
    timeout: float
    alike: bool = False
    explain: bool = False


def resource(subject: str) -> str:
    """What a worker that has a subject calls it among its resources."""
    return f"adstack {subject}"


def code() -> tuple[str, ...]:
    """Digests of the sources that decide results: workers must have those of the run."""
    return tuple(sources(package) for package in (SUITE, "adstack", "adstack.backends"))


@dataclass
class _Member:
    """This process as a worker: its subjects, and a station for each of its threads."""

    subjects: dict[str, Subject]
    stations: list[Station] = field(default_factory=list)
    own: threading.local = field(default_factory=threading.local)

    def station(self, batch: Batch) -> Station:
        """The station of this thread; another one if the last batch was of another kind."""
        kind = replace(batch, subject="", options=(), cells=())
        if getattr(self.own, "kind", None) != kind:
            self.close_own()
            settings = Settings(inspection.budget, batch.timeout, Path(batch.root), _oracle(batch), batch.alike)
            self.own.station = Station(replace(settings, explain=batch.explain), Shared())
            self.own.kind = kind
            self.stations.append(self.own.station)
        station: Station = self.own.station
        return station

    def close_own(self) -> None:
        if getattr(self.own, "station", None) is not None:
            self.own.station.close()
            self.stations.remove(self.own.station)

    def subject(self, batch: Batch) -> Subject:
        """The batch's subject, with its options: the same object as long as these are the same."""
        subject = self.subjects[batch.subject]
        if subject.options != batch.options:
            subject = self.subjects[batch.subject] = replace(subject, options=batch.options)
        return subject


_member: _Member | None = None


def _oracle(batch: Batch) -> Subject:
    oracle = backend_subject("reference")
    return replace(oracle, options=(("deterministic", True),)) if batch.alike else oracle


def announcement() -> tuple[tuple[str, ...], list[Subject]] | None:
    """The code and the subjects of this process; None if it is none of the suite's workers."""
    return None if _member is None else (code(), list(_member.subjects.values()))


def own_subject(name: str) -> Subject:
    """The subject that this worker has announced under a name."""
    assert _member is not None
    return _member.subjects[name]


def run_batch(batch: Batch) -> list[Record]:
    """What became of each cell of a batch, in order: the fields of `Result` but the cell."""
    assert _member is not None
    station, subject = _member.station(batch), _member.subject(batch)
    cells = [
        Cell(load_entry(path, id_, Path(batch.root)), subject, mode, seed) for path, id_, mode, seed in batch.cells
    ]
    return [_record(station.run(cell)) for cell in cells]


def _record(result: Result) -> Record:
    names = ("exactness", "ulp", "message", "seconds", "output", "details")
    return {"status": result.status.value, **{name: getattr(result, name) for name in names}}


async def serve(address: str, subjects: Sequence[Subject], jobs: int, tell: Callable[[str], None]) -> None:
    """Be a worker until the scheduler ends, or this process does.

    Args:
        address: of the scheduler: "tcp://10.0.0.1:8786".
        subjects: what is announced.
        jobs: how many batches are run at a time.
        tell: is called with a sentence when the worker is ready.
    """
    from distributed import Worker

    global _member  # noqa: PLW0603 - tasks find the process that they run in
    _member = member = _Member({subject.name: subject for subject in subjects})
    resources = {resource(subject.name): float(jobs) for subject in subjects}
    try:
        async with Worker(address, nthreads=jobs, resources=resources, dashboard=False) as worker:
            tell(f"{worker.address} serves {address}: {', '.join(member.subjects)}, {jobs} at a time")
            await worker.finished()
    finally:
        for station in member.stations:
            station.abort()
            station.close()
