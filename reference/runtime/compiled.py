"""A program that a backend has compiled, and what it reads and writes. `compiler.py` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..analysis.may_access import Accesses, may_access
from ..errors import SourceSpan
from ..ir.structure import Program
from .protocol.backend import Backend, Bindings, Executable, Scalars

if TYPE_CHECKING:
    from ..sizing.size import Sized
    from .races import RaceCheck

__all__ = ["MOST_REACHES", "Compiled"]

MOST_REACHES: Final = 4096
"""For how many different arguments the elements that a launch touches are remembered."""


@dataclass(frozen=True)
class Compiled:
    """A program that a backend has compiled.

    Attributes:
        program: its tasks.
        executable: what the backend made of it.
        written: names of the places it writes.
        read: names of the places it reads.
        sized: how deep its adstacks must be, and what that depends on.
        races: how it is launched in debug mode; None if that makes no difference.
    """

    program: Program
    executable: Executable
    written: frozenset[str] = field(default=frozenset())
    read: frozenset[str] = field(default=frozenset())
    sized: Sized | None = None
    races: RaceCheck | None = None
    _reaches: dict[object, Accesses] = field(default_factory=dict, repr=False, compare=False)

    def launch(self, backend: Backend, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Run it; the returned scalars."""
        if self.races is not None:
            return self.races.launch(scalars, bindings)
        return backend.launch(self.executable, scalars, bindings)

    def reach(self, scalars: Scalars, shapes: Mapping[str, tuple[int, ...]]) -> Accesses:
        """Which elements a launch with these scalars, and array arguments of these shapes, may touch."""
        key: object = None
        if scalars or shapes:
            numbers = scalars if not self._takes_floats else [s if isinstance(s, int) else None for s in scalars]
            key = tuple(numbers), tuple(shapes.items())
        accesses = self._reaches.get(key)
        if accesses is None:
            if len(self._reaches) == MOST_REACHES:
                self._reaches.clear()
            accesses = self._reaches[key] = may_access(self.program, scalars, shapes)
        return accesses

    @cached_property
    def _takes_floats(self) -> bool:
        return any(dtype.is_float for dtype in self.program.params)

    @cached_property
    def writers(self) -> Mapping[str, str]:
        """Who writes each place that it writes, in words: the program, and the lines that do."""
        lines: dict[str, dict[SourceSpan, None]] = {name: {} for name in self.written}
        for task in self.program.tasks:
            for op in task.body.walk():
                if op.opdef.writes and "place" in op.attrs and op.attrs["place"].name in lines:
                    lines[op.attrs["place"].name][op.loc] = None
        return {name: f"{self.program.name} ({', '.join(map(str, spans))})" for name, spans in lines.items()}
