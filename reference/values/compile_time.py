"""What a kernel says to the compiler: static values, ranges of several axes, hints for loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..errors import AdstackAssertionError, AdstackSyntaxError, AdstackTypeError
from .elements import Elements
from .kinds import KernelObject
from .protocol import is_expr

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


def static(x: object, *rest: object) -> KernelObject:
    """`x` at compile time: loops over it are unrolled, branches on it are decided while compiling.

    On the host, and for values the compiler knows, it is the identity; several arguments give a tuple.
    """
    return (x, *rest) if rest else x


def static_assert(condition: object, message: object = None) -> None:
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


def static_print(*args: object, sep: str = " ", end: str = "\n") -> None:
    """Print `args` while the kernel is compiled, once for each version of it; runtime values are shown by their types.

    `sep` and `end` are those of Python's `print`.
    """
    print(*args, sep=sep, end=end)


def assume_in_range(value: object, base: object, low: object, high: object) -> KernelObject:
    """The value; a hint that it is in `[base + low, base + high)`, which does not change results."""
    return value


class NdRange:
    """The points of a box, the last axis fastest.

    Attributes:
        axes: (lo, hi) of each axis, half-open; integers, or runtime values in a kernel.
    """

    def __init__(self, axes: tuple[tuple[KernelObject, KernelObject], ...]) -> None:
        self.axes = axes

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return product(*(range(lo, hi) for lo, hi in self.axes))


def ndrange(*extents: object) -> NdRange:
    """A loop over several axes: each extent is `n` for 0..n-1, or `(a, b)` for a..b-1; one point without axes."""
    return NdRange(tuple(_axis(e) for e in extents))


def _axis(extent: object) -> tuple[KernelObject, KernelObject]:
    if isinstance(extent, (tuple, list)):
        if len(extent) != 2:
            raise AdstackTypeError(
                f"an axis of ndrange takes n or (begin, end), got {len(extent)} numbers", do="spread axes with *extents"
            )
        return extent[0], extent[1]
    return 0, extent


class Grouped:
    """A domain whose points are handed out as one vector each."""

    def __init__(self, domain: object) -> None:
        self.domain = domain

    def __iter__(self) -> Iterator[KernelObject]:
        points = self.domain if isinstance(self.domain, NdRange) else NdRange(_box(self.domain))
        return (Elements.over(list(point), (len(point),)) for point in points)


def _box(domain: KernelObject) -> tuple[tuple[int, int], ...]:
    return tuple((o, o + n) for o, n in zip(domain.offset, domain.shape, strict=False))


def grouped(domain: object) -> Grouped:
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
    """Settings of the next loop, in a kernel; on the host it raises AdstackSyntaxError.

    Args:
        serialize: make an outermost loop serial.
        parallelize: a hint, which existing programs give and which changes nothing.
        block_dim: how many threads the blocks of a loop have that uses `qd.simt`, a hint for all others.
        block_dim_adaptive: a hint as well.
        bit_vectorize: a hint as well.
    """
    raise AdstackSyntaxError("loop_config has a meaning only in a kernel", do="write it just before the loop")


def stop_grad(*args: KernelObject) -> KernelObject:
    """A value as a constant, or fields whose loads count as constants; in a kernel only.

    Args:
        args: one number, vector or matrix; or fields and ndarrays. Of these, loads count as constants in the loop
            around, or at the top of a kernel in the next one.

    Returns:
        The value, through which no derivative passes; None for fields.

    On the host it raises AdstackSyntaxError.
    """
    raise AdstackSyntaxError("stop_grad has a meaning only in a kernel", do="write it in the loop")


def block_local(*fields: object) -> None:
    """A hint that the next loop uses these fields near each point; it does not change results."""
