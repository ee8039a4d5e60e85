"""One call that a tape has learned, and that it may follow: `Step`.

A step is known by its key: the specialisation, the integers, and the memory; of arrays of the host that it only reads,
their extents. Where launches read and write depends on these alone. It does not keep alive what users hold: the kernel,
arrays, objects.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import ref

from ...launch.arguments import Parameter, ScalarParameter
from ...launch.structured_arguments import MatrixParameter, StructParameter
from ...runtime.memory.buffers import Buffer
from ...runtime.protocol.following import Follower, following
from ...runtime.protocol.words import BESIDE
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..events import Launch
from ..memory.undo import Touched
from ..modes.differentiated import Differentiated
from .lending import LentArray, lent_arrays, without

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation
    from ...runtime.protocol.backend import Scalar

__all__ = ["Key", "Step", "key_of_call"]

Key = tuple[object, ...]
"""What tells calls apart: see `key_of_call`."""

Reference = Callable[[], Any]
"""Gives an object, or None once it is gone."""


def key_of_call(specialisation: Specialisation, call: Call) -> Key:
    """Equal for calls of one specialisation with the same integers, on the same memory: that of others has no name."""
    integers = tuple([scalar if isinstance(scalar, int) else None for scalar in call.scalars])
    arrays = [(name, id(buffer) if buffer.owned else buffer.shape) for name, buffer in call.arrays.items()]
    return id(specialisation), integers, tuple(arrays)


@dataclass(eq=False)
class Step:
    """One call that can be followed.

    Attributes:
        key: what it is known by.
        kernel, args: what was called; the arguments by reference.
        made, call, mode: what serves it, see `Launch`; numbers that are not integers may be others each time, and the
            call has no arrays of the host.
        lent: these arrays, which come with each call.
        follower: what serves it without Python.
        written, before, after: the elements that it writes, and that its reverse mode needs as they were before the
            launch and after it.
        gradients: (memory, memory of its gradients).
        cleared: memory of gradients that starts from zero when a tape first uses it.
        nbytes: how much was kept for it when it was recorded.
    """

    key: Key
    kernel: Reference
    args: tuple[Reference, ...]
    specialisation: Specialisation
    call: Call
    lent: Sequence[LentArray]
    mode: Differentiated | None
    follower: Follower
    written: Sequence[Touched]
    before: Sequence[Touched]
    after: Sequence[Touched]
    gradients: Sequence[tuple[Buffer, Buffer]]
    cleared: Sequence[Buffer]
    nbytes: int
    buffers: list[Buffer] = field(default_factory=list)

    @staticmethod
    def of(kernel: KernelObject, args: tuple[Any, ...], launch: Launch, cleared: Sequence[Buffer]) -> Step | str:
        """The step of a call that was recorded as one launch; if it can't be followed, the reason."""
        specialisation, call, mode = launch.specialisation, launch.call, launch.mode
        lent = lent_arrays(kernel, args, launch)
        others = {id(call.arrays[one.place]) for one in lent}
        buffers = [buffer for buffer in _buffers(launch) if id(buffer) not in others]
        refusal = _refusal(launch, buffers, lent)
        if refusal:
            return refusal
        follower = None if _have_own_numbers(kernel.parameters) else kernel.follower(specialisation, args)
        if follower is None:
            return "arguments"
        before, after = ([one for one in needed if id(one.buffer) not in others] for needed in launch.needed())
        nbytes = sum(change.nbytes for change in launch.changes)
        passed = {one.argument for one in lent}
        references = ref(kernel), tuple(_nothing if k in passed else _reference(a) for k, a in enumerate(args))
        regions = launch.written(), before, after
        key, gradients = key_of_call(specialisation, call), [*launch.gradients]
        return Step(
            *(key, *references, specialisation, without(call, lent), lent, mode, follower),
            *(*regions, gradients, cleared, nbytes, buffers),
        )

    def passed(self, scalars: Iterable[Scalar]) -> list[Any]:
        """The arguments of a call that was handed some numbers; `None` for those in `lent`."""
        kernel, numbers = self.kernel(), iter(scalars)
        return [_passed(parameter, one, numbers) for parameter, one in zip(kernel.parameters, self.args, strict=True)]

    @cached_property
    def takes_floats(self) -> bool:
        """Whether calls that are served may have other numbers than the one that was learned."""
        return any(param.is_float for param in self.specialisation.plan.compiled.program.params)

    @property
    def touched(self) -> Iterator[int]:
        """The identities of the memory that the launch itself reads or writes."""
        plan = self.specialisation.plan
        buffers = {**plan.buffers, **self.call.arrays}
        return (id(buffers[name]) for name in plan.compiled.read | plan.compiled.written if name in buffers)

    @property
    def references(self) -> Iterator[Reference]:
        """To what it was learned with."""
        yield from (self.kernel, *(one for one in self.args if one is not _nothing))
        yield from map(_reference, self.specialisation.life.objects())

    @property
    def words(self) -> Iterator[tuple[int, int]]:
        """(address, value) of words that tell that arrays have the gradients that they had."""
        for name, buffer in self.call.arrays.items():
            if f"{name}.grad" in self.call.arrays:
                record = buffer.record()
                yield ctypes.addressof(record) + 8 * BESIDE, record[BESIDE]


def _refusal(launch: Launch, buffers: Sequence[Buffer], lent: Sequence[LentArray]) -> str:
    """Why a launch on some memory can't be followed: a name of `fallbacks.REASONS`; empty if it can."""
    if type(launch) is not Launch:
        return "logged"
    if launch.specialisation.returns is not None or (launch.mode is not None and launch.mode.seeds):
        return "returns"
    loans = {loan.place for loan in launch.call.loans or ()} - {one.place for one in lent}
    if loans or not all(b.owned and b.alive and not b.shared for b in buffers):
        return "shared"
    if launch.mode is not None and launch.mode.plan.compiled.races is not None:
        return "checked"
    device = following(launch.specialisation.plan.backend)
    if device is not None and launch.mode is not None and not device.reverses(launch.mode.plan.compiled.executable):
        return "device"
    return ""


def _buffers(launch: Launch) -> list[Buffer]:
    """All memory of a launch and its reverse mode."""
    reverse = {} if launch.mode is None else launch.mode.plan.buffers
    every = [*launch.specialisation.plan.buffers.values(), *launch.call.arrays.values(), *reverse.values()]
    return list({id(buffer): buffer for buffer in every}.values())


def _passed(parameter: Parameter, one: Reference, scalars: Iterator[Scalar]) -> Any:
    """An argument: of a number, vector or matrix by the next of the scalars, else by reference."""
    if isinstance(parameter, ScalarParameter):
        return next(scalars)
    if isinstance(parameter, MatrixParameter):
        return Elements.over([next(scalars) for _ in range(math.prod(parameter.shape))], parameter.shape)
    return one()


def _have_own_numbers(parameters: Iterable[Parameter]) -> bool:
    """Whether a struct has numbers, which may be others in each call: nobody could tell which struct it was."""
    structs = [one for one in parameters if isinstance(one, StructParameter)]
    members = [member for struct in structs for member in struct.members.values()]
    numbers = any(isinstance(one, (ScalarParameter, MatrixParameter)) for one in members)
    return numbers or (bool(members) and _have_own_numbers(members))


def _nothing() -> None:
    """Stands for an argument that comes with each call."""


def _reference(value: Any) -> Reference:
    """A weak reference; to what can't have one, and to numbers, a strong one."""
    if not isinstance(value, (int, float)):
        try:
            return ref(value)
        except TypeError:
            pass
    return lambda: value
