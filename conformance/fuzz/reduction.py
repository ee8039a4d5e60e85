"""Makes a sequence of choices shorter and smaller, as long as what it stands for fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from .choices import Draw

__all__ = ["Attempt", "reduced"]

Attempt: TypeAlias = Callable[[Sequence[tuple[int, ...]]], "Sequence[Draw | None]"]
"""Generates from several sequences of choices: of each, what was drawn if that fails in the same way, or None."""
TOGETHER: Final = 8
"""Sequences that are tried at a time."""
FIRST: Final = 16
"""How many choices are taken for those that decide most."""
CHUNKS: Final = (8, 4, 3, 2, 1)
"""How many choices are deleted at a time, where no span is."""


def reduced(draw: Draw, attempt: Attempt, more: Callable[[], bool] = lambda: True) -> Draw:
    """The smallest draw that could be reached: shorter ones are smaller, then those with smaller choices before.

    Args:
        draw: what fails.
        attempt: tries other choices.
        more: whether there is time for another attempt.
    """
    passes = (_without_features, _without_spans, _hoisted, _without_chunks, _with_zeros, _lowered)
    best, before = draw, None
    while best != before:
        before = best
        for candidates in passes:
            best = _descended(best, candidates, attempt, more)
    return best


def _descended(
    best: Draw,
    candidates: Callable[[Draw], Iterator[tuple[int, ...]]],
    attempt: Attempt,
    more: Callable[[], bool],
) -> Draw:
    """Go through candidates once; one that is smaller and still fails becomes what the next ones start from."""
    at = 0
    while True:
        left = (values for values in islice(candidates(best), at, None))
        numbered = [(at, values) for at, values in enumerate(left, at) if _key(values) < _key(best.values)]
        for start in range(0, len(numbered), TOGETHER):
            some = numbered[start : start + TOGETHER]
            draws = attempt([values for _, values in some]) if more() else ()
            smaller = [(_key(d.values), n, d) for (n, _), d in zip(some, draws, strict=False) if d is not None]
            if smaller and min(smaller)[0] < _key(best.values):
                _, at, best = min(smaller)
                break
        else:
            return best


def _key(values: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(values), values


def _without_features(draw: Draw) -> Iterator[tuple[int, ...]]:
    """One of the first choices is 0: they decide what there is at all."""
    for at, value in enumerate(draw.values[:FIRST]):
        if value:
            yield (*draw.values[:at], 0, *draw.values[at + 1 :])


def _hoisted(draw: Draw) -> Iterator[tuple[int, ...]]:
    """A span's place taken by one of the same kind inside: a loop by its body, a sum by one of its terms."""
    for outer in sorted(draw.spans, key=lambda span: span.start - span.end):
        for inner in draw.spans:
            inside = outer.start <= inner.start and inner.end <= outer.end
            if inside and inner != outer and inner.label == outer.label:
                kept = draw.values[inner.start : inner.end]
                yield draw.values[: outer.start] + kept + draw.values[outer.end :]


def _without_spans(draw: Draw) -> Iterator[tuple[int, ...]]:
    for span in sorted(draw.spans, key=lambda span: span.start - span.end):
        yield draw.values[: span.start] + draw.values[span.end :]


def _without_chunks(draw: Draw) -> Iterator[tuple[int, ...]]:
    for size in CHUNKS:
        for start in reversed(range(len(draw.values) - size + 1)):
            yield draw.values[:start] + draw.values[start + size :]


def _with_zeros(draw: Draw) -> Iterator[tuple[int, ...]]:
    for span in sorted(draw.spans, key=lambda span: span.start - span.end):
        zeros = (0,) * (span.end - span.start)
        yield draw.values[: span.start] + zeros + draw.values[span.end :]


def _lowered(draw: Draw) -> Iterator[tuple[int, ...]]:
    for at, value in enumerate(draw.values):
        for lower in dict.fromkeys((0, 1, value // 2, value - 1)):
            if 0 <= lower < value:
                yield (*draw.values[:at], lower, *draw.values[at + 1 :])
