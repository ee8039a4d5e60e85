"""Who runs when: in each round every subject takes one sample of a row, so that what disturbs one disturbs all."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from .rows import Row
from .subjects import Subject
from .workers import Worker, WorkerError

__all__ = ["Samples", "measure"]

Progress = Callable[[Row], None]


@dataclass
class Samples:
    """What one subject needed for one row.

    Attributes:
        wall: seconds per call, one sample a round.
        cpu: the same of processor time.
        outcome: what the work computed, where a row tells: of a program the loss, and the size of each gradient.
        problem: why there are none.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    outcome: dict[str, float] = field(default_factory=dict)
    problem: str = ""


def measure(
    rows: Sequence[Row], subjects: Sequence[Subject], rounds: int, progress: Progress | None = None, processes: int = 1
) -> dict[tuple[str, Subject], Samples]:
    """Samples by row and subject; a subject that fails in a row has a problem there instead.

    Args:
        rows: what is measured.
        subjects: on what.
        rounds: samples of each.
        progress: is called after each round.
        processes: steady rows are measured in so many, one after the other, among which rounds are divided: where a
            process has its memory may make it slower, or quicker, for as long as it lives.
    """
    results = {(row.name, subject): Samples(problem=subject.reason) for row in rows for subject in subjects}
    for row in rows:
        samples = {subject: results[row.name, subject] for subject in subjects if subject.is_available}
        told = progress or (lambda row: None)
        if row.kind != "steady":
            _cold(row, samples, rounds, told)
            continue
        for number in range(processes):
            share = rounds * (number + 1) // processes - rounds * number // processes
            _steady(row, dict(_turned(samples, number)), share, told)
    return results


def _turned(samples: dict[Subject, Samples], by: int) -> Iterator[tuple[Subject, Samples]]:
    """The subjects in another order: each is the first one in its turn."""
    items = deque(samples.items())
    items.rotate(-by)
    return iter(items)


def _steady(row: Row, samples: dict[Subject, Samples], rounds: int, progress: Progress) -> None:
    """One worker a subject for all of these rounds."""
    with ExitStack() as stack:
        workers = {subject: stack.enter_context(Worker(subject.command)) for subject in samples}
        for _ in range(rounds):
            for subject, worker in workers.items():
                _sample(row, samples[subject], worker, "")
            progress(row)


def _cold(row: Row, samples: dict[Subject, Samples], rounds: int, progress: Progress) -> None:
    """A worker for every sample; where the disk may help, an untimed one goes before the first round."""
    caches = {subject: tempfile.mkdtemp(prefix="bench") if row.kind == "cached" else "" for subject in samples}
    try:
        if row.kind == "cached":
            _once(row, {subject: Samples() for subject in samples}, caches)
        for _ in range(rounds):
            _once(row, samples, caches)
            progress(row)
    finally:
        for folder in filter(None, caches.values()):
            shutil.rmtree(folder, ignore_errors=True)


def _once(row: Row, samples: dict[Subject, Samples], caches: dict[Subject, str]) -> None:
    for subject, into in samples.items():
        with Worker(subject.command) as worker:
            _sample(row, into, worker, caches[subject])


def _sample(row: Row, into: Samples, worker: Worker, cache: str) -> None:
    if into.problem:
        return
    kind = "steady" if row.kind == "steady" else "cold"
    of_user = {"target": row.target, "arguments": row.arguments} if row.target else {}
    request = {"row": row.name, "kind": kind, "calls": row.calls, "cache": cache, "size": row.size, **of_user}
    try:
        answer = worker.ask(request)
    except WorkerError as error:
        into.problem = str(error)
        return
    into.wall.append(float(answer["wall"]))
    into.cpu.append(float(answer["cpu"]))
    into.outcome = answer.get("outcome", {})
