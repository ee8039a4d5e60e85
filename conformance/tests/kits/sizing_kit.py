"""What the tests of sizing share: reverse programs with sizers, run on the interpreter with depths that can be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from transforms_kit import kernel_of

import adstack as qd
from adstack.autodiff.reverse import reverse
from adstack.interpreter import run
from adstack.ir.structure import Kernel, Program
from adstack.ir.verify.verifier import verify
from adstack.runtime.adstack_report import TaskRow
from adstack.sizing.size import Sized
from adstack.sizing.sizers import with_sizers
from adstack.transforms.pipeline import lower, optimize

Array = npt.NDArray[Any]
Buffers = dict[str, Array]

GATED = """kernel @k() {
  place @x : f64[8] field
  place @y : f64[8] field
  place @n : i32[8] field
  %0 = const 0 : i32
  %1 = const 1 : i32
  %8 = const 8 : i32
  parallel_for (%i = %0 to %8) {
    %v = load @x[%i]
    %c = load @n[%i]
    %g = gt %c, %1
    %r = if %g -> (f64) {
      %q = for %j = %0 to %c carry (%a = %v) {
        %s = sin %a
        yield %s
      }
      yield %q
    } else {
      yield %v
    }
    store @y[%i], %r
    yield
  }
  return
}"""
"""Some of the iterations push."""


def reverse_program(kernel: Kernel) -> Program:
    """The tasks that propagate adjoints through a kernel; every place of floats has a gradient."""
    gradients = {
        p.name: replace(p, name=f"{p.name}.grad", role="grad", of=p.name)
        for p in kernel.places.values()
        if p.dtype.is_float and p.kind in ("field", "ndarray")
    }
    return lower(reverse(optimize(kernel, keep_accesses=True), gradients))


def sized_program(kernel: Kernel, *, claims: bool = False) -> Sized:
    """The same with sizers."""
    sized = with_sizers(reverse_program(kernel), claims=claims)
    verify(sized.program)
    return sized


def after_forward(kernel: Kernel, before: Buffers, scalars: Sequence[Any] = ()) -> Buffers:
    """Memory after the forward launch, with ones for gradients."""
    memory = {name: buffer.copy() for name, buffer in before.items()}
    run(lower(kernel), memory, scalars)
    floats = {name: buffer for name, buffer in memory.items() if buffer.dtype.kind == "f"}
    return {**memory, **{f"{name}.grad": np.ones_like(buffer) for name, buffer in floats.items()}}


def launched(sized: Sized, memory: Buffers, scalars: Sequence[Any] = ()) -> tuple[Buffers, Array]:
    """Memory and depths after a launch."""
    buffers = {name: buffer.copy() for name, buffer in memory.items()}
    depths = np.zeros(sized.program.places["depths"].shape[0] if sized.sizes else 1, np.int64)
    if sized.sizes:
        buffers["depths"] = depths
    run(sized.program, buffers, scalars)
    buffers.pop("depths", None)
    return buffers, depths


def with_depths(sized: Sized, memory: Buffers, depths: Array, scalars: Sequence[Any] = ()) -> Buffers:
    """Memory after a launch that leaves the sizers out and finds these depths."""
    without = replace(sized.program, tasks=[task for task in sized.program.tasks if not task.sizes])
    buffers = {name: buffer.copy() for name, buffer in memory.items()}
    run(without, {**buffers, "depths": depths.copy()}, scalars)
    return buffers


def miscount(program: Program) -> None:
    """Let sizers say that one iteration pushes, however many do."""
    sums = [op for task in program.tasks if task.sizes for op in task.body.walk() if op.attrs.get("kind") == "add"]
    for op in sums:
        op.attrs["kind"] = "max"
    assert sums


def miscounted(compiled: Callable[[Program], Callable[[Buffers], object]]) -> Callable[[], object]:
    """A launch in which more iterations push than sizers have said; one where they are right has worked.

    Args:
        compiled: makes a function of buffers that launches a program on the device.
    """
    kernel = kernel_of(GATED)
    memory = {"x": np.linspace(0.1, 0.9, 8), "y": np.zeros(8), "n": np.array([3, 0, 5, 1, 2, 2, 0, 4], np.int32)}
    before = after_forward(kernel, memory)
    program = sized_program(kernel, claims=True).program
    compiled(program)({name: array.copy() for name, array in before.items()})
    miscount(program)
    launch = compiled(program)
    return lambda: launch(before)


def uneven(dtype: Any) -> tuple[Any, Any, Any, Any]:
    """Two fields, trip counts in memory, and a kernel with a loop of so many iterations between the two."""
    x, y = (qd.field(dtype, shape=6, needs_grad=True, name=name) for name in "xy")
    n = qd.field(qd.i32, shape=6, name="n")
    n.from_numpy(np.arange(6, dtype=np.int32))
    x.from_numpy(np.linspace(0.1, 1, 6).astype(dtype.numpy))

    @qd.kernel
    def step():
        for i in x:
            s = x[i]
            for _ in range(n[i]):
                s = qd.sin(s) + 0.5 * s
            y[i] = s

    return x, y, n, step


def uneven_gradients(dtype: Any) -> tuple[list[bytes], list[int]]:
    """Gradients of `uneven`, whose deepest adstack has 5 slots and then 9; how many of them each site used at last."""
    x, y, n, step = uneven(dtype)
    gradients = []
    for most in (5, 9):
        n[1] = most
        x.grad.fill(0)
        y.grad.fill(1)
        step()
        step.grad()
        gradients.append(x.grad.to_numpy().tobytes())
    return gradients, [row.used for row in step.grad.adstack_report(use=True).rows]


def gated(x: Any, y: Any, turns: Any) -> Any:
    """A kernel with a loop that only iterations with turns run."""

    @qd.kernel
    def run_some():
        for i in x:
            s = x[i]
            if turns[i] > 0:
                for _ in range(turns[i]):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    return run_some


def gated_gradient(
    arch: str, many: int, steps: int, *rounds: Sequence[int], **options: Any
) -> tuple[np.ndarray[Any, Any], TaskRow]:
    """Of a loop that only some of many iterations run, once for each choice; and the memory that the last one took."""
    qd.init(arch=arch, offline_cache=False, **options)
    x, y = (qd.field(qd.f32, many, needs_grad=True) for _ in range(2))
    turns = qd.field(qd.i32, many)
    x.from_numpy(np.linspace(0.1, 0.9, many, dtype=np.float32))

    k = gated(x, y, turns)
    for pushing in rounds:
        counts = np.zeros(many, np.int32)
        counts[list(pushing)] = steps
        turns.from_numpy(counts)
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k()
        k.grad()
    (row,) = k.grad.adstack_report().tasks
    return x.grad.to_numpy(), row
