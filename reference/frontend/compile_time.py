"""What a kernel says to the compiler: static values, ranges of several axes, hints for loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ..errors import AdstackAssertionError, AdstackSyntaxError, AdstackTypeError
from ..values.elements import Elements
from ..values.protocol import is_expr

__all__ = [
    "Grouped",
    "NdRange",
    "assume_in_range",
    "block_local",
    "grouped",
    "loop_config",
    "ndrange",
    "static",
    "static_assert",
    "static_print",
    "stop_grad",
]


def static(x: Any, *rest: Any) -> Any:
    """`x` at compile time: loops over it are unrolled, branches on it are decided while compiling.

    On the host, and for values the compiler knows, it is the identity; several arguments give a tuple.
    """
    return (x, *rest) if rest else x


def static_assert(condition: Any, message: Any = None) -> None:
    """Refuse to compile the kernel unless a condition holds that is known then; on the host, an assert.

    Raises:
        AdstackTypeError: the condition is known only when the kernel runs.
        AdstackAssertionError: it does not hold.
    """
    if is_expr(condition):
        raise AdstackTypeError(
            f"the condition of static_assert must be known while compiling, this is {condition!r}",
            do="write assert, which looks when the kernel runs, in debug mode",
        )
    if not condition:
        raise AdstackAssertionError("static_assert: " + (str(message) if message is not None else "it does not hold"))


def static_print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Print while the kernel is compiled, once for each version of it; runtime values are shown by their types."""
    print(*args, sep=sep, end=end)


def assume_in_range(value: Any, base: Any, low: Any, high: Any) -> Any:
    """The value; a hint that it is in `[base + low, base + high)`, which does not change results."""
    return value


class NdRange:
    """The points of a box, the last axis fastest.

    Attributes:
        axes: (lo, hi) of each axis, half-open; integers, or runtime values in a kernel.
    """

    def __init__(self, axes: tuple[tuple[Any, Any], ...]) -> None:
        self.axes = axes

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return product(*(range(lo, hi) for lo, hi in self.axes))


def ndrange(*extents: Any) -> NdRange:
    """A loop over several axes: each extent is `n` for 0..n-1, or `(a, b)` for a..b-1."""
    if not extents:
        raise AdstackTypeError("ndrange needs at least one extent", do="write ndrange(n) or ndrange(n, m)")
    return NdRange(tuple(_axis(e) for e in extents))


def _axis(extent: Any) -> tuple[Any, Any]:
    if isinstance(extent, (tuple, list)):
        if len(extent) != 2:
            raise AdstackTypeError(
                f"an axis of ndrange takes n or (begin, end), got {len(extent)} numbers", do="spread axes with *extents"
            )
        return extent[0], extent[1]
    return 0, extent


class Grouped:
    """A domain whose points are handed out as one vector each."""

    def __init__(self, domain: Any) -> None:
        self.domain = domain

    def __iter__(self) -> Iterator[Any]:
        points = self.domain if isinstance(self.domain, NdRange) else NdRange(_box(self.domain))
        return (Elements.over(list(point), (len(point),)) for point in points)


def _box(domain: Any) -> tuple[tuple[int, int], ...]:
    return tuple((o, o + n) for o, n in zip(domain.offset, domain.shape, strict=False))


def grouped(domain: Any) -> Grouped:
    """A loop over a field, ndarray or ndrange whose index is one integer vector."""
    return Grouped(domain)


def loop_config(
    *,
    serialize: bool = False,
    parallelize: int | None = None,
    block_dim: int | None = None,
    block_dim_adaptive: bool = True,
    bit_vectorize: bool = False,
) -> None:
    """Settings of the next loop: `serialize=True` makes an outermost loop serial; the others are hints."""
    raise AdstackSyntaxError("loop_config has a meaning only in a kernel", do="write it just before the loop")


def stop_grad(*fields: Any) -> None:
    """In the loop around, or at the top of a kernel in the next one, loads of these fields count as constants."""
    raise AdstackSyntaxError("stop_grad has a meaning only in a kernel", do="write it in the loop")


def block_local(*fields: Any) -> None:
    """A hint that the next loop uses these fields near each point; it does not change results."""
