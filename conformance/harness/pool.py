"""Runs cells in worker processes, several at a time. A crash or a hang costs one process and is a result."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from .cells import Cell, Result, Status, Subject
from .execute import Request
from .judge import Budgets, judge
from .loading import CASES
from .process import WorkerCrashError, WorkerProcess, WorkerTimeoutError
from .records import Record

__all__ = ["run_cells"]


def run_cells(
    cells: Sequence[Cell],
    *,
    budgets: Budgets,
    jobs: int = 1,
    timeout: float = 60.0,
    root: Path = CASES,
    on_result: Callable[[Result], None] = lambda result: None,
    oracle: Subject | None = None,
    alike: bool = False,
) -> list[Result]:
    """The result of every cell, in the order of `cells`, whatever the order in which they ended.

    The subject `oracle` computes the error bounds of bounded cases for the subjects that have none. With `alike` every
    subject must have the bits of the oracle.
    """
    results: dict[int, Result] = {}
    waiting = deque(enumerate(cells))
    stations = [_Station(budgets, timeout, root, oracle, alike=alike) for _ in range(max(jobs, 1))]

    def serve(station: _Station) -> None:
        with station:
            while waiting:
                try:
                    index, cell = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                results[index] = station.run(cell)
                on_result(results[index])

    _all_serve(serve, stations, waiting.clear)
    return [results[index] for index in range(len(cells))]


def _all_serve(serve: Callable[[_Station], None], stations: Sequence[_Station], stop: Callable[[], None]) -> None:
    """Run a function for each station, in a thread of its own."""
    with ThreadPoolExecutor(len(stations)) as pool:
        served = [pool.submit(serve, station) for station in stations]
        try:
            for future in served:
                future.result()
        except BaseException:
            # Interrupted, or a defect: no cell is started any more, and those under way end with their processes.
            stop()
            for station in stations:
                station.abort()
            raise


class _Station:
    """One thread's worker process: kept while cells pass on it, replaced after any that doesn't."""

    def __init__(
        self, budgets: Budgets, timeout: float, root: Path, oracle: Subject | None, *, alike: bool = False
    ) -> None:
        self.budgets, self.timeout, self.root, self.oracle, self.alike = budgets, timeout, root, oracle, alike
        self.worker: WorkerProcess | None = None
        self.helper: WorkerProcess | None = None
        self.aborted = False

    def __enter__(self) -> _Station:
        return self

    def __exit__(self, *exc: object) -> None:
        self._dismiss()
        if self.helper is not None:
            self.helper.close()

    def run(self, cell: Cell) -> Result:
        if not cell.subject.is_available:
            return Result(cell, Status.UNAVAILABLE, message=f"{cell.subject.reason}; {cell.subject.fix}")
        start = time.perf_counter()
        try:
            result = self._observed(cell)
        except WorkerCrashError as crash:
            result = self._lost(cell, Status.CRASHED, str(crash), start)
        except WorkerTimeoutError as hang:
            result = self._lost(cell, Status.TIMED_OUT, str(hang), start)
        if result.status.is_failure:
            output = self.worker.output() if self.worker is not None else ""
            result = replace(result, output=output)
            self._dismiss()
        return result

    def _observed(self, cell: Cell) -> Result:
        worker = self._worker(cell.subject)
        if not worker.greeting["ready"]:
            return Result(cell, Status.CRASHED, message=f"the subject can't be imported: {worker.greeting['message']}")
        request = Request(str(self.root), cell.entry.path, cell.entry.id, cell.mode, cell.seed)
        limit = cell.entry.case.timeout or self.timeout
        if cell.entry.case.bounded and self.oracle is not None and cell.subject.module != self.oracle.module:
            answer = self._by_oracle(self.oracle, request, limit)
            if answer["outcome"] != "finished":
                return Result(cell, Status.BROKEN, message=f"no error bounds: {self.oracle.name}: {answer['message']}")
            request = replace(request, bounds=answer["bounds"], oracle=answer["oracle"])
        observation, twin = worker.ask(request, limit), None
        if self.alike and self.oracle is not None and observation["outcome"] == "finished":
            twin = self._by_oracle(self.oracle, request, limit)
            if twin["outcome"] != "finished":
                return Result(cell, Status.BROKEN, message=f"no bits: {self.oracle.name}: {twin['message']}")
        return judge(cell, observation, self.budgets, twin)

    def _by_oracle(self, oracle: Subject, request: Request, limit: float) -> Record:
        """The same cell as `oracle` runs it: its error bounds are used, or its bits."""
        if self.helper is None:
            self.helper = WorkerProcess(oracle)
            self._end_if_aborted(self.helper)
        try:
            return self.helper.ask(request, limit)
        except (WorkerCrashError, WorkerTimeoutError) as lost:
            self.helper.close()
            self.helper = None
            return {"outcome": "lost", "message": str(lost)}

    def _lost(self, cell: Cell, status: Status, message: str, start: float) -> Result:
        return Result(cell, status, message=message, seconds=time.perf_counter() - start)

    def _worker(self, subject: Subject) -> WorkerProcess:
        if self.worker is not None and self.worker.subject is not subject:
            self._dismiss()
        if self.worker is None:
            self.worker = WorkerProcess(subject)
            self._end_if_aborted(self.worker)
        return self.worker

    def _end_if_aborted(self, worker: WorkerProcess) -> None:
        """A process that was starting while the run was ended has been overlooked: it is ended here."""
        if self.aborted:
            worker.end()

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
