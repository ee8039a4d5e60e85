"""One step of a loop in every form of the loop, with every trip count: all must agree on values and derivatives.

    @case(rules=["grad.loop"], params={"how": forms(3)}, **TRANSPOSED)
    def logistic_growth(qd, dtype, how):
        loop = Loop(qd, dtype, how)

        @qd.func
        def step(s, i, j):
            return s + (loop.c[i] - s) * s * 0.015625

        return loop.run(step, lambda s, c, i, j: s + (c[i] - s) * s / 64)

The step takes the carried value (a number, or with `width` a vector), the index of the parallel iteration and that of
the loop, and gives the next value; `c` is a field of constants that are differentiated as well. Starting values differ
from form to form. (No `from __future__ import annotations` here: peers do not read annotations that are strings.)
"""

from collections.abc import Callable
from typing import Final

from .case import Data, Run
from .gradients import agrees, floats, real

__all__ = ["TRIPS", "Loop", "forms"]

FEW: Final = (0, 1, 2, 17)
MANY: Final = 200
TRIPS: Final = (*FEW, MANY)
_KNOWN: Final[dict[Data, list[Data]]] = {}
"""What loops leave in y, by body, trips and data."""
SIZE: Final = 4
"""Iterations of the parallel loop."""

Kernel = Callable[..., Data]


def forms(number: int, unrolled: int = 17) -> list[str]:
    """Every form once, and among them every trip count: one form has 200 trips, the others 0, 1, 2 or 17.

    Sixteen consecutive numbers pair every form with every count, but for 200 unrolled trips: they take long to compile,
    and show nothing that 17 do not. Where the body is long, fewer do: at most `unrolled`.
    """
    trips = [FEW[(position + number) % len(FEW)] for position in range(len(_MAKERS))]
    trips[(5 * number + 3) % len(_MAKERS) or 1] = MANY  # in an order that makes no long body serial
    trips[0] = min(trips[0], unrolled)
    return [f"{form}-{count}" for form, count in zip(_MAKERS, trips, strict=True)]


class Loop:
    """The data of a case: y[i] is what the steps make of x[i], with the constants c[i].

    Args:
        qd: the subject.
        dtype: of the data.
        how: one of `forms()`.
        width: of the vector that is carried; None for a number.
        low, high: where values start.
    """

    def __init__(
        self, qd: Data, dtype: Data, how: str, *, width: int | None = None, low: float = -1.0, high: float = 1.0
    ) -> None:
        self.form, _, trips = how.rpartition("-")
        self.qd, self.dtype, self.width, self.trips = qd, dtype, width, int(trips)
        shape = SIZE if width is None else (SIZE, width)
        self.x, self.y, self.c = real(qd, dtype, shape), real(qd, dtype, shape), real(qd, dtype, SIZE)
        self.counts = qd.field(qd.i32, shape=SIZE)
        start = list(_MAKERS).index(self.form) + self.trips
        numbers = floats(SIZE * (width or 1), low, high, steps=16, start=start)
        self.starts = numbers if width is None else [numbers[i * width :][:width] for i in range(SIZE)]
        self.constants = floats(SIZE, 0.25, 1.5, steps=16, start=start)
        self.load, self.save = self._access()

    def _access(self) -> tuple[Data, Data]:
        """Functions of the language that read the starting value and write the result of an iteration."""
        qd, x, y, width = self.qd, self.x, self.y, self.width

        @qd.func
        def number(i):  # type: ignore[no-untyped-def]
            return x[i]

        @qd.func
        def save_number(i, s):  # type: ignore[no-untyped-def]
            y[i] = s

        @qd.func
        def vector(i):  # type: ignore[no-untyped-def]
            return qd.Vector([x[i, k] for k in range(width)])

        @qd.func
        def save_vector(i, s):  # type: ignore[no-untyped-def]
            for k in qd.static(range(width)):
                y[i, k] = s[k]

        return (number, save_number) if width is None else (vector, save_vector)

    def run(self, step: Kernel, exact: Callable[..., object]) -> Run:
        """What must come out: `exact(s, c, i, j)` says what `step(s, i, j)` does, s being a list if it is a vector."""
        kernel, takes_count = _MAKERS[self.form](self, step)
        # the same in every mode and type: the starting values are, and `exact` knows nothing but what it is given
        assert exact.__closure__ is None
        key = exact.__code__, self.trips, str(self.starts), str(self.constants)

        def plain(x: object, c: object) -> list[Data]:
            if key not in _KNOWN:
                _KNOWN[key] = [self._exactly(exact, s, c, i) for i, s in enumerate(x)]
            return _KNOWN[key]

        memory = {self.x: self.starts, self.c: self.constants}
        args = (self.trips,) if takes_count else ()
        return agrees(kernel, plain, memory, [self.y], args=args, constant={self.counts: [self.trips] * SIZE})

    def _exactly(self, exact: Callable[..., object], s: object, c: object, i: int) -> Data:
        for j in range(self.trips):
            s = exact(s, c, i, j)
        return s


def _static(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    qd, load, save, trips = loop.qd, loop.load, loop.save, loop.trips

    @qd.kernel
    def kernel():  # type: ignore[no-untyped-def]
        for i in range(SIZE):
            s = load(i)
            for j in qd.static(range(trips)):
                s = step(s, i, j)
            save(i, s)

    return kernel, False


def _range(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    qd, load, save = loop.qd, loop.load, loop.save

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        for i in range(SIZE):
            s = load(i)
            for j in range(n):
                s = step(s, i, j)
            save(i, s)

    return kernel, True


def _field(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    """Over a field; each iteration reads its own trip count from memory."""
    qd, load, save, counts = loop.qd, loop.load, loop.save, loop.counts

    @qd.kernel
    def kernel():  # type: ignore[no-untyped-def]
        for i in counts:
            s = load(i)
            for j in range(counts[i]):
                s = step(s, i, j)
            save(i, s)

    return kernel, False


def _grouped(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    """Over the indices of a field as vectors, with a loop that does not start at 0."""
    qd, load, save, counts = loop.qd, loop.load, loop.save, loop.counts

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        for at in qd.grouped(counts):
            s = load(at[0])
            for j in range(3, n + 3):
                s = step(s, at[0], j - 3)
            save(at[0], s)

    return kernel, True


def _func(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    """The loop in a function that is called from the kernel."""
    qd, load, save = loop.qd, loop.load, loop.save

    @qd.func
    def steps(s, i, n):  # type: ignore[no-untyped-def]
        for j in range(n):
            s = step(s, i, j)
        return s

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        for i in range(SIZE):
            save(i, steps(load(i), i, n))

    return kernel, True


def _while(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    qd, load, save = loop.qd, loop.load, loop.save

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        for i in range(SIZE):
            s, j = load(i), 0
            while j < n:
                s = step(s, i, j)
                j += 1
            save(i, s)

    return kernel, True


def _break(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    """A loop that is left before its bound."""
    qd, load, save = loop.qd, loop.load, loop.save

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        for i in range(SIZE):
            s = load(i)
            for j in range(1000):
                if j >= n:
                    break
                s = step(s, i, j)
            save(i, s)

    return kernel, True


def _serial(loop: Loop, step: Kernel) -> tuple[Kernel, bool]:
    """All in kernel-level code."""
    qd, load, save = loop.qd, loop.load, loop.save

    @qd.kernel
    def kernel(n: qd.i32):  # type: ignore[no-untyped-def]
        qd.loop_config(serialize=True)
        for i in range(SIZE):
            s = load(i)
            for j in range(n):
                s = step(s, i, j)
            save(i, s)

    return kernel, True


_MAKERS: Final[dict[str, Callable[[Loop, Kernel], tuple[Kernel, bool]]]] = {
    "static": _static,
    "range": _range,
    "field": _field,
    "grouped": _grouped,
    "func": _func,
    "while": _while,
    "break": _break,
    "serial": _serial,
}
