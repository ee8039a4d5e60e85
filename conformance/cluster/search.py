"""Random kernels on several machines: each worker draws programs of its own numbers, and reduces those that fail."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adstack import inspection

from ..fuzz.differential.search import Outcome, Search
from ..fuzz.differential.trials import Laboratory
from ..harness.cells import Subject
from ..harness.station import Settings
from ..subjects.backends import backend_subject
from .member import own_subject, resource

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Share", "run_share", "search_on"]

SIZE: Final = 16
"""Programs of a share: what is run again when a worker is lost."""
AT_ONCE: Final = 2
"""Shares that are handed out for each thread of a worker, so that it need not wait for the next one."""


@dataclass(frozen=True)
class Share:
    """Programs that one worker draws and runs.

    Attributes:
        subject: its name.
        modes: what is asked of each.
        seed, without: as of `Search`.
        dtype: the type of all floats.
        timeout: how long a batch of programs may take, in seconds.
        patience: how long one program is reduced at most, in seconds.
        first, count: the numbers of the programs.
        seconds: after which no further program is begun.
    """

    subject: str
    modes: tuple[str, ...]
    seed: int
    without: tuple[str, ...]
    dtype: str
    timeout: float
    patience: float
    first: int = 0
    count: int | None = None
    seconds: float = 0.0


def run_share(share: Share, subject: Subject | None = None, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """What came of a share, in this process.

    Args:
        share: what to run.
        subject: where; on a worker, what it has announced under the name.
        tell: is called with a sentence when something has happened.
    """
    chosen = replace(subject or own_subject(share.subject), gaps=())  # they are about the suite's cases
    with tempfile.TemporaryDirectory(prefix="adstack-fuzz-") as folder:
        oracle = backend_subject("reference")
        settings = Settings(inspection.budget, share.timeout, Path(folder), oracle, lasting=True)
        with Laboratory(chosen, settings, share.modes, share.dtype) as laboratory:
            search = Search(laboratory, share.seed, share.without, tell, share.patience)
            return search.run(share.seconds, share.count, share.first)


def search_on(client: Client, share: Share, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """What came of a search on all workers that have its subject, each finding once.

    A share of a lost worker is run again by another one; one that has lost several is given up, and said.

    Args:
        client: of the scheduler.
        share: all of the search.
        tell: is called with a sentence when something has happened.
    """
    from distributed import KilledWorker, as_completed

    hunt = _Hunt(client, share)
    threads = sum(client.nthreads().values())  # type: ignore[no-untyped-call]
    first = [future for future in (hunt.another() for _ in range(AT_ONCE * threads)) if future is not None]
    ended = as_completed(first)  # type: ignore[no-untyped-call]
    outcome = Outcome()
    for future in ended:
        try:
            for finding in outcome.add(future.result()):
                tell(str(finding))
        except KilledWorker as lost:
            tell(f"a share is given up: workers were lost that ran it: {lost}")
        following = hunt.another()
        if following is not None:
            ended.add(following)  # type: ignore[no-untyped-call]
    outcome.seconds = time.monotonic() - hunt.start
    return outcome


class _Hunt:
    """Hands out shares until the time is over, or all programs are."""

    def __init__(self, client: Client, share: Share) -> None:
        self.client, self.share, self.start = client, share, time.monotonic()
        self._next, self._run = share.first, uuid.uuid4().hex

    def another(self) -> Future[Outcome] | None:
        share = self.share
        left = share.seconds - (time.monotonic() - self.start)
        count = SIZE if share.count is None else min(SIZE, share.first + share.count - self._next)
        if left <= 0 or count <= 0:
            return None
        part = replace(share, first=self._next, count=count, seconds=left)
        self._next += count
        wanted, key = {resource(share.subject): 1}, f"adstack-fuzz-{self._run}-{part.first}"
        return self.client.submit(run_share, part, key=key, resources=wanted, pure=False)
