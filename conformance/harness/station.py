"""One thread's worker process: it runs cells one after the other, and each of them has a result, whatever happens."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from .cells import Cell, Result, Status, Subject
from .execute import Request
from .judge import Budgets, judge
from .loading import CASES
from .nursery import Nursery
from .process import WorkerCrashError, WorkerProcess, WorkerTimeoutError
from .records import Record

__all__ = ["Settings", "Shared", "Station"]

_Case: TypeAlias = tuple[str, str]
"""A case's id and the mode."""


@dataclass(frozen=True)
class Settings:
    """How cells are run.

    Attributes:
        budgets: of operations.
        timeout: how long a cell may take, in seconds, whose case says nothing else.
        root: the folder of the cases.
        oracle: computes the error bounds of bounded cases for the subjects that have none.
        alike: whether every subject must have the bits of the oracle.
        explain: whether results are to have details.
        lasting: whether a worker process goes on after a cell that has failed with an answer. One cell may then be
            judged in what another has left behind; thousands of cells that fail don't take a process each.
    """

    budgets: Budgets
    timeout: float = 60.0
    root: Path = CASES
    oracle: Subject | None = None
    alike: bool = False
    explain: bool = False
    lasting: bool = False


@dataclass
class Shared:
    """What the stations of a run have in common.

    Attributes:
        answers: what the oracle observed.
        explained: those whose programs a result has already: they are the same on all backends.
    """

    answers: dict[_Case, Record] = field(default_factory=dict)
    explained: set[_Case] = field(default_factory=set)


class Station:
    """A worker process that is kept while cells pass on it, and replaced after any that fails.

    It is kept too where the subject has refused in its own words what its target has no way to do.
    """

    def __init__(self, settings: Settings, shared: Shared) -> None:
        self.settings, self.shared = settings, shared
        self.worker: WorkerProcess | None = None
        self.helper: WorkerProcess | None = None
        self._served: Subject | None = None
        self._nurseries: dict[int, Nursery] = {}
        self.aborted = False

    def __enter__(self) -> Station:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the processes go."""
        self._dismiss()
        if self.helper is not None:
            self.helper.close()
            self.helper = None
        while self._nurseries:
            self._nurseries.popitem()[1].close()

    def run(self, cell: Cell) -> Result:
        """The result of a cell."""
        if not cell.subject.is_available:
            return Result(cell, Status.UNAVAILABLE, message=f"{cell.subject.reason}; {cell.subject.fix}")
        start = time.perf_counter()
        try:
            result = self._observed(cell)
        except WorkerCrashError as crash:
            result = self._lost(cell, Status.CRASHED, str(crash), start)
        except WorkerTimeoutError as hang:
            result = self._lost(cell, Status.TIMED_OUT, str(hang), start)
        if result.status.is_failure and result.refusal is None:
            output = self.worker.output() if self.worker is not None else ""
            result = replace(result, output=output)
            if not self.settings.lasting or result.status in (Status.CRASHED, Status.TIMED_OUT):
                self._dismiss()
            if self.settings.explain:
                result = replace(result, details={**result.details, **self._departures(cell)})
        return result

    def _observed(self, cell: Cell) -> Result:
        oracle, alike = self.settings.oracle, self.settings.alike
        worker = self._worker(cell.subject)
        request, limit = self._request(cell), self._limit(cell)
        if cell.entry.case.bounded and oracle is not None:
            answer = self._bounds(oracle, cell, request, limit)
            if answer is not None and answer["outcome"] != "finished":
                return Result(cell, Status.BROKEN, message=f"no error bounds: {oracle.name}: {answer['message']}")
            if answer is not None:
                request = replace(request, bounds=answer["bounds"], oracle=answer["oracle"])
        observation, twin = worker.ask(replace(request, ask=self._asked(cell)), limit), None
        if alike and oracle is not None and observation["outcome"] == "finished":
            twin = self._by_oracle(oracle, cell, request, limit)
            if twin["outcome"] != "finished":
                return Result(cell, Status.BROKEN, message=f"no bits: {oracle.name}: {twin['message']}")
        if cell.subject == oracle:
            self._keep(cell, observation)
        result = judge(cell, observation, self.settings.budgets, twin)
        return replace(result, details=_details(observation)) if self.settings.explain else result

    def _request(self, cell: Cell) -> Request:
        return Request(str(self.settings.root), cell.entry.path, cell.entry.id, cell.mode, cell.seed)

    def _limit(self, cell: Cell) -> float:
        return cell.entry.case.timeout or self.settings.timeout

    def _asked(self, cell: Cell) -> str:
        """What is asked for beside the result: the programs of a case and mode are wanted once."""
        name = cell.entry.id, cell.mode
        if not self.settings.explain or cell.subject.module != "adstack" or name in self.shared.explained:
            return ""
        self.shared.explained.add(name)
        return "programs"

    def _departures(self, cell: Cell) -> Record:
        """Where a backend of adstack departs from the reference in a cell that failed: its first values."""
        if cell.subject.module != "adstack" or cell.subject.arch == "reference" or self.aborted:
            return {}
        try:
            answer = self._worker(cell.subject).ask(replace(self._request(cell), ask="departures"), self._limit(cell))
        except (WorkerCrashError, WorkerTimeoutError):
            return {}
        finally:
            self._dismiss()
        return answer

    def _bounds(self, oracle: Subject, cell: Cell, request: Request, limit: float) -> Record | None:
        """What says how far the subject may be from what is exact; None where it computes that itself."""
        if cell.subject.module != oracle.module:
            return self._by_oracle(oracle, cell, request, limit)
        return self.shared.answers.get((cell.entry.id, cell.mode))

    def _by_oracle(self, oracle: Subject, cell: Cell, request: Request, limit: float) -> Record:
        """The same cell as `oracle` ran or runs it: its error bounds are used, or its bits."""
        earlier = self.shared.answers.get((cell.entry.id, cell.mode))
        if earlier is not None:
            return earlier
        if self.helper is None:
            self.helper = self._new(oracle)
        try:
            answer = self.helper.ask(request, limit)
        except (WorkerCrashError, WorkerTimeoutError) as lost:
            self.helper.close()
            self.helper = None
            return {"outcome": "lost", "message": str(lost)}
        self._keep(cell, answer)
        return answer

    def _keep(self, cell: Cell, observation: Record) -> None:
        """What the oracle observed of a cell answers for the other subjects."""
        if observation["outcome"] == "finished" and (cell.entry.case.bounded or self.settings.alike):
            parts = ("outcome", "bounds", "oracle", "digests")
            self.shared.answers[cell.entry.id, cell.mode] = {part: observation[part] for part in parts}

    def _lost(self, cell: Cell, status: Status, message: str, start: float) -> Result:
        return Result(cell, status, message=message, seconds=time.perf_counter() - start)

    def _worker(self, subject: Subject) -> WorkerProcess:
        if self._served is not subject:
            self._dismiss()
            self._served = subject
        if self.worker is None:
            self.worker = self._new(subject)
        return self.worker

    def _new(self, subject: Subject) -> WorkerProcess:
        """A new process. One that was starting while the run was ended has been overlooked: it is ended here."""
        worker = self._nurseries.setdefault(id(subject), Nursery(subject)).worker()
        if self.aborted:
            worker.end()
        return worker

    def abort(self) -> None:
        """End the process under way, from another thread."""
        self.aborted = True
        for worker in (self.worker, self.helper):
            if worker is not None:
                worker.end()

    def _dismiss(self) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _details(observation: Record) -> Record:
    """What an observation tells of how its result came about."""
    parts = ("what", "dtype", "ulp", "worst", "values")
    details = [{part: measure.get(part, "") for part in parts} for measure in observation.get("measures", ())]
    for one in details:
        one["ulp"] = one["ulp"] if one["ulp"] != float("inf") else None
    programs = observation.get("programs")
    return {"values": details, **({"programs": programs} if programs else {})}
