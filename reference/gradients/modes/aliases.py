"""Memory that a kernel knows by two names, by which its derivative could not be told.

A call may pass memory that the kernel has otherwise, too: another argument, an ndarray that it captures, a field of
which others have a view, or the gradient of one of these. Adjoints follow names: what is written by one name and read
by another would be lost on the way. Launches compute such programs; derivatives of them are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ...data.ndarrays import Ndarray
from ...errors import AdstackDataAccessError, AdstackRuntimeError
from ...ir.structure import Place
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.memory.overlaps import overlap
from ...runtime.plans import Plan

__all__ = ["Aliases"]

Pair = tuple[str, str]


class Aliases:
    """The pairs of places of one specialisation in one mode that must not be the same memory.

    Args:
        specialisation: what is differentiated.
        plan: its derivative.
        companions: primal place name -> the place of its gradient or dual.
    """

    def __init__(self, specialisation: Specialisation, plan: Plan, companions: Mapping[str, Place]) -> None:
        self._specialisation, self._plan, self._companions = specialisation, plan, companions
        places = specialisation.kernel.places.values()
        primal = [place for place in places if place.role == "primal" and place.kind in ("field", "ndarray")]
        self._arguments = {place.name for place in primal if place.kind == "ndarray"}
        self._names = sorted(place.name for place in primal)

    @cached_property
    def _written(self) -> list[tuple[str, str, bool]]:
        """(written by the launch, another place, whether its derivative reads the latter): one is an argument."""
        written, read = self._specialisation.plan.compiled.written, self._plan.compiled.read
        pairs = [(one, other) for other in self._names for one in self._names if one in written and one != other]
        return [
            (one, other, other in read)
            for one, other in pairs
            if not self._arguments.isdisjoint((one, other)) and (other in read or other in self._companions)
        ]

    @cached_property
    def _beside(self) -> list[Pair]:
        """(primal place, another one that has a gradient or dual): the former may be that memory."""
        pairs = [(one, other) for other in sorted(self._companions) for one in self._names if one != other]
        return [pair for pair in pairs if not self._arguments.isdisjoint(pair)]

    @property
    def pairs(self) -> list[Pair] | None:
        """Places for machine code to compare by their addresses; None if that does not tell, and Python has to look."""
        if not self._arguments:
            return []
        fixed = {name for one, other, _ in self._written for name in (one, other)} - self._arguments
        if any(self._is_lent(self._fixed(name)) for name in fixed):
            return None
        if any(self._is_lent(self._gradient_of(name)) for name in self._companions.keys() - self._arguments):
            return None
        apart = [(one, other) for one, other, _ in self._written if self._may_be_passed(one, other)]
        beside = [(one, self._companions[other].name) for one, other in self._beside if self._may_be_passed(one, other)]
        return list(dict.fromkeys((*apart, *beside)))

    def check(self, call: Call) -> None:
        """Look at the memory that a call passes.

        AdstackDataAccessError if the kernel writes it and has it by another name; AdstackRuntimeError if it is the
        memory of a gradient or dual.
        """
        if not self._arguments:
            return
        for one, other, is_read in self._written:
            if not self._may_be_passed(one, other) or (not is_read and self._have_one_gradient(call, one, other)):
                continue
            if overlap(self._memory(call, one), self._memory(call, other)):
                raise self._shared(one, other)
        for one, other in self._beside:
            gradient = self._gradient(call, other)
            if gradient is not None and overlap(self._memory(call, one), gradient):
                raise self._differentiated_through(one, other)

    # ---- memory

    def _fixed(self, name: str) -> Buffer:
        """The memory of a place that is the same in every call."""
        return self._specialisation.plan.buffers[name]

    def _memory(self, call: Call, name: str) -> Buffer:
        return call.arrays[name] if name in self._arguments else self._fixed(name)

    def _gradient_of(self, name: str) -> Buffer | None:
        """The gradient or dual of a place that is the same in every call."""
        return self._plan.buffers.get(self._companions[name].name)

    def _gradient(self, call: Call, name: str) -> Buffer | None:
        """The gradient or dual of a place, as far as this launch has one."""
        place = self._companions.get(name)
        if place is None:
            return None
        return call.arrays.get(place.name) if name in self._arguments else self._gradient_of(name)

    def _have_one_gradient(self, call: Call, one: str, other: str) -> bool:
        """Whether two places have the same memory for their gradients, so that adjoints find their way."""
        gradients = self._gradient(call, one), self._gradient(call, other)
        return gradients[0] is not None and gradients[1] is not None and gradients[0].storage is gradients[1].storage

    def _is_lent(self, memory: Buffer | None) -> bool:
        """Whether others have views of it, which they may pass."""
        return memory is not None and memory.shared

    def _may_be_passed(self, *names: str) -> bool:
        """Whether those that are the same in every call may be arguments, too: ndarrays, and fields that are lent."""
        fields = self._specialisation.fields
        return all(
            name in self._arguments or isinstance(fields.get(name), Ndarray) or self._is_lent(self._fixed(name))
            for name in names
        )

    # ---- errors

    def _said(self, name: str) -> str:
        if name in self._arguments:
            return f"argument {name}"
        label = self._specialisation.kernel.places[name].label
        if isinstance(self._specialisation.fields.get(name), Ndarray):
            return f"the ndarray {label} that it captures" if label != "ndarray" else "an ndarray that it captures"
        return f"field {label or name}"

    def _shared(self, one: str, other: str) -> AdstackDataAccessError:
        kernel = self._specialisation.kernel
        return AdstackDataAccessError(
            f"{self._said(one)} and {self._said(other)} of {kernel.name} share memory, and it writes by the former: "
            f"what it read by the latter can't be told",
            loc=kernel.loc,
            do="pass arrays that do not overlap",
        )

    def _differentiated_through(self, one: str, other: str) -> AdstackRuntimeError:
        kernel = self._specialisation.kernel
        return AdstackRuntimeError(
            f"Cannot automatically differentiate through a grad tensor: {self._said(one)} of {kernel.name} is the "
            f"memory of the gradient or dual of {self._said(other)}",
            loc=kernel.loc,
            do="launch it outside of the differentiation, put it in a function under ad.no_grad, or pass a copy",
        )
