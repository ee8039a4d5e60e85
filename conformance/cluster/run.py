"""A run on several machines: batches of cells are handed to workers, and a lost worker's batches to other ones."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from ..harness.cells import Cell, Result, Status, Subject
from ..harness.pool import groups_of
from ..harness.records import Record
from ..harness.station import Settings
from .member import Batch, announcement, code, resource, run_batch

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["OtherCodeError", "announced", "run_on"]

PATIENCE: Final = 20.0
"""Seconds without any result after which it is looked whether there is a worker for what is left."""
SIZE: Final = 8
"""Cases of a batch: what is run again when a worker is lost. They are of one file, which is read once."""
_Numbered: TypeAlias = list[tuple[int, Cell]]


class OtherCodeError(Exception):
    """A worker has other sources than this process: its results would be of something else."""


def announced(client: Client) -> list[Subject]:
    """The subjects that workers have, by name; what several have is told with all their devices.

    Raises:
        OtherCodeError: a worker has other sources.
    """
    subjects: dict[str, Subject] = {}
    for worker, of_worker in client.run(announcement).items():
        if of_worker is None:
            continue
        sources, some = of_worker
        if sources != code():
            raise OtherCodeError(f"the worker {worker} has other sources of adstack: install the same version there")
        for subject in some:
            merged = subjects.setdefault(subject.name, subject)
            devices = dict.fromkeys([*merged.device.split(" | "), subject.device])
            subjects[subject.name] = replace(merged, device=" | ".join(devices))
    return list(subjects.values())


def run_on(
    client: Client,
    cells: Sequence[Cell],
    settings: Settings,
    on_result: Callable[[Result], None] = lambda result: None,
    on_waiting: Callable[[list[str]], None] = lambda subjects: None,
) -> list[Result]:
    """The result of every cell, in the order of `cells`.

    Each cell is run where its subject has been announced. If a worker is lost, what it has not finished is run again by
    another one; a batch that has lost several workers is given up, and its cells have crashed.

    Args:
        client: of the scheduler.
        cells: of the run.
        settings: as for `run_cells`; the oracle and the budgets are those of each worker.
        on_result: is called with each result once, as they come.
        on_waiting: is called with the names of subjects that cells are left of, and that no worker has any more: the
            run goes on once such a worker comes.
    """
    results: dict[int, Result] = {}

    def keep(index: int, result: Result) -> None:
        results[index] = result
        on_result(result)

    for index, cell in enumerate(cells):
        if not cell.subject.is_available:
            message = f"{cell.subject.reason}; {cell.subject.fix}"
            keep(index, Result(cell, Status.UNAVAILABLE, message=message))
    futures = _submitted(client, cells, settings)
    try:
        for future in _completed(client, futures, on_waiting):
            for (index, cell), fields in zip(futures[future], _told(future, futures[future]), strict=True):
                keep(index, Result(cell, Status(fields.pop("status")), **fields))
    finally:
        client.cancel(list(futures))  # type: ignore[no-untyped-call]
    return [results[index] for index in range(len(cells))]


def _completed(
    client: Client, futures: dict[Future[list[Record]], _Numbered], on_waiting: Callable[[list[str]], None]
) -> Iterator[Future[list[Record]]]:
    """The tasks as they end."""
    from distributed import wait

    pending = set(futures)
    while pending:
        try:
            done = wait(pending, timeout=PATIENCE, return_when="FIRST_COMPLETED").done  # type: ignore[no-untyped-call]
        except (TimeoutError, asyncio.TimeoutError):  # they are one since Python 3.11
            wanted = {futures[future][0][1].subject.name for future in pending}
            missing = sorted(wanted - {subject.name for subject in announced(client)})
            if missing:
                on_waiting(missing)
            continue
        pending -= done
        yield from done


def _submitted(client: Client, cells: Sequence[Cell], settings: Settings) -> dict[Future[list[Record]], _Numbered]:
    """The tasks of a run, and their cells."""
    run, futures = uuid.uuid4().hex, dict["Future[list[Record]]", _Numbered]()
    for number, some in enumerate(_batches(cells)):
        _, first = some[0]
        key, wanted = f"adstack-{run}-{number}", {resource(first.subject.name): 1}
        batch = _batch([cell for _, cell in some], settings)
        futures[client.submit(run_batch, batch, key=key, resources=wanted, priority=-number, pure=False)] = some
    return futures


def _batches(cells: Sequence[Cell]) -> Iterator[_Numbered]:
    """The cells of available subjects: a few cases of one subject and one file at a time."""
    groups = [group for group in groups_of(cells) if group[0][1].subject.is_available]
    for _, alike in groupby(groups, lambda group: (group[0][1].subject.name, group[0][1].entry.path)):
        some = list(alike)
        for start in range(0, len(some), SIZE):
            yield [numbered for group in some[start : start + SIZE] for numbered in group]


def _batch(cells: Sequence[Cell], settings: Settings) -> Batch:
    subject = cells[0].subject
    names = tuple((cell.entry.path, cell.entry.id, cell.mode, cell.seed) for cell in cells)
    batch = Batch(subject.name, subject.options, names, str(settings.root), settings.timeout)
    return replace(batch, alike=settings.alike, explain=settings.explain)


def _told(future: Future[list[Record]], cells: _Numbered) -> list[Record]:
    """What a task gave; where it took several workers with it, that its cells have crashed."""
    from distributed import KilledWorker

    try:
        records: list[Record] = future.result()
    except KilledWorker as lost:
        return [{"status": Status.CRASHED.value, "message": f"workers were lost that ran it: {lost}"} for _ in cells]
    return records
