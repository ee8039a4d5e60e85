"""Numbers of the host that remember what they were computed from: `Linked`.

Under a Tape or in forward mode what a kernel returns, and what is read of memory that has a gradient, is a float like
any other that also knows where it came from. Python's arithmetic, the functions of the language and those of numpy that
have derivatives keep that. `float()`, `math`, arrays of numpy and formatting give plain numbers, which are constants;
other functions of numpy that would lose it are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..errors import AdstackRuntimeError
from ..ir.opdef import OpDef
from ..ir.scalar_ops import ABS, ADD, DIV, MAX, MIN, MUL, NEG, POW, SELECT, SUB
from ..runtime.threads.recording import in_charge
from .kinds import Operand
from .numpy_rules import CONSTANTS, RULES, gives_real
from .slopes import slopes

__all__ = [
    "Chain",
    "Linked",
    "Links",
    "copied",
    "is_linking",
    "links_in",
    "looked_at",
    "looked_inside",
    "read",
    "tracked",
    "wrote",
]
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

    @property
    def real(self) -> Linked:
        """The number itself."""
        return self

    def conjugate(self) -> Linked:
        """The number itself."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """What numpy computes of numbers is linked by its rule; with arrays, which are constants, it is as ever."""
        numbers = [_of_scalar(x) for x in inputs]
        if not all(map(_is_number, numbers)):
            return getattr(ufunc, method)(*map(_plain, inputs), **options)
        name = ufunc.__name__
        if method != "__call__" or not _is_usual(**options):
            called = name if method == "__call__" else f"{name}.{method}"
            return _constant(called, getattr(ufunc, method), inputs, options)
        return _of_numpy(name, ufunc, numbers)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """The same for functions of numpy's that are no ufuncs."""
        if function is np.clip and not any(isinstance(x, np.ndarray) for x in args):
            return _clipped(*args, **kwargs)
        if len(args) == 1 and not kwargs and isinstance(args[0], Linked):
            return _of_numpy(function.__name__, function, args)
        return _constant(function.__name__, function, args, kwargs)

    def __copy__(self) -> Linked:
        return self

    def __deepcopy__(self, memo: object) -> Linked:
        return self

    def __reduce__(self) -> Any:
        return float, (float(self),)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_, Fraction))


def _plain(value: object) -> Any:
    """An argument without what its numbers know."""
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)] if isinstance(value, list) else tuple(map(_plain, value))
    return float(value) if isinstance(value, Linked) else value


def _of_scalar(value: Any) -> Any:
    """An array without axes as the number in it."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


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


# ---- numpy


def _is_usual(*, dtype: Any = None, out: Any = None, where: Any = True, **others: object) -> bool:
    """Whether a ufunc with these options computes what it computes without them: its result, in f64."""
    ignored = {"casting", "order", "subok"}
    return (dtype is None or np.dtype(dtype) == np.float64) and out is None and where is True and ignored >= set(others)


def _of_numpy(name: str, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a function of numpy's, called so, makes of numbers: linked, if its derivatives are known."""
    rule = RULES.get(name)
    if rule is None:
        return _constant(name, function, args, {})
    operands = [float(x) for x in args]
    value = float(function(*operands))
    return _linked(value, zip(args, rule(operands, value), strict=True))


def _constant(name: str, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of numpy's makes of plain numbers; an error where it would lose what its result depends on."""
    value = function(*map(_plain, args), **{key: _plain(one) for key, one in options.items()})
    live = links_in([*args, *options.values()])
    if live and name not in CONSTANTS and gives_real(value):
        raise AdstackRuntimeError(
            f"what numpy.{name} makes of a number can't be linked to what that depends on: its result would be a "
            "constant",
            do="use a function of the language or operators, or write float(...) around the number if a constant is "
            "meant",
        )
    return value


def _clipped(
    a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """`np.clip` of numbers: the larger one of it and the least, and of that and the greatest the smaller one."""
    if out is not None or not _is_usual(**options):
        return _constant("clip", np.clip, [a, a_min, a_max], {**options, "out": out})
    least, greatest = (one if other is None else other for one, other in ((a_min, min), (a_max, max)))
    raised = a if least is None else np.maximum(a, least)
    return raised if greatest is None else np.minimum(raised, greatest)


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


def looked_inside(array: object) -> None:
    """Tell the recorder in charge, if it wants to know, that the host is about to read an element of an array."""
    recorder: Any = in_charge()
    if hasattr(recorder, "host_looked_inside"):
        recorder.host_looked_inside(array)


def looked_at(array: object) -> None:
    """Tell the recorder in charge, if it wants to know, that the host is about to read all of an array."""
    looked_inside(array)
    recorder: Any = in_charge()
    if hasattr(recorder, "host_looked"):
        recorder.host_looked(array)


def copied(array: Value, source: Value, copy: Callable[[], object]) -> bool:
    """Let `copy` write all elements of an array with those of another one that is like it, and link them; it gives
    which of these were active, or None for all.

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
    """The numbers of a vector, matrix, array or nested list in row-major order; a number alone gives itself."""
    entries = getattr(value, "entries", value)
    if isinstance(entries, np.ndarray):
        entries = entries.tolist()
    if isinstance(entries, (list, tuple)):
        for entry in entries:
            yield from _flat(entry)
    elif isinstance(entries, (int, float, np.generic)) or hasattr(entries, "item"):
        yield entries
