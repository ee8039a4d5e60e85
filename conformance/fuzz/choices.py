"""Random numbers as a sequence of choices: what was drawn can be drawn again, and drawn smaller.

`Choices` is a `random.Random`, so that whatever draws from one can draw from the other. Each choice is a number of a
few bits, of which 0 leads to the simplest thing there is; the sequence of them stands for what was generated, and
`reduction.py` makes it shorter and its numbers smaller. The method is that of Hypothesis: MacIver and Donaldson,
"Test-Case Reduction via Test-Case Generation: Insights from the Hypothesis Reducer", ECOOP 2020.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

__all__ = ["Choices", "Draw", "Span"]

FRACTION_BITS: Final = 16
"""Bits of a random float: enough for any decision, and few to reduce."""


@dataclass(frozen=True)
class Span:
    """Choices `start` up to `end`, which together make one thing; what has the same label may stand in its place."""

    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Draw:
    """What was drawn: the choices, and which of them belong together."""

    values: tuple[int, ...]
    spans: tuple[Span, ...] = ()


class Choices(random.Random):
    """Draws what is prescribed, and behind its end from `source`, or zeros if there is none.

    A choice that is prescribed too large for its place is the largest that fits.
    """

    def __new__(cls, *_: object, **__: object) -> Choices:
        """The state of its own that a `Random` has is not used: no argument is a seed."""
        return super().__new__(cls)

    def __init__(self, prescribed: Sequence[int] = (), source: random.Random | None = None) -> None:
        super().__init__()
        self._prescribed, self._source = prescribed, source
        self._values: list[int] = []
        self._spans: list[Span] = []

    def getrandbits(self, k: int, /) -> int:
        """The next choice, of k bits."""
        at = len(self._values)
        if at < len(self._prescribed):
            value = min(self._prescribed[at], (1 << k) - 1)
        else:
            value = self._source.getrandbits(k) if self._source is not None else 0
        self._values.append(value)
        return value

    def random(self) -> float:
        """A float from 0 up to 1."""
        return self.getrandbits(FRACTION_BITS) / (1 << FRACTION_BITS)

    def below(self, count: int) -> int:
        """A number from 0 up to `count`, by one choice whatever is prescribed, and by none if there is one alone."""
        if count == 1:
            return 0
        bits = (count - 1).bit_length()
        value = self.getrandbits(bits)
        while value >= count and len(self._values) > len(self._prescribed):
            del self._values[-1]
            value = self.getrandbits(bits)
        self._values[-1] = min(value, count - 1)
        return self._values[-1]

    @contextmanager
    def span(self, label: str) -> Iterator[None]:
        """A context: the choices that are drawn inside belong together, as one span."""
        start = len(self._values)
        yield
        if len(self._values) > start:
            self._spans.append(Span(label, start, len(self._values)))

    def drawn(self) -> Draw:
        """What was drawn up to now."""
        return Draw(tuple(self._values), tuple(self._spans))
