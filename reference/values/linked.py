"""Numbers of the host that remember what they were computed from: `Linked`.

Under a Tape or in forward mode what a kernel returns, and what is read of memory that has a gradient, is a float like
any other that also knows where it came from. Python's arithmetic, the functions of the language and those of numpy that
are the same keep that. `float()`, `math`, arrays of numpy and formatting give plain numbers, which are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from ..ir.opdef import OpDef
from ..ir.scalar_ops import ABS, ADD, DIV, MAX, MIN, MUL, NEG, POW, SELECT, SQRT, SUB
from ..ir.ufuncs import UFUNCS
from ..runtime.threads.recording import in_charge
from .kinds import Operand
from .slopes import slopes

__all__ = ["Chain", "Linked", "Links", "copied", "is_linking", "links_in", "looked_at", "read", "tracked", "wrote"]
Value: TypeAlias = Any
"""A number, linked or not, or what consists of them: a vector, a matrix, a nested list."""


class Chain(Protocol):
    """What the numbers of one Tape, or of one block in forward mode, belong to."""

    @property
    def open(self) -> bool:
        """Whether the tape, or the block, has not ended yet; when it has, its numbers are constants."""

    def combined(self, parts: Sequence[tuple[Any, float]]) -> Value:
        """The node of a number that depends on these nodes, by these derivatives."""

    def dual(self, node: Any) -> float:
        """The directional derivative of the number at a node; 0 on a tape."""


class Links(Protocol):
    """A recorder that knows what numbers of the host come from."""

    def host_read(self, array: object, position: tuple[int, ...], value: float) -> Value:
        """The number that the host has read at a position of an array's buffer, linked to that element."""

    def host_linked(self, array: object, where: object, entries: Sequence[object]) -> None:
        """Note that the host writes numbers to memory, some of which know where they came from.

        Args:
            array: the field or ndarray that is written.
            where: which of its elements.
            entries: the numbers in order; where there are fewer numbers than elements they repeat.
        """


class Linked(float):
    """A float that knows from which numbers it was computed.

    Attributes:
        chain: the Tape, or the block in forward mode, that it belongs to.
        node: its node in the chain.
    """

    __slots__ = ("chain", "node")
    chain: Chain
    node: Any

    @classmethod
    def of(cls, value: float, chain: Chain, node: object) -> Linked:
        """`value` at a node of a chain."""
        number = cls(value)
        number.chain, number.node = chain, node
        return number

    @property
    def dual(self) -> float:
        """In forward mode: its directional derivative."""
        return self.chain.dual(self.node)

    def __add__(self, other: object) -> Operand:
        return _operated(ADD, float.__add__, self, other)

    def __radd__(self, other: object) -> Operand:
        return _operated(ADD, float.__add__, other, self)

    def __sub__(self, other: object) -> Operand:
        return _operated(SUB, float.__sub__, self, other)

    def __rsub__(self, other: object) -> Operand:
        return _operated(SUB, float.__sub__, other, self)

    def __mul__(self, other: object) -> Operand:
        return _operated(MUL, float.__mul__, self, other)

    def __rmul__(self, other: object) -> Operand:
        return _operated(MUL, float.__mul__, other, self)

    def __truediv__(self, other: object) -> Operand:
        return _operated(DIV, float.__truediv__, self, other)

    def __rtruediv__(self, other: object) -> Operand:
        return _operated(DIV, float.__truediv__, other, self)

    def __mod__(self, other: object) -> Operand:
        return _remainder(self, other)

    def __rmod__(self, other: object) -> Operand:
        return _remainder(other, self)

    def __divmod__(self, other: Operand) -> Operand:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> Operand:
        return other // self, other % self

    def __pow__(self, other: object, modulus: None = None) -> Operand:
        return _operated(POW, float.__pow__, self, other)

    def __rpow__(self, other: object, modulus: None = None) -> Operand:
        return _operated(POW, float.__pow__, other, self)

    def __neg__(self) -> Operand:
        return _apply(NEG, float.__neg__, self)

    def __pos__(self) -> Operand:
        return self

    def __abs__(self) -> Operand:
        return _apply(ABS, float.__abs__, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """What numpy computes is a function of the language, or a plain number."""
        plain = [float(x) if isinstance(x, Linked) else x for x in inputs]
        row = _UFUNCS.get(ufunc.__name__)
        if row is None or method != "__call__" or options or not all(_is_number(x) for x in inputs):
            return getattr(ufunc, method)(*plain, **options)
        return _apply(row, lambda *args: float(ufunc(*args)), *inputs)

    def __copy__(self) -> Linked:
        return self

    def __deepcopy__(self, memo: object) -> Linked:
        return self

    def __reduce__(self) -> Any:
        return float, (float(self),)


_UFUNCS: Final = {
    np.add.__name__: ADD,
    np.subtract.__name__: SUB,
    np.multiply.__name__: MUL,
    np.divide.__name__: DIV,
    "true_divide": DIV,
    np.float_power.__name__: POW,
    np.negative.__name__: NEG,
    np.absolute.__name__: ABS,
    np.fabs.__name__: ABS,
    np.maximum.__name__: MAX,
    np.minimum.__name__: MIN,
    np.sqrt.__name__: SQRT,
} | {function.__name__: row for row, function in UFUNCS.items() if isinstance(function, np.ufunc)}
"""What numpy's functions are in the language, by their names; `np.divide` has been called both of its."""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _operated(row: OpDef, function: Callable[..., Value], *args: Operand) -> Operand:
    """An operator of Python on two numbers; others know what to do with a float themselves."""
    if not all(_is_number(a) for a in args):
        return NotImplemented
    first, second = (a if isinstance(a, Linked) else float(a) for a in args)
    return _apply(row, function, first, second)


def _remainder(a: Operand, b: Operand) -> Operand:
    """`a % b`: what is left of a, less a whole number of times b."""
    if not (_is_number(a) and _is_number(b)):
        return NotImplemented
    value, quotient = float(a) % float(b), float(a) // float(b)
    return _linked(value, [(a, 1.0), (b, -quotient)])


def _apply(row: OpDef, function: Callable[..., Value], *args: object, **attrs: object) -> Value:
    """Apply `function`, which computes the operation `row`, to numbers, some of which know their origin."""
    plain = [float(a) if isinstance(a, Linked) else a for a in args]
    value = function(*plain, **attrs)
    if not isinstance(value, float):
        return value
    return _linked(value, zip(args, slopes(row, plain, value), strict=False))


def _linked(value: float, slopes: Iterable[tuple[object, float]]) -> float:
    """A number that depends on others, as far as they belong to something that still goes on."""
    live = [(a, slope) for a, slope in slopes if isinstance(a, Linked) and a.chain.open]
    if not live:
        return value
    chain = live[-1][0].chain
    return Linked.of(value, chain, chain.combined([(a.node, slope) for a, slope in live if a.chain is chain]))


def tracked(row: OpDef, function: Callable[..., object]) -> Callable[..., Value]:
    """A function of the language on host numbers whose result knows its origin; `row` is its operation."""
    if not row.pulls or row in (ABS, MAX, MIN, SELECT):
        return function  # they hand one of their operands on, or use its operators

    def compute(*args: object, **attrs: object) -> Value:
        if any(isinstance(a, Linked) for a in args):
            return _apply(row, function, *args, **attrs)
        return function(*args, **attrs)

    return compute


# ---- reads and writes of memory


def is_linking(*arrays: Value) -> bool:
    """Whether what the host reads in this thread is linked to where it was: of arrays, if all have derivatives."""
    return hasattr(in_charge(), "host_read") and all(
        any(beside is not None and beside.is_placed for beside in (array.grad, array.dual)) for array in arrays
    )


def read(array: object, position: tuple[int, ...], value: object) -> Operand:
    """What the host has read at a position of an array's buffer; linked to that element while a recorder listens."""
    recorder: Any = in_charge()
    if not isinstance(value, float) or not is_linking():
        return value
    return recorder.host_read(array, position, value)


def looked_at(array: object) -> None:
    """Tell the recorder in charge, if it wants to know, that the host reads all of an array."""
    recorder: Any = in_charge()
    if hasattr(recorder, "host_looked"):
        recorder.host_looked(array)


def copied(array: Value, source: Value, copy: Callable[[], object]) -> bool:
    """Let `copy` write all elements of an array with those of another one that is like it, and link them.

    False if nothing was done: one of them has no gradient, or who records them wants to know of each element.
    """
    recorder: Any = in_charge()
    if not hasattr(recorder, "host_copied"):
        return False
    placed = all(one.grad is not None and one.grad.is_placed for one in (array, source))
    return placed and bool(recorder.host_copied(array, source, copy))


def wrote(array: object, where: object, value: object) -> None:
    """Tell the recorder in charge, if there is one, that the host writes to an array.

    Args:
        array: the field or ndarray.
        where: which of its elements.
        value: a number, or a vector, matrix or nested list of numbers.
    """
    recorder: Any = in_charge()
    if recorder is None:
        return
    entries = links_in(value) if hasattr(recorder, "host_linked") else []
    if entries:
        recorder.host_linked(array, where, entries)
    else:
        recorder.host_wrote(array, where)


def links_in(value: object) -> list[Value]:
    """The numbers of a value in row-major order if one of them is linked; else an empty list."""
    flat = list(_flat(value))
    return flat if any(isinstance(e, Linked) and e.chain.open for e in flat) else []


def _flat(value: object) -> Iterator[Value]:
    """The numbers of a vector, matrix or nested list in row-major order; a number alone gives itself."""
    if isinstance(value, (int, float)):
        yield value
        return
    entries = getattr(value, "entries", value)
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        yield from _flat(entry)
