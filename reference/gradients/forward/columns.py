"""Forward mode along several directions at once, for the columns of a Jacobian or a Hessian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...data.fields import Field
from ...data.hostarrays import HostArray
from ...data.ndarrays import Ndarray
from ...errors import AdstackMemoryError, AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime import state
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.state import Runtime
from ...runtime.threads.recording import Constant
from ..events import Launch
from ..memory.undo import identity
from ..modes.differentiated import Differentiated
from .dual import FwdMode
from .lane_launch import LaneLaunch
from .lane_memory import LaneMemory, TooManyLanesError
from .tangents import Lanes, Tangents

__all__ = ["Columns"]

_DUALS: Final = ("dual", "grad.dual")


class Columns(FwdMode):
    """As `FwdMode`, along several directions. Duals hold the tangents along the first, `memory` those along the others.

    So does a Tape within it: gradients, and their duals, are those along the first direction, and `memory` has those
    along the others. Nobody else may look at duals meanwhile, nor at gradients where there is a Tape: whatever has one
    direction in mind is refused, and so is what takes too much memory. `narrower` then says how many directions may be
    tried.

    Args:
        loss: the field or ndarray whose duals are wanted.
        param: the field or ndarray along which to differentiate.
        seeds: the directions, one number for each number in `param`, flat.
        memory: of as many directions; it may have been used before.

    Attributes:
        narrower: 0 until something is refused; then how many directions to go on with, which may be 1: use `FwdMode`.
    """

    def __init__(self, loss: Any, param: Any, seeds: Sequence[Array], memory: LaneMemory) -> None:
        self.narrower = 0
        self._memory = memory
        self._seeds = seeds
        self._looked_after: dict[str, set[object]] = {}
        self._taped = self._gradients_used = False
        super().__init__(loss, param, seeds[0])

    def chain(self) -> Tangents:
        """See `FwdMode.chain`."""
        return Lanes(self._memory.lanes, self._alone)

    def beside(self, dual: Buffer) -> Sequence[Buffer]:
        """See `FwdMode.beside`."""
        try:
            return self._memory.beside(dual)
        except TooManyLanesError as error:
            raise self._too_many() from error

    def begin(self) -> None:
        """See `FwdMode.begin`."""
        self._memory.clear()
        for data in (*self.losses, self.param):
            self._check_dense(data)
        for role in (*_DUALS, "grad"):
            residents = [data for data in state.current().residents() if isinstance(data, (Field, Ndarray))]
            of_role = [data for data in residents if data.role == role and data.has_data()]
            self._looked_after[role] = {identity(data.buffer) for data in of_role}
        super().begin()
        for buffer, seed in zip(self.beside(self.param.dual.buffer), self.directions(), strict=True):
            buffer.write(seed)

    def directions(self) -> Sequence[Array]:
        """See `FwdMode.directions`."""
        return [np.reshape(seed, self.seed.shape) for seed in self._seeds]

    def columns(self, data: Any) -> list[Array]:
        """The tangents of a field or ndarray, an array of its shape for each direction."""
        if self._memory.is_shared:
            raise self._alone("others may look at duals")
        return [np.array(buffer.read()) for buffer in self.beside(data.dual.buffer)]

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel along all directions, or plainly if nothing that it touches has a dual; what it returns."""
        specialisation, call, runtime = kernel.prepared(args, kwargs)
        self._check_duals(specialisation, call)
        if not self.moves(specialisation, call):
            return specialisation.launch(call)
        scalars = self.launched(specialisation, call, runtime)
        if specialisation.records is not None:
            specialisation.records.note(call)
        return None if specialisation.returns is None else self.tangents.returned(specialisation.returns, scalars)

    def check_plain(self, specialisation: Specialisation, call: Call) -> None:
        """See `FwdMode.check_plain`."""
        self._check_duals(specialisation, call)
        super().check_plain(specialisation, call)

    def check_array(self, array: Any) -> None:
        """See `FwdMode.check_array`."""
        self._check_host(array)

    def launched(
        self, specialisation: Specialisation, call: Call, runtime: Runtime, part: int | None = None
    ) -> Sequence[Any]:
        """Launch along all directions; the scalars that come back, the tangents of one number side by side."""
        try:
            mode = self._memory.mode(specialisation, runtime, part)
            return mode.run(call, self._memory.arrays(mode, call))
        except (TooManyLanesError, AdstackMemoryError) as error:
            raise self._too_many() from error

    # ---- a Tape within it

    @property
    def is_open(self) -> bool:
        """See `LaneLaunches.is_open`."""
        return self._memory.open

    def open_tape(self, constant: Constant, *, plain: bool) -> None:
        """See `FwdMode.open_tape`."""
        super().open_tape(constant, plain=plain)
        if not plain:
            raise self._alone("a Tape checks launches, or adds to gradients that there are")
        self._taped = True
        self._check_gradients()
        self._memory.clear_gradients()

    def enter(self, kernel: Any, specialisation: Specialisation, call: Call, runtime: Runtime) -> Specialisation:
        """See `FwdMode.enter`: what computes the tangents along the first direction."""
        self._check_duals(specialisation, call)
        return super().enter(kernel, specialisation, call, runtime)

    def recorded(self, launches: list[Launch], plain: Specialisation, runtime: Runtime) -> list[Launch]:
        """See `FwdMode.recorded`."""
        if launches[0].specialisation is plain:
            return launches
        if any(type(launch) is not Launch for launch in launches):
            raise self._alone(f"{plain.kernel.name} overwrites what its derivative needs, and has to log it")
        parts = [None] if len(launches) == 1 else range(len(launches))
        return [
            LaneLaunch(
                one.specialisation,
                one.call,
                one.mode,
                plain=plain,
                part=part,
                lanes=self,
                count=self._memory.lanes,
                runtime=runtime,
            )
            for one, part in zip(launches, parts, strict=True)
        ]

    def beside_gradient(self, grad: Buffer) -> Sequence[Buffer]:
        """See `FwdMode.beside_gradient`."""
        try:
            return self._memory.beside_gradient(grad)
        except TooManyLanesError as error:
            raise self._too_many() from error

    def reverse_mode(self, mode: Differentiated, runtime: Runtime) -> Differentiated:
        """See `LaneLaunches.reverse_mode`."""
        try:
            return self._memory.reverse_mode(mode, runtime)
        except TooManyLanesError as error:
            raise self._too_many() from error

    def reversed(self, one: Differentiated, every: Differentiated, call: Call, more: Mapping[str, Buffer]) -> None:
        """See `LaneLaunches.reversed`."""
        try:
            every.launch(call, {**self._memory.reversed_arrays(one, call), **more})
        except (TooManyLanesError, AdstackMemoryError) as error:
            raise self._too_many() from error

    # ---- what is refused

    def reverses(self) -> None:
        """Refuse reverse mode that is not the Tape's own: it would change gradients along the first direction alone."""
        raise self._alone("a launch is differentiated in reverse by kernel.grad()")

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """See `FwdMode.host_read`."""
        self._check_host(array)
        return super().host_read(array, position, value)

    def host_looked(self, array: Any) -> None:
        """The host reads all of an array."""
        if _is_dual(array):
            raise self._alone("the host reads a dual")
        if array.role == "grad":
            self._check_gradients(used=True)

    def host_linked(self, array: Any, where: Any, entries: Sequence[Any]) -> None:
        """See `FwdMode.host_linked`."""
        self._check_host(array)
        super().host_linked(array, where, entries)

    def host_wrote(self, array: Any, where: Any) -> None:
        """See `FwdMode.host_wrote`."""
        self._check_host(array)
        super().host_wrote(array, where)

    def _check_host(self, array: Any) -> None:
        self.host_looked(array)
        self._check_dense(array)

    def _check_dense(self, data: Any) -> None:
        """Cells of sparse levels are set to zero with the duals that adstack knows of."""
        if data.cells:
            raise self._alone("a field is sparse")

    def _check_duals(self, specialisation: Specialisation, call: Call) -> None:
        """Refuse a kernel that works on duals, or on sparse fields."""
        if any(self._works_on(role, specialisation, call) for role in _DUALS):
            raise self._alone("a kernel works on duals")
        self._check_gradients(used=self._works_on("grad", specialisation, call))
        for data in specialisation.fields.values():
            self._check_dense(data)

    def _works_on(self, role: str, specialisation: Specialisation, call: Call) -> bool:
        """Whether a kernel uses memory of this role by itself: what comes beside an argument is not meant."""
        places = [place for place in specialisation.kernel.places.values() if place.role == role]
        beside = {place.name for place in places}
        others = (buffer for name, buffer in call.arrays.items() if name not in beside)
        known = self._looked_after[role]
        return any(place.kind == "field" for place in places) or any(identity(buffer) in known for buffer in others)

    def _check_gradients(self, *, used: bool = False) -> None:
        """Refuse gradients that others use where a Tape computes them along several directions."""
        self._gradients_used |= used
        if self._taped and self._gradients_used:
            raise self._alone("a gradient is used beside a Tape")

    def _alone(self, what: str) -> AdstackRuntimeError:
        self.narrower = 1
        return AdstackRuntimeError(
            f"several columns can't be computed at once: {what}",
            do="let the error pass: they are computed one at a time",
        )

    def _too_many(self) -> AdstackRuntimeError:
        self.narrower = max(1, self._memory.lanes // 2)
        return AdstackRuntimeError(
            f"{self._memory.lanes} columns at once take too much memory",
            do="let the error pass: fewer are computed at once",
        )


def _is_dual(data: HostArray) -> bool:
    return data.role in _DUALS
