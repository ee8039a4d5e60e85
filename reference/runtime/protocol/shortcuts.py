"""What a backend is told to serve the calls of a kernel without Python, if it can.

A shortcut is a callable that stands for a kernel. It serves the calls that are exactly as described here, and hands all
others, with every rule and every error, to `Shortcut.otherwise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ...ir.types import DType
from ..adstacks.heap import HeapLimit
from .words import Recorded

__all__ = [
    "DEVICE_NAMES",
    "ENTRIES_NAME",
    "RECORD_NAME",
    "SHAPE_NAME",
    "TENSOR_METHOD",
    "Argument",
    "ArrayArgument",
    "Before",
    "DeviceArgument",
    "HostArgument",
    "MatrixArgument",
    "NumberArgument",
    "SameArgument",
    "SameAttribute",
    "Shortcut",
    "Still",
    "StructArgument",
    "TensorArgument",
    "kind_of",
    "leaves",
    "of_others",
]

RECORD_NAME: Final = "record_address"
"""The attribute of an array argument that says where the record of its buffer is; 0 while it has none."""

TENSOR_METHOD: Final = "numpy"
"""The method of a tensor that gives its memory as an array; that of one that needs a gradient fails."""

ENTRIES_NAME: Final = "storage"
SHAPE_NAME: Final = "shape"
"""The attributes of a vector or matrix that give its numbers, row by row, and its shape."""

DEVICE_NAMES: Final = ("requires_grad", "dtype", "device", "is_contiguous", "shape", "data_ptr")
"""What a tensor in the memory of a device is asked: attributes and, in front of and behind the shape, methods."""


@dataclass(frozen=True)
class NumberArgument:
    """A number for the next scalar parameter, from `least` to `most`: exactly of `kind`, or of another kind of Python's
    or numpy's that is converted as Python would do it.
    """

    dtype: DType
    kind: type
    least: float
    most: float


@dataclass(frozen=True)
class MatrixArgument:
    """A vector or matrix by value, for as many scalar parameters as it has numbers, each as `number` says: an object
    exactly of `kind` of this shape whose `ENTRIES_NAME` is a list; a list of numbers is a vector, too.
    """

    number: NumberArgument
    kind: type
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ArrayArgument:
    """An object exactly of `kind` whose `RECORD_NAME` is the address of its buffer's record, which has this tag.

    Attributes:
        beside: the place of its gradient, if it has one.
    """

    place: str
    kind: type
    tag: int
    beside: str = ""


@dataclass(frozen=True)
class HostArgument:
    """A numpy array, exactly of `kind`: C-contiguous, of this rank, its elements of a one-letter `format` of Python's
    buffers; writable if the kernel writes it.
    """

    place: str
    kind: type
    format: str
    rank: int


@dataclass(frozen=True)
class TensorArgument(HostArgument):
    """An object exactly of `kind` whose method `TENSOR_METHOD` gives a numpy array of its memory, which is as there, or
    fails: a torch tensor of the host that needs no gradient.
    """


@dataclass(frozen=True)
class DeviceArgument:
    """A tensor in the memory of the device, exactly of `kind`: contiguous, of this rank, with this very type of
    elements, needing no gradient, on a device that is equal to this one; and nobody works on it in another stream: what
    `stream(number)` gives, a function in C, is 0, the default stream, and cupy is not loaded.
    """

    place: str
    kind: type
    rank: int
    dtype: object
    device: object
    stream: Callable[[int], int]
    number: int


@dataclass(frozen=True)
class SameArgument:
    """This very object, by its address.

    Attributes:
        keep: the object, unless a condition ends with it.
    """

    address: int
    keep: object = None


@dataclass(frozen=True)
class SameAttribute:
    """The attribute of this very object, by its address, is that very object.

    Attributes:
        keep: the objects, as far as no condition ends with them.
        is_key: the object is a dictionary, and it is the value of this key.
    """

    owner: int
    name: str
    value: int
    keep: tuple[object, ...] = ()
    is_key: bool = False


@dataclass(frozen=True)
class StructArgument:
    """An object exactly of `kind` whose own attributes of these names, in dictionary or slots, are passed in turn."""

    kind: type
    members: tuple[tuple[str, Argument], ...]


Argument = (
    NumberArgument | MatrixArgument | ArrayArgument | HostArgument | DeviceArgument | SameArgument | StructArgument
)


@dataclass(frozen=True)
class Still:
    """The word at an address still has a value."""

    address: int
    value: int


@dataclass(frozen=True)
class Before:
    """The number of a launch at an address is less than another one."""

    address: int
    other: int


@dataclass(frozen=True)
class Shortcut:
    """The calls of one specialisation.

    Attributes:
        arguments: one per parameter.
        attributes: what attributes must be the very objects that they were.
        returns: whether the one scalar that the program returns is the kernel's result; it returns none otherwise.
        buffers: place name -> memory that is the same in every call.
        written: names of the places that the program writes.
        otherwise: serves every other call.
        conditions: what must hold, before anything else is looked at.
        distinct: pairs of places that must not be in the same memory.
        sizes: places that the depths of adstacks depend on, besides scalar arguments; None if they may depend on more,
            and have to be computed in each launch.
        reductions: parallel loops that compute them.
        short: serves a call, given by its arguments, whose adstacks have no room; it gets the error that says so.
        keep: what the conditions' addresses point to.
        needed: array parameters whose memory must be unchanged since its history was watched.
        announced: whether those who may ask are told of what the calls write without the calls' doing.
    """

    arguments: tuple[Argument, ...]
    attributes: tuple[SameAttribute, ...]
    returns: bool
    buffers: Mapping[str, Recorded]
    written: frozenset[str]
    otherwise: Callable[..., object]
    conditions: tuple[Still | Before, ...] = ()
    distinct: tuple[tuple[str, str], ...] = ()
    sizes: tuple[str, ...] | None = ()
    reductions: int = 0
    short: Callable[[HeapLimit, tuple[object, ...]], None] | None = None
    keep: tuple[object, ...] = field(default=(), repr=False)
    needed: frozenset[str] = frozenset()
    announced: bool = False

    @property
    def needs_host(self) -> bool:
        """Whether the host has something to do for each call even if memory is a device's: to hand over memory of its
        own, or to have depths of adstacks computed.
        """
        return self.sizes is None or any(isinstance(one, HostArgument) for one in leaves(self.arguments))


def leaves(arguments: Iterable[Argument]) -> Iterator[Argument]:
    """The parts of arguments, in their order: numbers, arrays, and other objects."""
    for one in arguments:
        if isinstance(one, StructArgument):
            yield from leaves(member for _, member in one.members)
        elif isinstance(one, MatrixArgument):
            yield from [one.number] * math.prod(one.shape)
        else:
            yield one


def kind_of(argument: Argument) -> tuple[object, ...]:
    """What tells arguments apart of which machine code serves one and not the other: the class of each part."""
    if isinstance(argument, StructArgument):
        return argument.kind, *(kind_of(member) for _, member in argument.members)
    return (type(argument),)


def of_others(arguments: Iterable[Argument]) -> frozenset[str]:
    """The places of arguments whose memory others write without saying so."""
    return frozenset(one.place for one in leaves(arguments) if isinstance(one, (HostArgument, DeviceArgument)))
