"""Checkpoints: the same bits from less memory, by the fewest trips that run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkpoint_kit import LANES, Buffers, backward, buffers, gradients, kernels, places
from cpu_kit import compiled
from nightly_kit import BY_NIGHT
from transforms_kit import kernel_of, wrap

from adstack.autodiff.checkpointing.schedule import actions, forward_blocks
from adstack.autodiff.reverse import Checkpoints, reverse
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.interpreter import run, stacks
from adstack.ir.structure import Kernel, Program
from adstack.ir.types import f64
from adstack.sizing.sizers import with_sizers
from adstack.transforms.pipeline import optimize

NAMES = ["recurrence", "shifted", "serial", "condition", "leaving", "ragged", "inner_while", "siblings", "edges"]
NAMES += ["branches", "arrays", "arrays_written_later", "arrays_of_a_branch", "nests"]
FEW = [Checkpoints(1, 1), Checkpoints(3, 2), Checkpoints(2, 7)]
DEEP = [Checkpoints(2, 3, 2), Checkpoints(3, 2, 3)]
TRIPS = [[0], [1, 2, 3, 5, 6, 0], [12, 31, 7, 0, 13, 14]]


NESTS = ["serial", "ragged", "inner_while", "siblings", "arrays_of_a_branch", "nests"]


def _chosen(ways: list[Checkpoints], names: list[str]) -> list[tuple[str, Checkpoints]]:
    """Every kernel with every way to keep checkpoints; by day each with one of them, in turn."""
    pairs = [(name, way) for way in ways for name in names]
    return pairs if BY_NIGHT else [(name, ways[k % len(ways)]) for k, name in enumerate(names)]


@pytest.mark.parametrize(
    ("name", "checkpoints"),
    [*_chosen(FEW, NAMES), *_chosen(DEEP, NESTS)],
    ids=lambda c: f"{c.snapshots}, {c.block}, {c.levels}" if isinstance(c, Checkpoints) else c,
)
def test_gradients_have_the_same_bits_as_without(name: str, checkpoints: Checkpoints) -> None:
    kernel = kernels()[name]
    plain, parts = backward(kernel), backward(kernel, checkpoints)
    for seed, trips in enumerate(TRIPS):
        memory = buffers(kernel, trips, seed)
        assert gradients(parts, memory) == gradients(plain, memory), trips


@pytest.mark.parametrize("name", NAMES)
def test_they_have_the_same_bits_on_the_cpu_over_any_number_of_lanes(name: str) -> None:
    kernel = kernels()[name]
    plain, parts = backward(kernel), backward(kernel, Checkpoints(3, 2, 1 + (name == "nests")))
    memory = buffers(kernel, [12, 31, 7, 0, 13, 14])
    one = on_cpu(plain, 1, memory)
    assert on_cpu(parts, 1, memory) == one
    four, alike = on_cpu(parts, 4, memory), on_cpu(plain, 4, memory)
    # w and total get sums from several iterations: in which order depends on which of them share a vector
    sums = {f"{place.name}.grad" for place in kernel.places.values() if place.label in ("w", "total")}
    assert sums or name.startswith("arrays_")
    assert [four[name] for name in memory if name not in sums] == [alike[name] for name in memory if name not in sums]


def on_cpu(program: Program, lanes: int, before: Buffers) -> dict[str, bytes]:
    """What a program leaves, run by one thread."""
    memory = {name: buffer.copy() for name, buffer in before.items()}
    compiled(program, lanes, threads=1)(memory)
    return {name: buffer.tobytes() for name, buffer in memory.items()}


@pytest.mark.parametrize("block", range(4))
def test_random_kernels_have_the_same_gradients(block: int) -> None:
    tried = 0
    for seed in range(4 * block, 4 * block + 4):
        kernel = optimize(smooth_kernel(seed, 25, f64, value_conditions=seed % 2 == 1), keep_accesses=True)
        memory = smooth_buffers(kernel, seed)
        memory |= {f"{name}.grad": adjoint for name, adjoint in smooth_adjoints(kernel, seed).items()}
        wanted = gradients(backward(kernel), memory)
        checkpointed = backward(kernel, Checkpoints(1 + seed % 3, 1 + seed % 2, 1 + seed // 2 % 3))
        assert gradients(checkpointed, memory) == wanted, seed
        tried += any(op.name == "while" for task in checkpointed.tasks for op in task.body.walk())
    assert tried, "no kernel has a loop that keeps something"


# ---- work and memory

RECURRENCE = """
%0 = const 0 : i32
%n = load @n[]
%first = load @x[]
%last = for %k = %0 to %n carry (%v = %first) {
  %next = sin %v
  yield %next
}
%s = sin %last
store @y[], %s
return
"""


HEAD = "kernel @k() {\n  place @x : f64[] field\n  place @y : f64[] field\n  place @n : i32[] field"


def memory_of(trips: int) -> Buffers:
    numbers = {"x": 0.5, "y": 0.25, "x.grad": 1.0, "y.grad": 2.0}
    return {"n": np.array(trips, np.int32), **{name: np.array(number) for name, number in numbers.items()}}


def recurrence() -> Kernel:
    return kernel_of(wrap(RECURRENCE, HEAD))


def sines(kernel: Kernel, trips: int) -> int:
    """How many sines a reverse kernel takes."""
    taken = [0]

    def counted(meaning: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*args: Any) -> Any:
            taken[0] += 1
            return meaning(*args)

        return evaluate

    for op in kernel.body.walk():
        if op.name == "sin":
            op.opdef = replace(op.opdef, meaning=counted(op.opdef.meaning))
    run(kernel, memory_of(trips))
    return taken[0]


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5])
@pytest.mark.parametrize("block", [1, 4])
def test_as_few_trips_run_again_as_the_schedule_promises(snapshots: int, block: int) -> None:
    kernel = recurrence()
    for trips in (0, 1, 4, 15, 16, 17, 40):
        checkpointed = reverse(kernel, places(kernel), checkpoints=Checkpoints(snapshots, block))
        blocks = -(-trips // block)
        starts = [max(trips - block * (blocks - k), 0) for k in range(blocks)]
        again = [starts[to] - starts[at] for what, at, to in actions(blocks, snapshots) if what == "advance"]
        assert sines(checkpointed, trips) == trips + sum(again)
        if trips == blocks * block:
            assert sum(again) == block * forward_blocks(blocks, snapshots)


@pytest.mark.parametrize("name", ["recurrence", "ragged", "inner_while", "arrays"])
def test_adstacks_are_as_deep_as_the_fullest_block_and_no_deeper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allocated: list[stacks.Stack] = []
    init = stacks.Stack.__init__

    def recorded(self: stacks.Stack, *args: Any) -> None:
        init(self, *args)
        allocated.append(self)

    monkeypatch.setattr(stacks.Stack, "__init__", recorded)
    kernel = kernels()[name]
    gradients(backward(kernel, Checkpoints(4, 3)), buffers(kernel, [40, 41, 42, 43, 44, 45]))
    assert len(allocated) >= 3
    for stack in allocated:
        assert stack.count.tolist() == stack.capacity.tolist()
        assert stack.capacity.max() <= 80, "no depth grows with the trip count"


def test_the_adstacks_of_a_nest_do_not_grow_with_the_trips_of_any_level() -> None:
    kernel = kernels()["nests"]
    for depth, constant in ((1, False), (3, True)):
        program = with_sizers(backward(kernel, Checkpoints(3, 2, depth))).program
        assert any(task.sizes for task in program.tasks) != constant


def test_a_hundred_thousand_trips_need_two_hundred_slots() -> None:
    kernel = recurrence()
    memory = memory_of(100_000)
    plain, parts = backward(kernel), backward(kernel, Checkpoints(100, 100))
    assert on_cpu(parts, 1, memory) == on_cpu(plain, 1, memory)


def test_loops_of_few_trips_keep_everything() -> None:
    kernel = kernel_of(
        wrap(
            RECURRENCE.replace("%n = load @n[]", "%n = const 7 : i32"),
            HEAD,
        )
    )
    loops = [[op.name for op in reverse(kernel, places(kernel), checkpoints=c).body.walk()] for c in (FEW[2], FEW[1])]
    assert "while" not in loops[0]
    assert "while" in loops[1]


def test_the_kit_has_a_name_for_every_kernel() -> None:
    assert list(kernels()) == NAMES
    assert len(TRIPS[1]) == LANES


@pytest.mark.parametrize("checkpoints", [None, FEW[1]], ids=["without", "with"])
def test_serial_code_before_a_parallel_loop_keeps_only_when_its_reversal_comes(checkpoints: Checkpoints | None) -> None:
    after = (
        "parallel_for (%i = %0 to %n) {\n%l = load @y[]\n%w = mul %l, %last\n%o = atomic add @x[], %w\nyield\n}\nreturn"
    )
    kernel = kernel_of(wrap(RECURRENCE.replace("store @y[], %s\nreturn", after).replace("load @x", "load @z"), MORE))
    program = backward(kernel, checkpoints)
    stacks = [sum(op.name == "stack.alloca" for op in task.body.walk()) for task in program.tasks]
    assert [n > 0 for n in stacks] == [False] * (len(stacks) - 1) + [True]
    memory = {**memory_of(9), "z": np.array(0.75), "z.grad": np.array(0.0)}
    assert gradients(program, memory) == gradients(backward(kernel), memory)


MORE = HEAD + "\n  place @z : f64[] field"
