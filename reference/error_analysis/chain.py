"""Values and error bounds of several launches on one memory, and of the gradient through all of them.

    answers = chained([Step(kernel, {"x": "state"}), ...], {"state": array}, {"state": adjoint})

Each launch starts from the numbers, and the bounds, that the one before it left, and the record of all of them is
walked back as one. Memory has keys, since each kernel has names of its own for its places.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..interpreter.binding import bind
from ..interpreter.lanes import Array
from ..interpreter.launch import DEFAULT, Launch, RunOptions, Scalar
from ..ir.structure import Kernel, Program
from ..oracle.beside import Beside
from ..oracle.numbers import Num
from ..oracle.recorder import Recorder
from ..oracle.tape import executed
from ..oracle.trace import Arg, Record, Storage
from ..oracle.walker import Walker
from .bounds import Bounds
from .rounding import error_of

__all__ = ["Enclosure", "Step", "Written", "chained"]


@dataclass(frozen=True)
class Enclosure:
    """Computed numbers, and how far each may be from the exact one.

    Attributes:
        value: in the type of the memory.
        bound: in f64, of the same shape: |value - exact| <= bound.
    """

    value: Array
    bound: Array


@dataclass(frozen=True)
class Step:
    """One launch.

    Attributes:
        program: verified IR.
        memory: the key of the memory of each place that outlives a launch, by the place's name.
        scalars: its arguments.
    """

    program: Kernel | Program
    memory: Mapping[str, Hashable]
    scalars: Sequence[Scalar] = field(default=())


@dataclass(frozen=True)
class Written:
    """Elements that the host gave values to, between two launches: these are exact.

    Attributes:
        key: of the memory.
        at: their flat positions.
        values: what they hold then.
    """

    key: Hashable
    at: Array
    values: Array


def chained(
    steps: Sequence[Step | Written],
    memory: Mapping[Hashable, Array],
    adjoints: Mapping[Hashable, Array] | None = None,
    *,
    options: RunOptions = DEFAULT,
) -> dict[Hashable, Enclosure]:
    """The memory after the last launch, or the adjoints of the memory before the first, with bounds on their errors.

    Args:
        steps: the launches, and what the host wrote, in order; with adjoints launches alone.
        memory: what it holds before the first; it is not changed.
        adjoints: of the memory after the last; without them the answer is the memory itself.
        options: how to run.
    """
    beside: Beside = Bounds()
    copies = {key: np.array(array, order="C") for key, array in memory.items()}
    storages: dict[Hashable, Storage] = {}
    tape: list[Record] = []
    with np.errstate(all="ignore"):
        for step in steps:
            if isinstance(step, Written):
                _write(step, copies, storages, beside)
            else:
                tape += _run(step, copies, storages, beside, options)
        if adjoints is None:
            return _read(storages, {key: copies[key].shape for key in storages})
        return _walked(tape, storages, adjoints, beside)


def _read(
    storages: Mapping[Hashable, Storage], shapes: Mapping[Hashable, tuple[int, ...]]
) -> dict[Hashable, Enclosure]:
    """The values and bounds of the storages that hold floats, in the shapes of the caller's arrays."""
    numbers = {key: storage.read(np.arange(storage.own.size)) for key, storage in storages.items()}
    return {
        key: Enclosure(number.own.reshape(shapes[key]), number.beside.reshape(shapes[key]))
        for key, number in numbers.items()
        if number.beside is not None
    }


def _write(step: Written, copies: Mapping[Hashable, Array], storages: dict[Hashable, Storage], beside: Beside) -> None:
    storage = storages.get(step.key)
    if storage is None:
        copies[step.key].reshape(-1)[step.at] = step.values
    else:
        exact = beside.exact(step.values) if storage.cells is not None else None
        storage.write(step.at, Arg(storage.dtype, step.values, exact))


def _run(
    step: Step,
    copies: Mapping[Hashable, Array],
    storages: dict[Hashable, Storage],
    beside: Beside,
    options: RunOptions,
) -> list[Record]:
    places = step.program.places
    buffers = {name: copies[key] for name, key in step.memory.items()}
    run = Recorder(Launch(options, list(bind(places, buffers).values())), beside)
    for name, key in step.memory.items():
        run.places[name] = storages.setdefault(key, run.places[name])
    executed(run, step.program, step.scalars)
    return run.tape


def _walked(
    tape: list[Record], storages: Mapping[Hashable, Storage], adjoints: Mapping[Hashable, Array], beside: Beside
) -> dict[Hashable, Enclosure]:
    walker = Walker(beside)
    for key, storage in storages.items():
        if key in adjoints:
            walker.of(storage).load(np.ravel(adjoints[key]))
        else:
            walker.cut(storage)
    walker.walk(tape)
    answers: dict[Hashable, Enclosure] = {}
    for key, seeds in adjoints.items():
        number: Num = walker.of(storages[key]).read(np.arange(seeds.size))
        error = np.broadcast_to(error_of(number), number.value.shape)
        answers[key] = Enclosure(number.value.reshape(seeds.shape), error.reshape(seeds.shape))
    return answers
