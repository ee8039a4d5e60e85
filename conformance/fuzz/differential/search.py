"""Draws programs for as long as there is time, and reduces those that fail."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from ..choices import Choices, Draw
from ..reduction import reduced
from .grammar import Program, program
from .trials import Failure, Laboratory

__all__ = ["Finding", "Outcome", "Search", "drawn"]

TOGETHER: Final = 8
"""Programs that are run at a time."""
HUNTED: Final = ("reverse",)
"""The modes in which programs are tried first; the reduced ones are tried in all."""


@dataclass(frozen=True)
class Finding:
    """A program that fails, made small.

    Attributes:
        number: of the program that it was reduced from.
        failure: the way in which both fail.
        message: what was said of the small one.
        program: the small one.
        size: how many lines the kernels of the large one have.
    """

    number: int
    failure: Failure
    message: str
    program: Program
    size: int

    def __str__(self) -> str:
        head = f"program {self.number}: {self.failure.status.value} in {self.failure.mode}"
        return "\n".join((head, self.program.text, self.message))

    def explains(self, one: Program, failure: Failure) -> bool:
        """Whether a program that fails has all that this one is made of, and fails in the same way."""
        return self.failure == failure and self.program.constructs <= one.constructs


@dataclass
class Outcome:
    """What came of a search.

    Attributes:
        findings: programs that fail, each in another way or made of other things.
        programs: how many were run.
        constructs: how many programs had each construct.
        failures: how many programs failed in each way.
        alike: how many programs failed as a finding does and have everything that it is made of, so that they were
            not reduced.
        seconds: the wall time.
    """

    findings: list[Finding] = field(default_factory=list)
    programs: int = 0
    constructs: Counter[str] = field(default_factory=Counter)
    failures: Counter[Failure] = field(default_factory=Counter)
    alike: int = 0
    seconds: float = 0.0

    def explains(self, one: Program, failure: Failure) -> bool:
        """Whether a finding explains why a program fails."""
        return any(finding.explains(one, failure) for finding in self.findings)

    def add(self, other: Outcome) -> list[Finding]:
        """Take in what came of other programs; the findings among them that are new."""
        new = []
        for finding in other.findings:
            if self.explains(finding.program, finding.failure):
                self.alike += 1
            else:
                self.findings.append(finding)
                new.append(finding)
        self.programs += other.programs
        self.alike += other.alike
        self.constructs.update(other.constructs)
        self.failures.update(other.failures)
        return new


def drawn(seed: int, number: int, without: Iterable[str] = ()) -> Program:
    """The program with this number."""
    return program(Choices(source=Random(f"{seed}/{number}")), without)


class Search:
    """Programs on one subject.

    Args:
        laboratory: where they run.
        seed: another seed gives other programs.
        without: features that no program has.
        tell: is called with a sentence when something has happened.
        patience: how many seconds one program is reduced at most.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        seed: int,
        without: Sequence[str] = (),
        tell: Callable[[str], None] = lambda text: None,
        patience: float = 120.0,
    ) -> None:
        self.outcome, self._patience = Outcome(), patience
        self._laboratory, self._seed, self._without, self._tell = laboratory, seed, tuple(without), tell

    def run(self, seconds: float, count: int | None = None, start_at: int = 0) -> Outcome:
        """Go on until time is over, so many programs have run, or somebody interrupts. A reduction may take longer.

        Args:
            seconds: after which no further program is begun.
            count: how many programs at most.
            start_at: the number of the first.
        """
        start = time.monotonic()
        with suppress(KeyboardInterrupt):
            while time.monotonic() - start < seconds and (count is None or self.outcome.programs < count):
                first = start_at + self.outcome.programs
                last = first + TOGETHER if count is None else min(first + TOGETHER, start_at + count)
                self._some(first, [drawn(self._seed, number, self._without) for number in range(first, last)])
        self.outcome.seconds = time.monotonic() - start
        return self.outcome

    def _some(self, first: int, programs: list[Program]) -> None:
        self.outcome.programs += len(programs)
        for one in programs:
            self.outcome.constructs.update(one.constructs)
        for number, verdict in enumerate(self._laboratory.examine(programs, HUNTED)):
            if verdict.failure is not None:
                self._failed(first + number, programs[number], verdict.failure)

    def _failed(self, number: int, large: Program, failure: Failure) -> None:
        """Reduce a program, unless it fails as one that there is already."""
        self.outcome.failures[failure] += 1
        if self.outcome.explains(large, failure):
            self.outcome.alike += 1
            return
        small = self._reduced(large, failure)
        (verdict,) = self._laboratory.examine([small])
        failure, message = verdict.failure or failure, verdict.message
        if self.outcome.explains(small, failure):
            self.outcome.alike += 1
            return
        finding = Finding(number, failure, message, small, len(large.text.splitlines()))
        self.outcome.findings.append(finding)
        self._tell(str(finding))

    def _reduced(self, large: Program, failure: Failure) -> Program:
        """The smallest program that could be reached and fails in the same way."""
        end, tried = time.monotonic() + self._patience, dict[str, bool]()

        def attempt(sequences: Sequence[tuple[int, ...]]) -> list[Draw | None]:
            programs = [program(Choices(values), self._without) for values in sequences]
            new = {one.text: one for one in programs if one.text not in tried}
            for one, verdict in zip(
                new.values(), self._laboratory.examine(list(new.values()), (failure.mode,)), strict=True
            ):
                tried[one.text] = verdict.failure == failure
            return [one.draw if tried[one.text] else None for one in programs]

        small = reduced(large.draw, attempt, lambda: time.monotonic() < end)
        return program(Choices(small.values), self._without)
