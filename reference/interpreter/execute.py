"""Running a kernel or program: buffers and arguments in, memory changed in place and returned scalars out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import AdstackArgumentError, AdstackMemoryError
from ..ir.structure import Kernel, Program
from .binding import bind, write_back
from .cache import Prepared, prepared
from .frame import Frame
from .lanes import Array
from .launch import DEFAULT, Launch, RunOptions, Scalar


def run(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    *,
    options: RunOptions = DEFAULT,
) -> tuple[Scalar, ...]:
    """Run one launch and give what the kernel returns.

    Args:
        program: verified IR.
        buffers: an array for each field, ndarray, gradient and dual, by the name of its place; changed in place.
        scalars: the kernel's scalar arguments.
        options: how to run.

    Raises AdstackArgumentError for buffers and arguments that do not fit, and what the program itself causes:
    AdstackOutOfBoundsError (after the last task if the access is guarded), AdstackOverflowError after the last task,
    other AdstackAssertionErrors under debug.
    """
    ready = prepared(program, options.debug)
    working = bind(program.places, buffers)
    launch = Launch(options, list(working.values()))
    try:
        with np.errstate(all="ignore"):
            returned = perform(ready, launch, scalars)
    except AdstackMemoryError:
        raise
    except MemoryError as error:
        raise AdstackMemoryError(f"{program.name}: {error}", do="use smaller local arrays") from error
    finally:
        write_back(working, buffers)
    if launch.outside is not None:
        raise launch.outside
    if launch.overflow is not None:
        raise launch.overflow.error()
    if isinstance(program, Program):
        return tuple(working[name].flat.item() for name in program.results)
    return returned


def perform(ready: Prepared, launch: Launch, scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Run the tasks in order; what the last one returns."""
    returned: list[Array] = []
    for task in ready.tasks:
        if len(scalars) != len(task.params):
            raise AdstackArgumentError(f"{ready.name} takes {len(task.params)} scalar arguments, got {len(scalars)}")
        launch.task, launch.lanes, launch.claims = task.name, lanes_of(task.name, launch.options), 0
        frame = Frame(launch, launch.serial, np.zeros(1, np.intp), task.template.copy())
        for slot, to, value in zip(task.code.args, task.params, scalars, strict=True):
            frame.values[slot] = np.array([to(value)], to.numpy)
        returned = task.code.run(frame)
    return tuple(value.item() for value in returned)


def lanes_of(task: str, options: RunOptions) -> int:
    """How many iterations of a task's loop run together."""
    room = None if options.room is None else options.room(task)
    return options.lanes if room is None else min(room, options.lanes)
