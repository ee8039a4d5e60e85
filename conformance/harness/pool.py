"""Runs cells in worker processes, several at a time. A crash or a hang costs one process and is a result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from .cells import Cell, Result
from .station import Settings, Shared, Station

__all__ = ["groups_of", "run_cells"]


def run_cells(
    cells: Sequence[Cell],
    settings: Settings,
    *,
    jobs: int = 1,
    on_result: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """The result of every cell, in the order of `cells`, whatever the order in which they ended.

    The modes of a case run one after the other in one process, which has what it compiled for one of them at hand for
    the next.

    Once the oracle has run a cell of its own, all subjects are given the bounds of that one.
    """
    results: dict[int, Result] = {}
    waiting = deque(groups_of(cells))
    shared = Shared()
    stations = [Station(settings, shared) for _ in range(max(jobs, 1))]

    def serve(station: Station) -> None:
        with station:
            while waiting:
                try:
                    group = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                for index, cell in group:
                    if station.aborted:
                        return
                    result = station.run(cell)
                    if _was_ended(station, result):
                        return
                    results[index] = result
                    on_result(result)

    _all_serve(serve, stations, waiting.clear)
    return [results[index] for index in range(len(cells))]


def _was_ended(station: Station, result: Result) -> bool:
    """Whether a cell failed as its process was ended with the run: it has not been run, then."""
    return station.aborted and result.status.is_failure


def groups_of(cells: Sequence[Cell]) -> list[list[tuple[int, Cell]]]:
    """The cells that go together, the modes of a case, each with its number."""
    return [list(group) for _, group in groupby(enumerate(cells), _subject_and_case)]


def _subject_and_case(numbered: tuple[int, Cell]) -> tuple[str, str]:
    _, cell = numbered
    return cell.subject.name, cell.entry.id


def _all_serve(serve: Callable[[Station], None], stations: Sequence[Station], stop: Callable[[], None]) -> None:
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
