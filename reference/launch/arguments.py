"""What a kernel's parameters take: one object per parameter, made from its annotation.

`take` checks an argument of a call, adds what tells specialisations apart to the call's key, and what is passed at
launch to its scalars and arrays. `spec` describes the argument to the frontend, once per specialisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from ..data.hostarrays import HostArray
from ..data.hostvalues import number, storable
from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..ir.types import DType
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.protocol.backend import Scalar
from ..runtime.protocol.shortcuts import Argument, NumberArgument
from ..values.elements import Elements
from ..values.specs import ScalarSpec, Spec

__all__ = ["Call", "Loan", "Parameter", "ScalarParameter", "invalid"]


_NONE: Final[frozenset[str]] = frozenset()


class Call:
    """What one call passes.

    Attributes:
        key: equal keys are served by the same specialisation.
        scalars: the kernel's scalar parameters, flattened in order.
        arrays: place name -> memory of the array arguments.
        loans: arrays that need care because their memory is not adstack's; usually there are none.
        owners: place name -> the object that owns the memory of a numpy array, where one can tell.
        seeds: for reverse mode, the adjoints of the real numbers that the kernel returned; empty: nothing is connected.
        identity: what tells a call from others of its kernel, once somebody has asked for that.
        needed: what knows that the elements are needed which it has read, see `gradients/launches/records.py`.
        reads: what its reverse mode reads, once somebody has asked for that, see `gradients/launches/last_launch.py`.
    """

    __slots__ = ("arrays", "identity", "key", "loans", "needed", "owners", "reads", "scalars", "seeds")

    def __init__(self) -> None:
        self.key: list[object] = []
        self.scalars: list[Scalar] = []
        self.arrays: dict[str, Buffer] = {}
        self.loans: list[Loan] | None = None
        self.owners: dict[str, object] | None = None
        self.seeds: tuple[float, ...] = ()
        self.identity: object = None
        self.needed: object = None
        self.reads: object = None

    @property
    def lent(self) -> frozenset[str]:
        """The places for which launches work on copies of what was passed."""
        return frozenset(loan.place for loan in self.loans if loan.copy is not None) if self.loans else _NONE

    def lend(self, loan: Loan) -> None:
        """Note an array that may not be written, or that the device works on a copy of."""
        self.loans = [loan] if self.loans is None else [*self.loans, loan]


@dataclass(frozen=True)
class Loan:
    """Memory of someone else that a launch can't use as its own.

    Attributes:
        place: the place that it stands for.
        original: the array that was passed.
        copy: what the launch works on instead, or None.
    """

    place: str
    original: Array
    copy: Buffer | None = None

    def check(self, call: Call, written: frozenset[str]) -> None:
        """An error if the launch would write what may not be written, or lose a write that goes to a copy."""
        if self.place in written and not self.original.flags.writeable:
            raise AdstackArgumentError(
                f"Invalid value for argument {self.place} - the array is read-only and the kernel writes it",
                do="pass a copy",
            )
        if self.copy is None or len(call.arrays) == 1:
            return
        for place in self._neighbours(call):
            if not written.isdisjoint((self.place, place)):
                raise AdstackArgumentError(
                    f"Invalid value for argument {self.place} - it is {self._why_copied} and shares memory with "
                    f"{place}, and the kernel writes one of them",
                    do="pass a copy",
                )

    @property
    def _why_copied(self) -> str:
        """Why the launch works on a copy, for messages."""
        flags = self.original.flags
        if flags.c_contiguous and flags.aligned:
            return "copied, as the device can't use its memory,"
        return "not aligned" if flags.c_contiguous else "not C-contiguous"

    def _neighbours(self, call: Call) -> list[str]:
        """The places of other arguments that share memory with this one."""
        originals = {loan.place: loan.original for loan in call.loans or () if loan.copy is not None}
        arrays = {
            place: originals[place] if place in originals else buffer.view() for place, buffer in call.arrays.items()
        }
        return [
            p for p, a in arrays.items() if p != self.place and a is not None and np.shares_memory(a, self.original)
        ]

    def give_back(self, written: frozenset[str]) -> None:
        """Copy what the launch wrote back to the array that was passed."""
        if self.copy is not None and self.place in written:
            self.original[...] = self.copy.read()


class Parameter(Protocol):
    """A kernel parameter; `name` is dotted for a member of a struct."""

    name: str

    def take(self, value: object, call: Call) -> None:
        """Check an argument and add it to the call."""

    def spec(self, value: object) -> Spec:
        """The spec of an argument that `take` accepted: what the frontend compiles for."""

    def described(self, value: object) -> Argument | None:
        """A description of the arguments that machine code may take like this one; None if Python must take them."""


def invalid(name: str, expected: str, got: object, do: str = "") -> AdstackRuntimeTypeError:
    """The error for an argument of a type that the parameter does not take; `do` says what would be taken."""
    shown = repr(got)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return AdstackRuntimeTypeError(
        f"Invalid value for argument {name} - expected {expected}, got {type(got).__name__}: {shown}", do=do
    )


def _instead(parameter: ScalarParameter, value: object) -> str:
    """What to do about an argument that is no number of the parameter's type."""
    if isinstance(value, HostArray):
        return f"annotate it {parameter.name}: qd.template() for a field, or qd.types.ndarray() for an ndarray"
    if isinstance(value, Elements):
        return "annotate it with a vector type, such as qd.math.vec3"
    if isinstance(value, float):
        return f"pass int(...), or annotate it {parameter.name}: qd.f32"
    return "pass a number"


class ScalarParameter:
    """A number, converted to `dtype`."""

    def __init__(self, name: str, dtype: DType) -> None:
        self.name = name
        self.dtype = dtype
        self._plain = storable(dtype)

    def take(self, value: Any, call: Call) -> None:
        """See `Parameter.take`."""
        kind, low, high = self._plain
        call.scalars.append(value if value.__class__ is kind and low <= value <= high else self.convert(value))

    def convert(self, value: object) -> Scalar:
        """A number of any other kind."""
        if isinstance(value, (str, bytes, HostArray, Elements, type(None))):
            raise invalid(self.name, f"a number for {self.dtype}", value, _instead(self, value))
        try:
            converted: Scalar = number(value, self.dtype, f"argument {self.name}")
        except AdstackArgumentError as error:
            message = f"Invalid value for argument {self.name} - {error.message}"
            raise AdstackArgumentError(message, do=error.do) from None
        except AdstackRuntimeTypeError:
            raise invalid(self.name, f"a number for {self.dtype}", value, _instead(self, value)) from None
        return converted

    def spec(self, value: object) -> Spec:
        """See `Parameter.spec`."""
        return ScalarSpec(self.dtype)

    def described(self, value: object) -> Argument | None:
        """See `Parameter.described`."""
        return NumberArgument(self.dtype, *self._plain)
