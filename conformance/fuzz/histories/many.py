"""Many histories, played in chunks, by several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from typing import Final

from adstack.errors import AdstackError

from .play import FRESH, Player, play, player
from .world import DifferenceError, World

__all__ = ["Played", "chunks", "play_many"]

CHUNK: Final = 10 * FRESH
"""Histories of a chunk. The first one makes its fields and kernels anew, so that chunks do not depend on each other."""
_TOLD: Final = 12


@dataclass
class Played:
    """What came of some histories.

    Attributes:
        first, end: the seeds, `end` left out.
        counts: see `World.counts`.
        differing: the seeds of those that differ.
        told: of each of these, what differs, and what was done before.
    """

    first: int
    end: int
    counts: Counter[str] = field(default_factory=Counter)
    differing: list[int] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def chunks(first: int, end: int) -> list[tuple[int, int]]:
    """Seeds cut into chunks: (first, end) of each, `end` left out."""
    cuts = [first, *(seed for seed in range(first + 1, end) if seed % CHUNK == 0), end]
    return [(one, other) for one, other in pairwise(cuts) if one < other]


def play_many(arch: str, several: Sequence[tuple[int, int]], jobs: int = 1) -> Iterator[Played]:
    """Play chunks, given as `chunks` does, in so many processes; each as it ends."""
    if jobs == 1:
        for first, end in several:
            yield _play_chunk(arch, first, end)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(_play_chunk, arch, first, end) for first, end in several]
        for one in as_completed(pending):
            yield one.result()


def _play_chunk(arch: str, first: int, end: int) -> Played:
    played, one = Played(first, end), None
    World.counts.clear()
    for seed in range(first, end):
        if one is None or seed % FRESH == 0:
            one = player(arch, seed)
        try:
            play(one, seed)
        except (DifferenceError, AdstackError) as error:
            played.differing.append(seed)
            played.told.append(_told(one, seed, error))
            one = None
    played.counts.update(World.counts)
    return played


def _told(one: Player, seed: int, error: Exception) -> str:
    return f"history {seed}: {type(error).__name__}: {error}\n" + "\n".join(one.world.told[-_TOLD:])
