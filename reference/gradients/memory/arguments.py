"""What tells the launches of a kernel apart: their numbers, and the memory of their arrays."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...runtime.memory.buffers import Array
from ...runtime.memory.scalar_bits import scalar_bits
from .undo import identity

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation

__all__ = ["ArgumentKey", "argument_key"]


class ArgumentKey:
    """Equal for calls with the same arguments.

    Attributes:
        value: what is compared.
        owners: weak references to the ndarrays, and to what owns the memory of numpy arrays: where one is gone, another
            array may have come to stand in its memory. Of arrays of other libraries only the memory is known.
        gone: who is told of the value when one of them is gone.
    """

    __slots__ = ("gone", "owners", "value")

    def __init__(
        self,
        value: tuple[object, ...],
        owners: list[weakref.ReferenceType[object]],
        gone: Callable[[tuple[object, ...]], None] | None = None,
    ) -> None:
        self.value, self.owners, self.gone = value, owners, gone

    @property
    def alive(self) -> bool:
        """Whether all arrays are still there."""
        for owner in self.owners:  # noqa: SIM110 - each gradient asks: no generator
            if owner() is None:
                return False
        return True


def argument_key(
    specialisation: Specialisation, call: Call, gone: Callable[[tuple[object, ...]], None] | None = None
) -> ArgumentKey:
    """The key of a call; `gone` is told of its value when one of its arrays is not there any more."""
    known = call.identity
    if isinstance(known, ArgumentKey) and (not call.arrays or gone is None or known.gone == gone):
        return known
    key = _of_arrays(specialisation, call, gone) if call.arrays else _of_numbers(specialisation, call)
    if not call.loans and not (call.arrays and gone is None):
        call.identity = key
    return key


def _of_arrays(
    specialisation: Specialisation, call: Call, gone: Callable[[tuple[object, ...]], None] | None
) -> ArgumentKey:
    """The key of a call that passes arrays."""
    bits = scalar_bits(specialisation.plan.compiled.program.params, call.scalars)
    originals = {loan.place: loan.original for loan in call.loans or () if loan.copy is not None}
    arrays = []
    for name, buffer in sorted(call.arrays.items(), key=lambda item: item[0]):
        if not name.endswith((".grad", ".grad.dual")):
            original = originals.get(name)
            arrays.append((name, identity(buffer) if original is None else _place(original)))
    value = bits, tuple(arrays)

    def forget(_: weakref.ReferenceType[object]) -> None:
        if gone is not None:
            gone(value)

    owned = (buffer for name, buffer in call.arrays.items() if buffer.owned and name not in call.lent)
    owners: list[weakref.ReferenceType[object]] = [weakref.ref(buffer, forget) for buffer in owned]
    owners += [weakref.ref(owner, forget) for owner in (call.owners or {}).values() if _is_referable(owner)]
    return ArgumentKey(value, owners, gone)


def _of_numbers(specialisation: Specialisation, call: Call) -> ArgumentKey:
    """The key of a call that passes no arrays."""
    if not call.scalars:
        return ArgumentKey((), [])
    return ArgumentKey((scalar_bits(specialisation.plan.compiled.program.params, call.scalars), ()), [])


def _place(array: Array) -> tuple[object, ...]:
    """Where an array of the host lies, and how."""
    return array.ctypes.data, array.shape, array.strides, array.dtype.str


def _is_referable(value: object) -> bool:
    return getattr(type(value), "__weakrefoffset__", 0) != 0
