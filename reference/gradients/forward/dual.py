"""`FwdMode`: launches compute directional derivatives as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...data.activation import shown
from ...data.fields import Field
from ...data.hostvalues import number
from ...data.ndarrays import Ndarray
from ...errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.observers import OBSERVERS
from ...runtime.state import Runtime
from ...runtime.threads.recording import RECORDERS, Constant, check_entered, is_recording, recording
from ...runtime.threads.runtime_lock import RUNTIME_LOCK
from ...runtime.threads.scopes import Entry, Scoped
from ...values.calling import takes
from ...values.linked import Linked
from ..clearing import claim, clear_all, is_another_threads
from ..events import Launch
from ..memory.positions import flat_positions
from ..memory.undo import differing, identity
from ..modes.companions import companions
from ..modes.compiled import differentiated
from ..modes.differentiated import with_arrays
from ..modes.jvp import has_second, refuse_partial
from .arguments import duals_of_gradients
from .constants import ForwardConstants, check_constants
from .tangents import Tangents

__all__ = ["FwdMode", "check_moving"]


class FwdMode(Scoped):
    """Directional derivatives: within it, a launch also computes the `.dual` of what it writes.

    For instance::

        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0]):
            compute()
        y.dual[None]

    Reverse mode within it, by `kernel.grad()` or a Tape, gives second derivatives: `x.grad.dual` is the directional
    derivative of `x.grad`, for fields and ndarrays that have gradients and duals.

    A real number that a kernel returns has its directional derivative at `.dual`, and takes it along where the host
    computes with it and stores it. On leaving, the dual of `param` is zero again, unless `param` is one of the losses.
    Numpy arrays and torch tensors, scalars, and what has no dual are constant.

    Args:
        loss: the field or ndarray whose dual is wanted, or several.
        param: the field or ndarray along which to differentiate.
        seed: the direction, one number for each number in `param`, flat; it may be left out for a single number. Those
            of elements of a sparse field that are inactive have no effect. What the host writes to `param` inside moves
            along it, too.
        clear_gradients: whether all duals start from zero; those that a FwdMode of another thread used last do so when
            a launch first uses them.

    Attributes:
        calls: what was launched: (kernel, arguments), in order.
        tangents: the numbers of the host that move.
    """

    @takes("ad.FwdMode")
    def __init__(self, loss: Any, param: Any, seed: Any = None, clear_gradients: bool = True) -> None:
        self.losses = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        self.param = param
        self.clear_gradients = clear_gradients
        for data in (*self.losses, param):
            check_moving(data)
        self.seed = _direction(param, seed)
        self.calls: list[tuple[object, tuple[object, ...]]] = []
        self.tangents = self.chain()
        self._recorder: Entry[Any] | None = None
        self._observer: Entry[Any] | None = None
        self._duals: dict[object, tuple[Buffer, Buffer]] = {}
        self._before: dict[object, Array] = {}
        self._constant: Constant = lambda buffer, positions: None

    def __enter__(self) -> FwdMode:
        if is_recording():
            raise AdstackRuntimeError("FwdMode can't be entered inside another FwdMode or Tape", do="leave it first")
        try:
            with RUNTIME_LOCK.lock:
                self.begin()
        except BaseException:
            self._end()
            raise
        return self

    def chain(self) -> Tangents:
        """What the numbers of one block belong to."""
        return Tangents()

    def directions(self) -> Sequence[Array]:
        """Along which the parameter moves: arrays of its shape."""
        return (self.seed,)

    def beside(self, dual: Buffer) -> Sequence[Buffer]:
        """The memory of all tangents, one for each direction, of what has the memory `dual` beside it."""
        return (dual,)

    def begin(self) -> None:
        """Take over the calls of this thread: they are launched with tangents."""
        if self.clear_gradients:
            clear_all("dual")
        for data in (*self.losses, self.param):
            self.take(data.buffer, data.dual.buffer)
        self._start()
        self.tangents = self.chain()
        holder = self.holder()
        self._recorder = RECORDERS.begin(self, holder)
        self._observer = OBSERVERS.begin(self, holder)

    def _start(self) -> None:
        """Let the parameter move along the seed. What is inactive is constant, and stays inactive."""
        dual = self.param.dual
        dual.from_numpy(shown(dual, self.seed) if dual.cells else self.seed)

    def _end(self) -> None:
        """Leave the calls of this thread to others again."""
        self.tangents.close()
        RECORDERS.end(self._recorder)
        OBSERVERS.end(self._observer)
        self._recorder = self._observer = None

    def leave(self, kind: object, error: object, trace: object) -> None:
        """The direction is zero again, also after an error."""
        check_entered(self._recorder, "FwdMode")
        try:
            with RUNTIME_LOCK.lock:
                self.note_others()
                if not any(loss is self.param for loss in self.losses):
                    with recording(None):
                        self.param.dual.fill(0)
        finally:
            self._end()

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel in forward mode, or plainly if nothing that it touches has a dual; what it returns."""
        specialisation, call, runtime = kernel.prepared(args, kwargs)
        jvp = self.enter(kernel, specialisation, call, runtime)
        self.calls.append((kernel, (*args, *kwargs.values())))
        if jvp is specialisation:
            return jvp.launch(call)
        if jvp.records is not None:  # the launch may be differentiated: what its gradient's call has, it has
            call = self.second(kernel, call, kernel.positional(args, kwargs))
        returned: Any = jvp.launch(call)
        self._note_lent()
        if specialisation.records is not None:
            specialisation.records.note(call)
        return None if specialisation.returns is None else self.tangents.returned(specialisation.returns, returned)

    def enter(self, kernel: Any, specialisation: Specialisation, call: Call, runtime: Runtime) -> Specialisation:
        """What computes the tangents of a call of a kernel: the specialisation itself where there are none."""
        if not self.moves(specialisation, call):
            return specialisation
        differentiated(specialisation, "forward", runtime, strict=False).check(call)
        jvp: Specialisation = kernel.with_tangents(specialisation, runtime)
        return jvp

    def moves(self, specialisation: Specialisation, call: Call) -> bool:
        """Whether a call has something with a dual; those duals are ready for it then."""
        check_constants(specialisation, call)
        duals = companions(specialisation, "dual")
        if duals:
            self.note_others()
        for name, place in duals.items():
            self.take(*_memory(specialisation, call.arrays, name, place.name))
        return bool(duals)

    def constant(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function whose launches, and the host's writes in it, count as constants; what it returns."""
        with recording(ForwardConstants(self)):
            return function(*args, **kwargs)

    def check_plain(self, specialisation: Specialisation, call: Call) -> None:
        """A launch is about to be made without tangents."""
        self.note_others()

    def check_array(self, array: Any) -> None:
        """The host is about to write constants to an array."""

    def reverses(self) -> None:
        """A launch is about to be differentiated in reverse by `kernel.grad()`, also inside of a Tape."""

    def adjoint(
        self, kernel: Any, specialisation: Specialisation, call: Call, runtime: Runtime, args: Sequence[object]
    ) -> tuple[Specialisation, Call]:
        """The kernel with tangents, and the call with the duals of gradients; as they are if there are none of those.

        AdstackRuntimeError if something has a gradient and no dual.
        """
        if not has_second(specialisation):
            return specialisation, call
        refuse_partial(specialisation)
        return kernel.with_tangents(specialisation, runtime), self.second(kernel, call, args)

    def second(self, kernel: Any, call: Call, args: Sequence[object]) -> Call:
        """A call with the duals of the gradients of what it passes."""
        second = with_arrays(call, dict(duals_of_gradients(kernel.parameters, args)))
        if call.seeds:
            second.seeds = (*[0.0] * len(call.seeds), *call.seeds)  # of the numbers, then of their tangents
        return second

    # ---- a Tape within it

    def open_tape(self, constant: Constant, *, plain: bool) -> None:
        """A Tape begins; a `plain` one sets gradients to zero, and checks nothing.

        `constant` is told which duals are zero because others have written what they are beside.
        """
        self._constant = constant

    def recorded(self, launches: list[Launch], plain: Specialisation, runtime: Runtime) -> list[Launch]:
        """What a Tape records where it would record `launches`, of the tangents of `plain` or of that itself."""
        return launches

    def beside_gradient(self, grad: Buffer) -> Sequence[Buffer]:
        """The memory of gradients, or of their tangents, along all directions: the first of which has `grad`."""
        return (grad,)

    def host_looked(self, array: Any) -> None:
        """The host reads an array."""

    # ---- the host

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """The `value` that the host has read at a `position` of an array; it moves along the dual of the element."""
        dual = array.dual
        if dual is None or not dual.is_placed:
            return value
        tangents = [float(buffer.item(position)) for buffer in self.beside(dual.buffer)]
        return Linked.of(value, self.tangents, self.tangents.node(tangents))

    def host_linked(self, array: Any, where: Any, entries: Sequence[Any]) -> None:
        """The host has written linked numbers, the `entries`, to an array: the elements move as the numbers do.

        With plain ones among them it is as in `host_wrote`.
        """
        if array.dual is None or not array.dual.is_placed:
            return
        positions = flat_positions(array.dual.buffer, where)
        self._note_own(array.buffer, positions)
        plain = np.resize([not self.tangents.has(entry) for entry in entries], len(positions))
        along = zip(*map(self.tangents.tangents, entries), strict=True)
        plainly = self._of_inputs(array.dual.buffer, positions)
        for buffer, tangents, seeds in zip(self.beside(array.dual.buffer), along, plainly, strict=True):
            values = np.array([number(t, buffer.dtype, "a dual") for t in tangents], buffer.dtype.numpy)
            buffer.exchange(positions, np.where(plain, seeds, np.resize(values, len(positions))))

    def _of_inputs(self, dual: Buffer, positions: Any) -> list[Array]:
        """The tangents, along each direction, of plain numbers at flat positions of what has the memory `dual` beside.

        The parameter's are inputs whenever they are written, as reverse mode has it, and move along the seed; others
        are constant.
        """
        if dual is not self.param.dual.buffer:
            return [np.zeros(len(positions), dual.dtype.numpy)] * self.tangents.directions
        sparse = bool(self.param.dual.cells)
        seeds = [shown(self.param.dual, seed) if sparse else seed for seed in self.directions()]
        return [seed.reshape(-1)[positions] for seed in seeds]

    def take(self, primal: Buffer, dual: Buffer) -> None:
        """Work with a dual that may be another thread's until now."""
        key = identity(primal)
        if self._duals.get(key) != (primal, dual):
            self._duals[key] = primal, dual
            if self.clear_gradients and is_another_threads(dual):
                dual.write(0)
            claim(dual)

    # ---- what other threads write

    def before_others(self, buffer: Block) -> None:
        """Another thread is about to write: what changes is constant from then on."""
        key = identity(buffer)
        if key in self._duals and key not in self._before:
            self._before[key] = np.array(buffer.read())

    def _note_lent(self) -> None:
        """What a launch has left in memory that others may write without a word: what changes from now on is theirs."""
        for primal, _ in list(self._duals.values()):
            if primal.shared:
                self.before_others(primal)

    def note_others(self) -> None:
        """Set the duals to zero of what others have changed; the parameter moves along the seed there."""
        before, self._before = self._before, {}
        for key, old in before.items():
            primal, dual = self._duals[key]
            positions = differing(old, primal.read())
            if len(positions):
                for buffer, values in zip(self.beside(dual), self._of_inputs(dual, positions), strict=True):
                    buffer.exchange(positions, values)
                    self._constant(buffer, positions)

    def _note_own(self, primal: Buffer, positions: Any) -> None:
        """The host has written elements at flat positions of some memory: it is not others who have changed them."""
        old = self._before.get(identity(primal))
        if old is not None:
            old.reshape(-1)[positions] = primal.read().reshape(-1)[positions]

    def host_wrote(self, array: Any, where: Any) -> None:
        """The host has written to an array: the elements are constant; those of the parameter move along the seed."""
        dual = array.dual
        if dual is not None and dual.is_placed and dual.has_data():
            positions = flat_positions(dual.buffer, where)
            self._note_own(array.buffer, positions)
            tangents = self._of_inputs(dual.buffer, positions)
            for buffer, values in zip(self.beside(dual.buffer), tangents, strict=True):
                if where is ...:
                    buffer.write(values.reshape(buffer.shape))
                else:
                    buffer.exchange(positions, values)


def _memory(specialisation: Specialisation, arrays: Any, name: str, dual: str) -> tuple[Buffer, Buffer]:
    """The memory of a place, and of its dual."""
    if name in specialisation.fields:
        data = specialisation.fields[name]
        return data.buffer, data.dual.buffer
    return arrays[name], arrays[dual]


def check_moving(data: object) -> None:
    """Raise AdstackRuntimeTypeError, or AdstackRuntimeError for a place it lacks, unless it has tangents."""
    if not isinstance(data, (Field, Ndarray)):
        kind = type(data)
        raise AdstackRuntimeTypeError(
            f"FwdMode takes fields and ndarrays, got {kind.__module__}.{kind.__name__}",
            do="copy the data to a field or an ndarray with needs_dual=True",
        )
    if data.dual is None:
        differentiable = isinstance(data, Ndarray) and data.dtype.is_float
        do = "make it with needs_dual=True" if differentiable else "only real numbers have duals"
        raise AdstackRuntimeTypeError(f"{data.label} of {data.dtype} has no dual", do=do)
    if isinstance(data.dual, Field) and not data.dual.is_placed:
        raise data.dual.unplaced()


def _direction(param: Field | Ndarray, seed: Sequence[float] | None) -> Any:
    """The seed as an array of the shape of the parameter's dual."""
    shape = param.shape + param.element_shape
    count = math.prod(shape)
    if seed is None:
        if count != 1:
            raise AdstackRuntimeError(
                f"`seed` is not set, and the parameter {param.label} holds {count} numbers",
                do=f"pass seed=[...] with {count} numbers: the direction along which to differentiate",
            )
        seed = [1.0]
    try:
        flat = np.asarray(seed, param.dtype.numpy).reshape(-1)
    except (TypeError, ValueError) as error:
        raise AdstackArgumentError(
            f"`seed` must be numbers, got {seed!r}",
            do=f"pass {count} numbers: the direction along which to differentiate",
        ) from error
    if len(flat) != count:
        raise AdstackArgumentError(
            f"`seed` has {len(flat)} numbers, and the parameter {param.label} holds {count}",
            do=f"pass {count} numbers",
        )
    return flat.reshape(shape)
