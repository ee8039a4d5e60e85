"""The tape oracle: gradients found by recording a run of the forward kernel and walking the record backwards.

It is independent of the transform that makes gradient kernels: the two share the table of derivatives alone. Every
value is on the record, so it needs no plan for what to keep, and overwritten values are simply known. It is the measure
for gradients, not a way to compute them fast: its memory grows with the number of operations executed.

    gradients = gradient(kernel, buffers, scalars, {"y": cotangent, "x": zeros})["x"]

What it computes is J(F)^T applied to the adjoints given, where F is the launch as a map of memory, and J is taken at
the memory before it. A library function that is called counts as the op that it implements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from ..errors import AdstackArgumentError
from ..interpreter.binding import bind
from ..interpreter.cache import tasks_of
from ..interpreter.lanes import Array
from ..interpreter.launch import DEFAULT, Launch, RunOptions, Scalar
from ..ir.structure import Kernel, Program
from . import recorder_control
from .adjoints import Adjoint
from .beside import Beside, Own, Wide
from .numbers import Num
from .recorder import Recorder, team_frame
from .trace import Node
from .walker import Walker

__all__ = ["executed", "gradient"]

Precision = Literal["own", "f64"]


HANDLER_MODULES: Final = (recorder_control,)
"""Importing them fills the table of handlers."""


def gradient(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    adjoints: Mapping[str, Array] | None = None,
    *,
    returned: Sequence[float] = (),
    precision: Precision = "own",
    options: RunOptions = DEFAULT,
) -> dict[str, Array]:
    """The adjoints of the memory before a launch, from those of the memory after it.

    Args:
        program: verified IR, before transcendental operations are lowered.
        buffers: the memory before the launch, by the name of the place; it is not changed.
        scalars: the kernel's scalar arguments.
        adjoints: an array per place that has an adjoint, by the name of the primal place. Other places are constant.
        returned: adjoints of the returned scalars, one for each, if they have any; 0 means that nothing is connected.
        precision: "own": adjoints have the types of their primals; "f64": all values and adjoints are carried in f64,
            along the path that the kernel takes in its own types.
        options: how to run.
    """
    beside = Own() if precision == "own" else Wide()
    seeds = adjoints or {}
    reached = walked(program, buffers, scalars, seeds, returned, beside, options)
    return {name: adjoint.value.reshape(seeds[name].shape) for name, adjoint in reached.items()}


def walked(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar],
    adjoints: Mapping[str, Array],
    returned: Sequence[float],
    beside: Beside,
    options: RunOptions,
) -> dict[str, Adjoint]:
    """Run and walk back: the adjoint of each place that has one."""
    run, outputs = record(program, buffers, scalars, beside, options)
    walker = Walker(beside)
    start(walker, run, program, adjoints)
    seed(walker, run, program, outputs, returned)
    with np.errstate(all="ignore"):
        walker.walk(run.tape)
    return {name: walker.of(run.places[name]) for name in adjoints}


def record(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar],
    beside: Beside,
    options: RunOptions,
) -> tuple[Recorder, list[Node]]:
    """Run on a copy of the memory: the record, and what the last task returned."""
    copies = {name: np.array(buffer) for name, buffer in buffers.items()}
    launch = Launch(options, list(bind(program.places, copies).values()))
    run = Recorder(launch, beside)
    with np.errstate(all="ignore"):
        returned = executed(run, program, scalars)
    return run, returned


def executed(run: Recorder, program: Kernel | Program, scalars: Sequence[Scalar]) -> list[Node]:
    """Run and record all tasks; what the last one returned."""
    returned: list[Node] = []
    for task in tasks_of(program):
        parameters = zip(task.body.args, scalars, strict=True)
        for value, number in parameters:
            run.env[value] = run.exact(value.dtype, np.array([value.dtype(number)], value.dtype.numpy), None)
        returned = run.region(task.body, team_frame(run, run.launch.serial))
    return returned


def start(walker: Walker, run: Recorder, program: Kernel | Program, adjoints: Mapping[str, Array]) -> None:
    """Give the places the adjoints that the caller has for them; places without any are constant."""
    for name, values in adjoints.items():
        place = program.places.get(name)
        if place is None or not place.dtype.is_float:
            raise AdstackArgumentError(f"{name!r} is not a place of floats of {program.name}: it has no adjoint")
        storage = run.places[name]
        if np.size(values) != storage.own.size:
            raise AdstackArgumentError(f"{name} has {storage.own.size} elements, its adjoint {np.size(values)}")
        walker.of(storage).load(np.ravel(values))
    for name, place in program.places.items():
        if name not in adjoints and place.dtype.is_float and place.kind in ("field", "ndarray"):
            walker.cut(run.places[name])


def seed(
    walker: Walker, run: Recorder, program: Kernel | Program, outputs: Sequence[Node], returned: Sequence[float]
) -> None:
    """Give what was returned its adjoints."""
    zero = np.zeros(1, np.intp)
    if isinstance(program, Program):
        for name, number in zip(program.results, returned, strict=False):
            if number != 0:
                walker.of(run.places[name]).load(np.array([number]))
        return
    for node, number in zip(outputs, returned, strict=False):
        if node.dtype.is_float and number != 0:
            adjoint = walker.of_node(node)
            adjoint.add(zero, Num(adjoint.dtype, np.array([number], adjoint.dtype.numpy)))
