"""A program that a backend has compiled, and what it reads and writes. `compiler.py` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..analysis.may_access import Accesses, may_access
from ..ir.structure import Op, Program
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
    _writers: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def launch(self, backend: Backend, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Run it; the returned scalars."""
        if self.races is not None:
            return self.races.launch(scalars, bindings)
        return backend.launch(self.executable, scalars, bindings)

    def reach(self, scalars: Scalars, shapes: Mapping[str, tuple[int, ...]]) -> Accesses:
        """Which elements a launch with these scalars, and array arguments of these shapes, may touch."""
        key: object = None
        if scalars or shapes:
            key = tuple(s if isinstance(s, int) else None for s in scalars), tuple(shapes.items())
        accesses = self._reaches.get(key)
        if accesses is None:
            if len(self._reaches) == MOST_REACHES:
                self._reaches.clear()
            accesses = self._reaches[key] = may_access(self.program, scalars, shapes)
        return accesses

    def writer(self, name: str) -> str:
        """Who writes a place, in words: the program, and the lines that do."""
        words = self._writers.get(name)
        if words is None:
            ops = (op for task in self.program.tasks for op in task.body.walk())
            lines = {op.loc: None for op in ops if op.opdef.writes and _is_at(op, name)}
            words = self._writers[name] = f"{self.program.name} ({', '.join(map(str, lines))})"
        return words


def _is_at(op: Op, name: str) -> bool:
    place = op.attrs.get("place")
    return place is not None and place.name == name
