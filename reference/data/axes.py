"""Names of index axes, as layouts are made of them."""

from __future__ import annotations

from typing import Final

from ..errors import AdstackArgumentError
from ..values.calling import takes

__all__ = ["Axes", "axes", "i", "ij", "ijk", "ijkl", "ijl", "ik", "ikl", "il", "j", "jk", "jkl", "jl", "k", "kl", "l"]


class Axes(tuple[int, ...]):
    """Names of index axes: `i` is the first, `j` the second, `ij` both."""

    __slots__ = ()


@takes("axes")
def axes(*numbers: int) -> Axes:
    """Index axes by their `numbers`: `axes(0, 1)` is `ij`. AdstackArgumentError if one is negative or comes twice."""
    if not all(isinstance(n, int) and n >= 0 for n in numbers) or len(set(numbers)) != len(numbers):
        raise AdstackArgumentError(f"axes are distinct numbers >= 0, got {numbers}")
    return Axes(numbers)


i: Final = axes(0)
j: Final = axes(1)
k: Final = axes(2)
l: Final = axes(3)  # noqa: E741 - the name programs use
ij: Final = axes(0, 1)
ik: Final = axes(0, 2)
il: Final = axes(0, 3)
jk: Final = axes(1, 2)
jl: Final = axes(1, 3)
kl: Final = axes(2, 3)
ijk: Final = axes(0, 1, 2)
ijl: Final = axes(0, 1, 3)
ikl: Final = axes(0, 2, 3)
jkl: Final = axes(1, 2, 3)
ijkl: Final = axes(0, 1, 2, 3)
