"""What a kernel says to the compiler: static values, ranges of several axes, hints for loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ..errors import AdstackAssertionError, AdstackSyntaxError, AdstackTypeError
from .calling import takes
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


@takes("static")
def static(x: object, *rest: object) -> KernelObject:
    """`x` at compile time: loops over it are unrolled, branches on it are decided while compiling.

    On the host, and for values the compiler knows, it is the identity; several arguments give a tuple.
    """
    return (x, *rest) if rest else x


@takes("static_assert")
def static_assert(cond: object, msg: object = None) -> None:
    """Refuse to compile the kernel unless a condition holds that is known then; on the host, an assert.

    Raises:
        AdstackTypeError: the condition is known only when the kernel runs.
        AdstackAssertionError: it does not hold.
    """
    if is_expr(cond):
        raise AdstackTypeError(
            f"the condition of static_assert must be known while compiling, this is {cond!r}",
            do="write assert, which looks when the kernel runs, in debug mode",
        )
    if not cond:
        raise AdstackAssertionError("static_assert: " + (str(msg) if msg is not None else "it does not hold"))


@takes("static_print")
def static_print(*args: object, sep: str = " ", end: str = "\n") -> None:
    """Print `args` while the kernel is compiled, once for each version of it; runtime values are shown by their types.

    `sep` and `end` are those of Python's `print`.
    """
    print(*args, sep=sep, end=end)


@takes("assume_in_range")
def assume_in_range(val: object, base: object, low: object, high: object) -> KernelObject:
    """The value; a hint that it is in `[base + low, base + high)`, which does not change results."""
    return val


class NdRange:
    """The points of a box, the last axis fastest unless `order` says another.

    Attributes:
        axes: (lo, hi) of each axis, half-open; integers, or runtime values in a kernel.
        order: the number of each axis, from the slowest to the fastest.
    """

    def __init__(
        self, axes: tuple[tuple[KernelObject, KernelObject], ...], order: tuple[int, ...] | None = None
    ) -> None:
        self.axes = axes
        self.order = tuple(range(len(axes))) if order is None else order

    @property
    def nested(self) -> tuple[tuple[KernelObject, KernelObject], ...]:
        """(lo, hi) of each axis, from the slowest to the fastest."""
        return tuple(self.axes[k] for k in self.order)

    def sorted(self, numbers: Sequence[KernelObject]) -> list[KernelObject]:
        """The index of a point, of whose `numbers` the slowest comes first, in the order of the axes."""
        return [numbers[self.order.index(k)] for k in range(len(self.order))]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (tuple(self.sorted(point)) for point in product(*(range(lo, hi) for lo, hi in self.nested)))


@takes("ndrange")
def ndrange(*extents: object, axes: Sequence[int] | None = None) -> NdRange:
    """A loop over several axes: each extent is `n` for 0..n-1, or `(a, b)` for a..b-1; one point without axes.

    Args:
        extents: one for each axis.
        axes: the numbers of all axes, from the slowest to the fastest: (1, 0) runs along the first one innermost.
            Which index is which stays as it is. Without it the last axis is the fastest.

    Raises:
        AdstackTypeError: an extent has more than two numbers, or `axes` does not name each axis once.
    """
    order = None if axes is None else tuple(axes)
    if order is not None and sorted(order) != list(range(len(extents))):
        raise AdstackTypeError(
            f"axes={order} of ndrange must have the number of each axis once", do="write axes=(1, 0) for two axes"
        )
    return NdRange(tuple(_axis(e) for e in extents), order)


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


@takes("grouped")
def grouped(x: object) -> Grouped:
    """A loop over a field, ndarray or ndrange whose index is one integer vector."""
    return Grouped(x)


@takes("loop_config")
def loop_config(
    *,
    serialize: bool = False,
    parallelize: int | None = None,
    block_dim: int | None = None,
    block_dim_adaptive: bool = True,
    bit_vectorize: bool = False,
    name: str | None = None,
) -> None:
    """Settings of the next loop, in a kernel; on the host it raises AdstackSyntaxError.

    Args:
        serialize: make an outermost loop serial.
        parallelize: a hint, which existing programs give and which changes nothing.
        block_dim: how many threads the blocks of a loop have that uses `qd.simt`, a hint for all others.
        block_dim_adaptive: a hint as well.
        bit_vectorize: a hint as well.
        name: what other libraries call the loop in their profiles; nothing here.
    """
    raise AdstackSyntaxError("loop_config has a meaning only in a kernel", do="write it just before the loop")


@takes("stop_grad")
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


@takes("block_local")
def block_local(*fields: object) -> None:
    """A hint that the next loop uses these fields near each point; it does not change results."""
