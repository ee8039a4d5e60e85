"""Components of vectors by letters: v.x, v.xy, v.bgr, v.ts; also as targets of assignments."""

from __future__ import annotations

from typing import Final

from ...errors import AdstackCompilationError, AdstackSyntaxError
from ..elements import describe
from ..kinds import Operand
from .access import Access

GROUPS: Final = ("xyzw", "rgba", "stpq")


def positions_of(name: str) -> list[int] | None:
    """The components that `name` stands for; None if it is no swizzle."""
    for group in GROUPS:
        if 1 <= len(name) <= 4 and all(letter in group for letter in name):
            return [group.index(letter) for letter in name]
    return None


class Swizzles(Access):
    """Attributes made of letters of one group, up to four."""

    __slots__ = ()

    def _swizzle(self, name: str) -> list[int] | None:
        positions = positions_of(name)
        if positions is None:
            return None
        if not self.is_vector or max(positions) >= self.n:
            letters = ", ".join(group[: self.n] for group in GROUPS) if self.is_vector else "none"
            raise MissingComponentError(
                f"{describe(self)} has no component '{name}'", do=f"components that it has: {letters}"
            )
        return positions

    def __getattr__(self, name: str) -> Operand:
        positions = self._swizzle(name)
        if positions is None:
            raise AttributeError(f"vectors and matrices have no attribute '{name}'")
        if len(positions) == 1:
            return self.storage[positions[0]]
        return self.over([self.storage[k] for k in positions], (len(positions),))

    def __setattr__(self, name: str, value: object) -> None:
        positions = self._swizzle(name)
        if positions is None:
            raise AttributeError(f"vectors and matrices have no attribute '{name}' that can be set")
        if len(set(positions)) < len(positions):
            raise AdstackSyntaxError(f"'{name}' names a component twice and can't be assigned to", do="name each once")
        self._assign(positions, (len(positions),) if len(positions) > 1 else (), value)


class MissingComponentError(AdstackCompilationError, AttributeError):
    """A component letter that the vector does not have."""
