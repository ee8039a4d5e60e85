"""Launch plans: a compiled program with everything resolved that does not change from call to call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from ..errors import AdstackRuntimeError
from ..ir.structure import Place
from .compiled import Compiled
from .memory.buffers import Buffer
from .memory.history import MISSED
from .memory.keeping import Copies
from .memory.observers import OBSERVERS, tell_others
from .memory.provenance import Source, Sources
from .memory.streams import ordered
from .protocol.abilities import copying, serving, sharing
from .protocol.backend import Backend, Bindings, Scalar, Scalars
from .protocol.following import Follower, following
from .protocol.shortcuts import Argument, Before, SameAttribute, Shortcut, Still
from .sizes import Sizing
from .writes import Writes

__all__ = ["REFUSED", "Plan", "launched", "refuse"]

REFUSED: Final = object()
"""Stands for the result of a call that was not served."""
Served = TypeVar("Served")


class Plan:
    """Runs one compiled program.

    Args:
        backend: where it runs.
        compiled: what runs.
        buffers: place name -> memory, of the places that are the same in every call (fields).

    Attributes:
        sizing: whether the depths of its adstacks are known; None if it has none that are computed.
        last_launch: gives `number`.
    """

    def __init__(self, backend: Backend, compiled: Compiled, buffers: Mapping[str, Buffer]) -> None:
        self.backend = backend
        self.compiled = compiled
        self.buffers = {name: b for name, b in buffers.items() if name in compiled.program.places}
        self._written_always = [(name, b) for name, b in self.buffers.items() if name in compiled.written]
        self._changed = tuple(buffer for _, buffer in self._written_always)
        self._fixed = tuple(self.buffers.values())
        self._storages = {name: b.storage for name, b in self.buffers.items()}
        self._shapes = {name: b.shape for name, b in self.buffers.items()}
        self._bindings = Bindings(self._storages, self._shapes)
        self._arguments = {n: p for n, p in compiled.program.places.items() if p.kind == "ndarray"}
        self._written_arguments = tuple(n for n in self._arguments if n in compiled.written)
        self._sources = Sources(compiled, self.buffers)
        self._writes: Writes | None = None  # of launches without arguments
        self.sizing = Sizing.of(compiled)
        self._orders = sharing(backend) is not None
        self._copies = copying(backend) is not None
        self._serving = serving(backend)
        self._number = [0]
        self.last_launch: Callable[[], int] = partial(self._number.__getitem__, 0)
        if self._serving is not None:
            self.last_launch = partial(self._serving.last_launch, compiled.executable)
        self._scalars: Scalars = ()
        for buffer in self._changed:
            buffer.written_by(self)

    def launch(self, scalars: Scalars, arrays: Mapping[str, Buffer]) -> Scalars:
        """Run with these scalar arguments and array arguments; the returned scalars."""
        for buffer in self._fixed:
            if buffer.storage is None:
                raise AdstackRuntimeError("a field that the kernel uses was destroyed", do="make the field again")
        launches = self.backend.launches
        try:
            self._announce(self.writes(scalars, arrays))
            bindings = self.bind(arrays)
            if self.sizing is not None:
                bindings.sized = self.sizing.holds(scalars, {**self.buffers, **arrays} if arrays else self.buffers)
            if self._orders:
                returned = self._in_order(scalars, arrays, bindings)
            else:
                returned = self.compiled.launch(self.backend, scalars, bindings)
        except BaseException:
            self._fail(arrays, launches)
            raise
        else:
            return returned
        finally:
            self._number[0], self._scalars = self.backend.launches, scalars
            # a launch that failed may have written some of it
            for buffer in self._changed:
                buffer.touch()
            for name in self._written_arguments:
                arrays[name].touch()

    def serve(self, machine_code: Callable[..., object], args: tuple[object, ...], writes: Writes) -> object:
        """Announce what a launch writes, and make it by machine code; what that gives, `REFUSED` if Python has to.

        Args:
            machine_code: serves such calls, and leaves all others to `refuse`.
            args: what it is called with.
            writes: what the launch writes.
        """
        launches = self.backend.launches
        try:
            self._announce(writes)
            result = launched(machine_code, args)
        except BaseException:
            self._fail(writes.arrays, launches)
            raise
        if result is REFUSED:
            self._forget(writes.arrays)  # which has not been written, though it was announced
            return result
        for _, buffer in writes.memory:
            if buffer.watch is not None:
                buffer.watch.history.unseen += 1  # this write of machine code was announced
        return result

    def _in_order(self, scalars: Scalars, arrays: Mapping[str, Buffer], bindings: Bindings) -> Scalars:
        """Run it after what others do in streams of their own with the memory, and before what they do next."""
        with ordered(self.backend, (*self._fixed, *arrays.values())):
            return self.compiled.launch(self.backend, scalars, bindings)

    def repeated(self, number: int, scalars: Scalars) -> None:
        """A graph has launched it, with such scalar arguments: that was the backend's launch of this `number`."""
        self._number[0], self._scalars = number, scalars

    def _forget(self, arrays: Mapping[str, Buffer]) -> None:
        """A launch with these array arguments was announced, and has not been: where what it writes comes from is not
        known.
        """
        if self.sizing is not None:
            self.sizing.forget()
        for _, buffer in self._written_memory(arrays):
            if buffer.watch is not None:
                buffer.watch.history.forget()

    def _fail(self, arrays: Mapping[str, Buffer], launches: int) -> None:
        """A launch with these array arguments has failed, after so many launches: what it did is not known."""
        if self.sizing is not None:
            self.sizing.forget()
        for _, buffer in self._written_memory(arrays):
            if buffer.watch is not None:
                buffer.watch.failed(buffer, launches)

    def writes(self, scalars: Scalars, arrays: Mapping[str, Buffer]) -> Writes:
        """What launches with these arguments write."""
        if scalars or arrays:
            return Writes(scalars, arrays, self._written_memory(arrays))
        if self._writes is None:
            self._writes = Writes((), {}, self._written_always)
        return self._writes

    def _source(self, writes: Writes) -> Source:
        """Where that comes from which launches write."""
        arrays = writes.arrays
        shapes = {name: buffer.shape for name, buffer in arrays.items()} if arrays else {}
        reach = self.compiled.reach(writes.scalars, shapes)
        writes.boxes = {name: reach.written.get(name, ()) for name, _ in writes.memory}
        writes.source = self._sources.source(writes.scalars, arrays, reach)
        return writes.source

    def _announce(self, writes: Writes) -> None:
        """Say what a launch is about to write."""
        if OBSERVERS:
            for _, buffer in writes.memory:
                tell_others(buffer)
        launch, launches = None, 0
        copies = Copies() if self._copies else None
        try:
            for name, buffer in writes.memory:
                watch = buffer.watch
                if watch is None:
                    continue
                if watch.is_idle:
                    watch.history.unseen = MISSED
                    continue
                if launch is None:
                    launch = self._sources.written(writes.source or self._source(writes))
                    launches = self.backend.launches
                told = launch, name, launches
                watch.before(buffer, self.compiled.writers[name], writes.boxes[name], told, copies)
        finally:
            if copies is not None:
                copies.queue(self.backend)

    def _written_memory(self, arrays: Mapping[str, Buffer]) -> Sequence[tuple[str, Buffer]]:
        """(name of the place, memory) of what a launch with these array arguments writes."""
        if not self._written_arguments:
            return self._written_always
        return [*self._written_always, *((name, arrays[name]) for name in self._written_arguments)]

    @property
    def is_watched(self) -> bool:
        """Whether a watch has to be told before it writes, or a stream of another library has to be waited for."""
        for buffer in self._changed:
            if buffer.watch is not None and buffer.watch.strict:
                return True
        return self._orders and any(buffer.is_ordered for buffer in self._fixed)

    @property
    def number(self) -> int:
        """The backend's number of its last launch; 0 if there was none."""
        return self.last_launch()

    @property
    def number_word(self) -> int:
        """The address of that number; 0 if the backend has it nowhere."""
        backend = self._serving
        return 0 if backend is None else backend.launch_word(self.compiled.executable)

    @property
    def scalars(self) -> Sequence[Scalar | None]:
        """The scalar arguments of its last launch; floats may be missing (None)."""
        backend = self._serving
        return self._scalars if backend is None else backend.last_scalars(self.compiled.executable)

    def bind(self, arrays: Mapping[str, Buffer]) -> Bindings:
        """What a launch with these array arguments works on."""
        if not self._arguments:
            return self._bindings
        storages, shapes = self._storages.copy(), self._shapes.copy()
        for name in self._arguments:
            buffer = arrays[name]
            storages[name], shapes[name] = buffer.storage, buffer.shape
        return Bindings(storages, shapes)

    @property
    def arguments(self) -> dict[str, Place]:
        """The places that come with each call."""
        return dict(self._arguments)

    def shortcut(
        self,
        arguments: tuple[Argument, ...],
        attributes: tuple[SameAttribute, ...],
        returns: bool,
        otherwise: Callable[..., object],
        **more: Any,
    ) -> Callable[..., Any] | None:
        """A callable that serves such calls without Python, if the backend has one: see `shortcuts`."""
        backend = self._serving
        if self.compiled.races is not None or backend is None:
            return None
        wanted = Shortcut(arguments, attributes, returns, self.buffers, self.compiled.written, otherwise, **more)
        return self._counted(backend.shortcut(self.compiled.executable, wanted))

    def follower(
        self,
        arguments: tuple[Argument, ...],
        attributes: tuple[SameAttribute, ...],
        conditions: tuple[Still | Before, ...],
        keep: tuple[object, ...],
        *,
        returns: bool = False,
        **more: Any,
    ) -> Follower | None:
        """What serves such calls where they are the next ones of a sequence, if the backend has it: see `following`.

        With `returns` these are calls of a kernel that returns one scalar.
        """
        backend = following(self.backend)
        if self.compiled.races is not None or backend is None:
            return None
        wanted = Shortcut(
            *(arguments, attributes, returns, self.buffers, self.compiled.written, _nobody),
            conditions=conditions,
            keep=keep,
            announced=True,
            **more,
        )
        return self._counted(backend.follower(self.compiled.executable, wanted))

    def _counted(self, served: Served | None) -> Served | None:
        """What serves calls by machine code, if anything does: the number of the last launch stays where it is then."""
        word = 0 if served is None else self.number_word
        if word:
            self.last_launch = partial(attrgetter("value"), ctypes.c_int64.from_address(word))
        return served


def launched(machine_code: Callable[..., object], args: tuple[object, ...]) -> object:
    """What machine code gives that launches, or `refuse`: a profile times this function."""
    return machine_code(*args)


def refuse(*_: object, **__: object) -> object:
    """Leaves a call to Python: see `Plan.serve`."""
    return REFUSED


def _nobody(*_: object, **__: object) -> None:
    """Does nothing: the calls that are left are served otherwise."""
