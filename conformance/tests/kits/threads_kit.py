"""Programs with several threads, for tests on any arch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import adstack as qd

__all__ = ["Launching", "all_at_once", "work_of"]


def all_at_once(*work: Callable[[], object]) -> list[BaseException]:
    """Run functions in threads that begin together; what they raised."""
    raised: list[BaseException] = []
    begin = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> None:
        begin.wait()
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - it is raised, or looked at, by who waits
            raised.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return raised


class Launching:
    """A thread that does something over and over until that raises."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.raised: BaseException | None = None
        self.work = work
        self._often = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while True:
                self.work()
                self._often.release()
        except BaseException as error:  # noqa: BLE001 - it is raised, or looked at, by who waits
            self.raised = error
            self._often.release()

    def wait(self, times: int) -> None:
        """Until it has been done so often."""
        for _ in range(times):
            assert self._often.acquire(timeout=60)

    def ended(self) -> BaseException | None:
        """What it raised."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.raised


def work_of(arch: Any, **options: Any) -> list[Callable[[], object]]:
    """Things that threads may do at the same time with data of a new runtime."""
    qd.init(arch=arch, **options)
    x, m = (qd.field(qd.f32, 64, needs_grad=True) for _ in range(2))
    loss = qd.field(qd.f32, (), needs_grad=True)
    array = qd.ndarray(qd.f32, (64,))

    @qd.kernel
    def scale(by: qd.f32):
        for i in m:
            for _ in range(20):
                m[i] = m[i] * by

    @qd.kernel
    def total(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
        s = 0.0
        for i in range(64):
            s += a[i]
        return s

    @qd.kernel
    def squares():
        for i in x:
            loss[None] += x[i] * x[i]

    def tape() -> None:
        with qd.ad.Tape(loss):
            squares()

    def host() -> None:
        x[3] = x[2] + 1.0
        m.to_numpy()
        array.fill(2.0)

    return [lambda: scale(0.5), lambda: total(array), tape, host]
