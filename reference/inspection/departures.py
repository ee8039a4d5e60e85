"""Where a backend departs from the reference: the first value of each launch that is another one.

A device is opened with the interpreter beside it. Every launch is first made twice in copies of its memory, by both, in
a form that writes down what it computes (`tracing.py`); then the device makes it as it is. What is launched does not
matter: kernels, their reverse modes, the tasks that size adstacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import AdstackError
from ..ir.location import Loc
from ..ir.structure import Program
from ..ir.types import DType
from ..runtime.adstacks.heap import TaskUse
from ..runtime.memory.buffers import Array
from ..runtime.protocol.backend import Backend, Bindings, Executable, Scalars, Storage
from ..runtime.protocol.options import Options
from ..runtime.protocol.registry import beside_devices
from ..runtime.reference_backend import ReferenceBackend
from .tracing import COLUMNS, ROWS, SERIAL, Traced, traced

__all__ = ["Departure", "departures"]

Log = Mapping[str, Array]


@dataclass(frozen=True)
class Departure:
    """The first value of a launch that is not the reference's.

    Attributes:
        program, task: what was launched.
        op: what computes the value; `name`: what the user called it, if anything.
        loc: where it stands in the source.
        lane: of the parallel loop, in row-major order; None in serial code.
        iteration: how many times the lane had executed the op before.
        expected, got: the values of the reference and of the backend; None where one of them does not come here.
    """

    program: str
    task: str
    op: str
    name: str
    loc: Loc
    lane: int | None
    iteration: int
    expected: object
    got: object

    def __str__(self) -> str:
        lane = "serial code" if self.lane is None else f"lane {self.lane}"
        name = f" ({self.name})" if self.name else ""
        return (
            f"{self.loc}: {self.op}{name} in {self.task} of {self.program}, {lane}, iteration {self.iteration}: "
            f"the reference has {_shown(self.expected)}, the backend {_shown(self.got)}"
        )


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)


@contextmanager
def departures() -> Iterator[list[Departure]]:
    """A block in which devices that `init` opens are compared with the reference; the departures, as they come.

    There is at most one for each launch. With `init(deterministic=True)` float atomics come in one order on both sides;
    compiled code must not come from the disk cache of a process whose backend was another one (`offline_cache=False`).
    """
    seen: list[Departure] = []
    with beside_devices(lambda backend: _Compared(backend, seen)):
        yield seen


@dataclass(frozen=True)
class _Both:
    """A program as it is, and traced, for both sides."""

    own: Executable
    trace: Traced
    device: Executable
    reference: Executable


class _Compared:
    """A device whose launches are compared. Python serves all of them: it says nothing of shortcuts."""

    def __init__(self, inner: Backend, seen: list[Departure]) -> None:
        self.inner, self.seen, self.reference = inner, seen, ReferenceBackend()
        self.capabilities = replace(
            inner.capabilities, direct=False, addressed=False, shortcuts=False, races=False, dlpack=None
        )

    @property
    def launches(self) -> int:
        return self.inner.launches

    def compile(self, program: Program, options: Options) -> _Both:
        trace = traced(program)
        device, reference = (side.compile(trace.program, options) for side in (self.inner, self.reference))
        return _Both(self.inner.compile(program, options), trace, device, reference)

    def launch(self, executable: _Both, scalars: Scalars, bindings: Bindings) -> Scalars:
        self._compare(executable, scalars, bindings)
        return self.inner.launch(executable.own, scalars, bindings)

    def _compare(self, executable: _Both, scalars: Scalars, bindings: Bindings) -> None:
        contents = {name: self.inner.download(storage) for name, storage in bindings.storages.items()}
        trace = executable.trace
        self.reference.launches = self.inner.launches  # random numbers depend on it
        try:
            device = self._on_device(executable, scalars, bindings, contents)
            reference = self._on_reference(executable, scalars, bindings, contents)
        except AdstackError:
            return  # which the launch itself will raise
        departure = _first(trace, reference, device)
        if departure is not None:
            self.seen.append(departure)

    def _on_device(self, executable: _Both, scalars: Scalars, bindings: Bindings, contents: Log) -> Log:
        trace = executable.trace
        dtypes = {name: trace.program.places[name].dtype for name in contents}
        storages = {name: self.inner.allocate(dtypes[name], array.shape) for name, array in contents.items()}
        logs = {place.name: self.inner.allocate(place.dtype, _shape(place.shape)) for place in trace.places}
        try:
            for name, array in contents.items():
                self.inner.upload(storages[name], array)
            shapes = {**bindings.shapes, **{place.name: _shape(place.shape) for place in trace.places}}
            self.inner.launch(executable.device, scalars, Bindings({**storages, **logs}, shapes))
            return {name: self.inner.download(storage) for name, storage in logs.items()}
        finally:
            for storage in (*storages.values(), *logs.values()):
                self.inner.free(storage)

    def _on_reference(self, executable: _Both, scalars: Scalars, bindings: Bindings, contents: Log) -> Log:
        logs = {place.name: np.zeros(_shape(place.shape), place.dtype.numpy) for place in executable.trace.places}
        shapes = {**bindings.shapes, **{name: log.shape for name, log in logs.items()}}
        copies = {name: np.array(array) for name, array in contents.items()}
        self.reference.launch(executable.reference, scalars, Bindings({**copies, **logs}, shapes))
        return logs

    def listing(self, executable: _Both) -> dict[str, str]:
        return self.inner.listing(executable.own)

    def adstacks(self, executable: _Both) -> list[TaskUse]:
        return [*self.inner.adstacks(executable.own)]

    def synchronize(self) -> None:
        self.inner.synchronize()

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Storage:
        return self.inner.allocate(dtype, shape)

    def adopt(self, array: Array) -> None:
        """The host's memory is copied, so that a launch can be made several times."""

    def free(self, storage: Storage) -> None:
        self.inner.free(storage)

    def address(self, storage: Storage) -> int:
        return 0

    def host_view(self, storage: Storage) -> None:
        """Memory is always copied."""

    def download(self, storage: Storage) -> Array:
        return self.inner.download(storage)

    def upload(self, storage: Storage, array: Array) -> None:
        self.inner.upload(storage, array)


def _shape(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in shape)


def _first(trace: Traced, reference: Log, device: Log) -> Departure | None:
    """The departure of the earliest task; in it, that which its lane meets after the fewest values."""
    here = [(row, column) for row in (*range(ROWS), SERIAL) for column in _column(trace, reference, device, row)]
    if not here:
        return None

    def order(spot: tuple[int, int]) -> tuple[int, int, int]:
        row, column = spot
        site = trace.sites[int(_log_with(trace, reference, device, row, column)[trace.number.name][row, column])]
        return site.task, column, row

    return _departure(trace, reference, device, *min(here, key=order))


def _column(trace: Traced, reference: Log, device: Log, row: int) -> list[int]:
    """The first column at which the two sides have something else in a row; empty if there is none."""
    lengths = [min(int(log[trace.count.name][row]), COLUMNS) for log in (reference, device)]
    shorter = min(lengths)
    numbers, bits = (
        [log[place.name][row, :shorter] for log in (reference, device)] for place in (trace.number, trace.bits)
    )
    for column in np.flatnonzero((numbers[0] != numbers[1]) | (bits[0] != bits[1])).tolist():
        dtype = trace.sites[numbers[0][column]].value.dtype
        values = [_decoded(side[column], dtype) for side in bits]
        if numbers[0][column] != numbers[1][column] or not all(value != value for value in values):
            return [column]  # any two NaN are alike
    return [shorter] if lengths[0] != lengths[1] else []


def _log_with(trace: Traced, reference: Log, device: Log, row: int, column: int) -> Log:
    """The side that has a value there; the reference where both have one."""
    return reference if reference[trace.count.name][row] > column else device


def _departure(trace: Traced, reference: Log, device: Log, row: int, column: int) -> Departure:
    log = _log_with(trace, reference, device, row, column)
    number = int(log[trace.number.name][row, column])
    site = trace.sites[number]
    iteration = int(np.count_nonzero(log[trace.number.name][row, :column] == number))
    values = [
        _decoded(side[trace.bits.name][row, column], site.value.dtype)
        if side[trace.count.name][row] > column and side[trace.number.name][row, column] == number
        else None
        for side in (reference, device)
    ]
    task = trace.program.tasks[site.task].name
    lane = None if row == SERIAL else row
    return Departure(
        trace.program.name, task, site.op.name, site.value.name, site.op.loc, lane, iteration, values[0], values[1]
    )


def _decoded(bits: np.int64, dtype: DType) -> Any:
    """The value with these bits."""
    kind = dtype.numpy
    return np.array([bits]).view("u8").astype(f"u{np.dtype(kind).itemsize}").view(kind)[0].item()
