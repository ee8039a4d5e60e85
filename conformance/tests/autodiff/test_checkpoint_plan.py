"""Plans of checkpoints: bytes as they are laid out in the heap, and the best choice within a limit."""

from __future__ import annotations

import pytest
from checkpoint_kit import backward, buffers, gradients, kernels, places

from adstack.autodiff.checkpoint_plan import CheckpointPlan, plan_checkpoints
from adstack.autodiff.checkpointing.schedule import Checkpoints, forward_blocks
from adstack.ir.structure import Kernel
from adstack.runtime.adstacks.layout import TaskHeap
from adstack.sizing.sizers import with_sizers


def planned(kernel: Kernel, levels: int = 1) -> CheckpointPlan:
    return plan_checkpoints(kernel, places(kernel), levels=levels)


def in_the_heap(kernel: Kernel, checkpoints: Checkpoints, inner: int) -> int:
    """The bytes of a lane if loops inside keep `inner` times what the block does."""
    heaps = [TaskHeap.of(task) for task in backward(kernel, checkpoints).tasks]
    return max(heap.place([inner] * 50).stride for heap in heaps)


@pytest.mark.parametrize("checkpoints", [Checkpoints(1, 1), Checkpoints(3, 5), Checkpoints(4, 32)])
@pytest.mark.parametrize(
    "name", ["recurrence", "shifted", "condition", "leaving", "edges", "branches", "arrays", "arrays_written_later"]
)
def test_bytes_are_those_of_the_heap(name: str, checkpoints: Checkpoints) -> None:
    kernel = kernels()[name]
    assert planned(kernel).bytes(checkpoints) == in_the_heap(kernel, checkpoints, 0)


@pytest.mark.parametrize("checkpoints", [Checkpoints(1, 1, 3), Checkpoints(3, 2, 3), Checkpoints(4, 32, 3)])
@pytest.mark.parametrize("name", ["ragged", "siblings", "inner_while", "nests"])
def test_bytes_of_nests_are_those_of_the_heap(name: str, checkpoints: Checkpoints) -> None:
    kernel = kernels()[name]
    plan = planned(kernel, 3)
    assert not plan.deeper
    assert plan.bytes(checkpoints) == in_the_heap(kernel, checkpoints, 0)


def test_what_loops_inside_keep_is_counted_by_their_trips() -> None:
    plan = planned(kernels()["ragged"])
    one, three = plan.bytes(Checkpoints(2, 10)), plan.bytes(Checkpoints(2, 10), inner=3)
    (loop,) = plan.loops
    assert three - one == 2 * 10 * sum(size * count for size, count in loop.inner.items()) > 0


@pytest.mark.parametrize("limit", [100, 500, 2000, 10_000])
def test_the_choice_is_the_best_of_all_that_fit(limit: int) -> None:
    plan, trips = planned(kernels()["recurrence"]), 240

    def again(c: Checkpoints) -> int:
        return c.block * forward_blocks(-(-trips // c.block), c.snapshots)

    chosen = plan.choose(limit, trips)
    assert chosen is not None
    assert plan.bytes(chosen) <= limit
    sizes = [2**k for k in range(8)] + [3 * 2**k for k in range(7)] + [trips]
    fitting = [c for s in range(1, 241) for b in sizes if plan.bytes(c := Checkpoints(s, b)) <= limit]
    assert again(chosen) == min(map(again, fitting))


def test_if_everything_fits_nothing_runs_again() -> None:
    assert planned(kernels()["recurrence"]).choose(10**6, trips=1000) == Checkpoints(1, 1000)


def test_a_limit_that_no_checkpoints_keep_is_told() -> None:
    plan = planned(kernels()["siblings"])
    assert plan.choose(plan.least - 1) is None
    assert plan.choose(plan.least, trips=10) == Checkpoints(1, 1)


def test_it_is_told_in_a_line_for_each_loop() -> None:
    first, second = planned(kernels()["arrays"]).told(Checkpoints(8, 32))
    assert first.startswith("loop at line ")
    assert first.endswith(": checkpointed, 8 snapshots of 88 bytes, blocks of 32 trips")
    assert second.endswith(": 20 trips, kept in full")
    assert planned(kernels()["arrays"]).told(Checkpoints(1, 1))[0].endswith("1 snapshot of 88 bytes, blocks of 1 trip")


@pytest.mark.parametrize("name", ["serial", "ragged", "inner_while", "siblings", "arrays_of_a_branch"])
def test_depths_of_loops_inside_are_known_before_the_launch(name: str) -> None:
    kernel = kernels()[name]
    memory = buffers(kernel, [12, 31, 7, 0, 13, 14])
    wanted = gradients(backward(kernel), memory)
    program = with_sizers(backward(kernel, Checkpoints(3, 4))).program
    stacks = [op for task in program.tasks for op in task.body.walk() if op.name == "stack.alloca"]
    assert sum(len(TaskHeap.of(task).slots) for task in program.tasks) == len(stacks)
    assert any(task.sizes for task in program.tasks)
    assert gradients(program, memory) == wanted


def test_the_trip_count_is_read_off_what_a_launch_would_take() -> None:
    plan = planned(kernels()["condition"])
    assert plan.trips(4000 * 4) == 4000  # an f32 of each
    assert plan.trips(0) == 1


@pytest.mark.parametrize(
    ("name", "state"), [("recurrence", 12), ("condition", 12), ("leaving", 16), ("inner_while", 16), ("arrays", 88)]
)
def test_a_snapshot_holds_what_later_trips_look_at_and_no_more(name: str, state: int) -> None:
    assert f"snapshot of {state} bytes" in planned(kernels()[name]).told(Checkpoints(1, 1))[0]
