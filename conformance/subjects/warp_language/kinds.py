"""Types of values in translated kernels, and what of the language's has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...harness.execute import MissingError
from .device import WP

__all__ = ["ABSENT", "BOOL", "NUMBERS", "AbsentError", "Kind", "joined", "kind_of_value", "settings"]


class AbsentError(MissingError, AttributeError):
    """A name without a counterpart: `hasattr` says that it is not there."""


@dataclass(frozen=True)
class Kind:
    """A type of numbers.

    Attributes:
        name: in the language.
        numpy: the numpy type.
        rank: which of two types meets in which: the higher one.
    """

    name: str
    numpy: str
    rank: int

    @property
    def is_float(self) -> bool:
        return self.name.startswith("f")

    @property
    def warp(self) -> str:
        """Its name in Warp."""
        return "bool" if self.name == "u1" else self.numpy

    @property
    def constructor(self) -> str:
        """What makes a number of it, in the source of a kernel."""
        return f"wp.{self.warp}"

    @property
    def dtype(self) -> object:
        """The type of Warp."""
        return getattr(WP, self.warp)

    def __call__(self, value: float) -> object:
        """A number of this type, on the host."""
        return np.dtype(self.numpy).type(value).item()


_INTEGERS: Final = [
    Kind(f"{sign}{bits}", f"{'u' * (sign == 'u')}int{bits}", bits + (sign == "u"))
    for bits in (8, 16, 32, 64)
    for sign in "iu"
]
_FLOATS: Final = [Kind(f"f{bits}", f"float{bits}", 100 + bits) for bits in (16, 32, 64)]
BOOL: Final = Kind("u1", "bool", 0)
NUMBERS: Final[dict[str, Kind]] = {kind.name: kind for kind in (BOOL, *_INTEGERS, *_FLOATS)}
ABSENT: Final = MissingError
"""What is raised, with the reason, where something can't be translated."""


@dataclass
class _Settings:
    real: Kind = NUMBERS["f32"]
    whole: Kind = NUMBERS["i32"]


settings: Final = _Settings()
"""The types of literals, as `init` was told."""


def kind_of_value(value: object) -> Kind:
    """The type of a number of the host in a kernel. MissingError if it is no number."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return settings.whole
    if isinstance(value, (float, np.floating)):
        return settings.real
    raise ABSENT(f"a {type(value).__name__} of the host in a kernel is not translated")


def joined(a: Kind, b: Kind) -> Kind:
    """The type in which two meet: a float if there is one, the wider otherwise; truth values count as integers."""
    if BOOL in (a, b):
        a, b = (settings.whole if kind == BOOL else kind for kind in (a, b))
        return max(a, b, settings.whole, key=lambda kind: kind.rank)
    return max(a, b, key=lambda kind: kind.rank)
