"""The verifier's rules above single ops: places, kernels, tasks and programs."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import IRError
from ..ops import PARALLEL_FOR, STORE
from ..structure import Kernel, Op, Place, Program, Region, Task
from ..types import ALL, DType
from . import expect

__all__ = ["check_kernel", "check_places", "check_program", "check_task"]


def check_places(root: Kernel | Program) -> None:
    """Every place stands under its own name and is well formed; a grad or dual looks like its primal."""
    for name, place in root.places.items():
        if not isinstance(place, Place):
            raise IRError(f"{root.name}: places[{name!r}] must be a Place, got {place!r}")
        if place.name != name:
            raise IRError(f"{root.name}: places[{name!r}] must be the place of that name, got @{place.name}")
        _check_place(place)
        primal = root.places.get(place.of) if place.of else None
        if primal is not None and (primal.dtype, primal.shape) != (place.dtype, place.shape):
            raise IRError(
                f"@{name}: expected the type and shape of its primal @{primal.name}, {primal.dtype}{primal.shape}, "
                f"got {place.dtype}{place.shape}"
            )


def _check_place(place: Place) -> None:
    where = f"@{place.name}"
    if place.dtype not in ALL:
        raise IRError(f"{where}: expected a scalar type as dtype, got {place.dtype!r}")
    if place.kind not in Place.KINDS:
        raise IRError(f"{where}: expected one of {' '.join(Place.KINDS)} as kind, got {place.kind!r}")
    if place.role not in Place.ROLES:
        raise IRError(f"{where}: expected one of {' '.join(Place.ROLES)} as role, got {place.role!r}")
    if (place.role == "primal") != (place.of is None):
        raise IRError(
            f"{where}: expected 'of' to name a primal for a grad or dual only, got {place.role} of {place.of!r}"
        )
    for extent in place.shape:
        if extent is not None and (type(extent) is not int or extent < 0):
            raise IRError(f"{where}: expected extents that are None or non-negative ints, got shape {place.shape}")


def check_kernel(kernel: Kernel) -> None:
    """The parameters are scalars, and the body returns what the kernel says."""
    _check_params(kernel.name, kernel.body)
    _check_return(kernel.body, kernel.returns)


def _check_params(name: str, body: Region) -> None:
    for arg in body.args:
        if not isinstance(arg.type, DType):
            raise IRError(f"{name}: expected scalar parameters, got {arg.type}")


def _check_return(body: Region, returns: tuple[DType, ...]) -> None:
    end = body.terminator
    got = [v.type for v in end.operands]
    if got != list(returns):
        expect.fail(end, f"expected values of types {expect.spell(returns)}, got {expect.spell(got)}")


def check_task(task: Task) -> None:
    """A serial task has no `parallel_for`; a parallel one has effect-free ops, then one, then `return`.

    A sizer writes depths, and nothing else does.
    """
    _check_params(task.name, task.body)
    _check_return(task.body, ())
    for op in task.body.walk():
        if op.opdef.writes and "place" in op.attrs and (op.attrs["place"].kind == "depths") != bool(task.sizes):
            what = "only writes of depths in the sizer" if task.sizes else "no write of depths in the task"
            expect.fail(op, f"expected {what} {task.name}, got one of @{op.attrs['place'].name}")
    if task.kind == "serial":
        _check_serial(task)
    elif task.kind == "parallel":
        _check_parallel(task)
    else:
        raise IRError(f"{task.name}: expected one of {' '.join(Task.KINDS)} as task kind, got {task.kind!r}")


def _check_serial(task: Task) -> None:
    for op in task.body.ops:
        if op.opdef is PARALLEL_FOR:
            expect.fail(op, f"expected none in the serial task {task.name}")


def _check_parallel(task: Task) -> None:
    header, loop = task.body.ops[:-2], task.body.ops[max(len(task.body.ops) - 2, 0)]
    if loop.opdef is not PARALLEL_FOR:
        expect.fail(loop, f"expected parallel_for before the return of the parallel task {task.name}, got {loop.name}")
    for op in _with_inner(header):
        if op.opdef.writes or op.opdef is PARALLEL_FOR:
            expect.fail(op, f"expected only effect-free ops before the parallel_for of the task {task.name}")
    for op in header:
        for value in op.results:
            if not isinstance(value.type, DType):
                expect.fail(
                    op, f"expected only scalars before the parallel_for of the task {task.name}, got {value.type}"
                )


def _with_inner(ops: Iterable[Op]) -> Iterable[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from region.walk()


def check_program(program: Program) -> None:
    """Tasks agree on the parameters; every result is a scalar place that some task stores to."""
    params = [[v.type for v in task.body.args] for task in program.tasks]
    for task, types in zip(program.tasks, params, strict=True):
        if types != params[0]:
            expected, got = expect.spell(params[0]), expect.spell(types)
            raise IRError(f"{task.name}: expected the parameters of the first task, {expected}, got {got}")
    names = [task.name for task in program.tasks]
    for name in names:
        if names.count(name) > 1:
            raise IRError(f"{program.name}: expected one task called {name}, got {names.count(name)}")
    _check_results(program)


def _check_results(program: Program) -> None:
    if len(program.results) != len(program.returns):
        got = f"{len(program.results)} ({', '.join(program.results)})"
        raise IRError(f"{program.name}: expected {len(program.returns)} results, one per returned value, got {got}")
    stored = {op.attrs["place"].name for task in program.tasks for op in task.body.walk() if op.opdef is STORE}
    for name, dtype in zip(program.results, program.returns, strict=True):
        place = program.places.get(name)
        if place is None or (place.kind, place.dtype, place.shape) != ("result", dtype, ()):
            raise IRError(f"{program.name}: expected a result place @{name} of {dtype} without axes, got {place!r}")
        if name not in stored:
            raise IRError(f"{program.name}: expected a store to the result @{name} in some task, got none")
