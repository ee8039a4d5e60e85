"""What a profile tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .spans import KINDS, Kind

__all__ = ["Fallback", "Report", "Row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """What was spent on one kernel or gradient, in seconds.

    Attributes:
        name: of the kernel; "step.grad": its gradient; "(tape)": what tapes do between launches.
        calls: how many calls of it the program made.
        by_machine: how many of these machine code served, without Python.
        launches: how many launches Python made: for calls, by tapes, by graphs.
        python: in adstack's Python.
        machine: in calls that machine code served, with their launches as far as these are waited for.
        device: in launches that Python made, until the device had finished.
        compile: in compiling.
    """

    name: str
    calls: int = 0
    by_machine: int = 0
    launches: int = 0
    python: float = 0.0
    machine: float = 0.0
    device: float = 0.0
    compile: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.python + self.machine + self.device + self.compile


@dataclass(frozen=True)
class Fallback:
    """Calls that Python served, and not machine code."""

    name: str
    reason: str
    calls: int


@dataclass(frozen=True)
class Report:
    """Where the time went.

    Attributes:
        seconds: from entering the profile to leaving it.
        rows: by kernel and gradient, the costliest first.
        fallbacks: calls that Python served, by reason, the most frequent first.
        overhead: about how many of the seconds the profile itself took.
    """

    seconds: float
    rows: tuple[Row, ...]
    fallbacks: tuple[Fallback, ...]
    overhead: float

    @property
    def program(self) -> float:
        """Seconds outside of adstack: the program's own Python, numpy, and what of adstack is no call of a kernel."""
        return max(0.0, self.seconds - sum(row.seconds for row in self.rows))

    def total(self, kind: Kind) -> float:
        """Seconds of one kind, over all kernels; "program" is `program`."""
        return self.program if kind == "program" else sum(getattr(row, kind) for row in self.rows)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        totals = {kind: self.total(kind) for kind in ("program", *KINDS)}
        return {
            "seconds": self.seconds,
            "overhead": self.overhead,
            "totals": totals,
            "rows": [asdict(row) for row in self.rows],
            "fallbacks": [asdict(fallback) for fallback in self.fallbacks],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        shares = ", ".join(f"{kind} {1e3 * self.total(kind):.3f}" for kind in ("program", *KINDS))
        yield f"{1e3 * self.seconds:.3f} ms: {shares} (the profile itself: about {1e3 * self.overhead:.3f})"
        for row in self.rows:
            parts = ", ".join(f"{kind} {1e3 * getattr(row, kind):.3f}" for kind in KINDS)
            served = f"{row.calls} calls ({row.by_machine} by machine code), {row.launches} launches by Python"
            yield f"  {row.name}: {parts} ms; {served}"
        yield from (f"  {one.calls} calls of {one.name} by Python: {one.reason}" for one in self.fallbacks)


def rows_of(
    seconds: Mapping[tuple[str, Kind], float],
    calls: Counter[str],
    by_machine: Counter[str],
    launches: Mapping[tuple[str, Kind], int],
) -> tuple[Row, ...]:
    """A row for every kernel and gradient, the costliest first."""
    rows = []
    for name in dict.fromkeys((*(name for name, _ in seconds), *calls)):
        python, machine, device, compiling = (seconds.get((name, kind), 0.0) for kind in KINDS)
        by_python = launches.get((name, "device"), 0)
        rows.append(Row(name, calls[name], by_machine[name], by_python, python, machine, device, compiling))
    return tuple(sorted(rows, key=lambda row: -row.seconds))
