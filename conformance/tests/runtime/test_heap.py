"""Where adstacks are in the heap: rows that never overlap, and no byte more than they need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.ir.builder import Builder
from adstack.ir.structure import Place, Region, Task
from adstack.ir.types import ALL, f16, f32, f64, i32, i64, u1
from adstack.runtime.adstacks.layout import TaskHeap

DEPTHS = Place("depths", i64, (8,), "depths")


def task_of(stacks):
    """A task with stacks (dtype, capacity or ("depth", number), around, inside)."""
    b = Builder(Region())
    handles = []
    for dtype, capacity, around, inside in stacks:
        read = isinstance(capacity, tuple)
        room = b.load(DEPTHS, (b.const(capacity[1], i32),)) if read else b.const(capacity, i64)
        handles.append(b.stack(dtype, room, around, inside))
    b.return_()
    return Task("t", b.region), handles


def elements(heap, placement, handles, lanes):
    """(stack, slot, lane) -> the bytes it takes."""
    bytes_of = {}
    for number, handle in enumerate(handles):
        slot = heap.slots[handle]
        part = heap.parts[slot.part]
        for d in range(placement.capacities[part.group]):
            for lane in range(lanes):
                row = (d * part.count + slot.position) * part.size * lanes
                at = placement.bases[slot.part] * lanes + row + lane * part.size
                bytes_of[number, d, lane] = range(at, at + part.size)
    return bytes_of


STACKS = st.lists(
    st.tuples(st.sampled_from(ALL), st.integers(0, 5), st.just(()), st.just(())),
    min_size=1,
    max_size=8,
)


@given(STACKS, st.sampled_from([1, 2, 3, 64]))
def test_slots_of_stacks_that_are_alive_together_never_overlap_and_fill_a_lane_s_bytes(stacks, lanes):
    task, handles = task_of(stacks)
    heap = TaskHeap.of(task)
    placement = heap.place([])
    taken = [byte for bytes_ in elements(heap, placement, handles, lanes).values() for byte in bytes_]
    assert sorted(taken) == list(range(placement.stride * lanes))
    assert placement.stride == sum(dtype.size * capacity for dtype, capacity, _, _ in stacks)


@given(STACKS, st.sampled_from([1, 4, 64]))
def test_every_element_is_aligned_to_its_size(stacks, lanes):
    task, handles = task_of(stacks)
    heap = TaskHeap.of(task)
    for (number, _, _), bytes_ in elements(heap, heap.place([]), handles, lanes).items():
        assert bytes_.start % stacks[number][0].size == 0


SIDES = st.lists(st.integers(0, 5), max_size=3, unique_by=lambda side: side // 2).map(sorted).map(tuple)


@given(
    st.lists(st.tuples(st.sampled_from([f64, f32, f16, u1]), st.integers(0, 4), SIDES, SIDES), min_size=1, max_size=8),
    st.sampled_from([1, 2, 5]),
)
def test_only_stacks_of_opposite_branches_share_bytes_and_only_of_the_same_lane(stacks, lanes):
    # an `if` may stand in another only on one side of it: the number of the branch around comes with its side
    task, handles = task_of(stacks)
    heap = TaskHeap.of(task)
    owners = {}
    for (number, slot, lane), bytes_ in elements(heap, heap.place([]), handles, lanes).items():
        for byte in bytes_:
            for other, other_slot, other_lane in owners.get(byte, []):
                assert other_lane == lane
                assert opposite(stacks[number][2], stacks[other][2]) or (
                    opposite(stacks[number][3], stacks[other][3]) and slot == other_slot
                )
            owners.setdefault(byte, []).append((number, slot, lane))


def opposite(one, other):
    """Whether two lists of sides part at some branch."""
    for a, b in zip(one, other, strict=False):
        if a != b:
            return a // 2 == b // 2
    return False


def test_of_exclusive_branches_the_larger_counts():
    task, _ = task_of([(f32, 10, (0,), ()), (f32, 7, (1,), ()), (f32, 2, (), ())])
    assert TaskHeap.of(task).place([]).stride == (10 + 2) * 4


def test_depths_are_read_at_launch():
    task, _ = task_of([(f32, ("depth", 3), (), ()), (f64, 2, (), ())])
    heap = TaskHeap.of(task)
    assert heap.place([0, 0, 0, 5]).stride == 5 * 4 + 2 * 8
    assert heap.place([0, 0, 0, -4]).stride == 2 * 8
    assert heap.place([0, 0, 0, 2**40]).stride == 2**40 * 4 + 2 * 8


def test_what_only_the_thread_knows_is_not_in_the_heap():
    b = Builder(Region())
    some = Place("n", i64, (), "field")
    b.stack(f32, b.load(some))
    b.return_()
    assert TaskHeap.of(Task("t", b.region)).groups == ()


@pytest.mark.parametrize("lanes", [1, 64])
def test_values_written_to_every_slot_of_every_lane_are_all_read_back(lanes):
    rng = np.random.default_rng(1)
    stacks = [(f64, 3, (), ()), (u1, 9, (), ()), (f32, 3, (), ()), (f16, 9, (), ()), (i64, 1, (), ())]
    task, handles = task_of(stacks)
    heap = TaskHeap.of(task)
    placement = heap.place([])
    memory = np.zeros(placement.stride * lanes, np.uint8)
    wrote = {}
    for key, bytes_ in elements(heap, placement, handles, lanes).items():
        wrote[key] = rng.integers(0, 256, len(bytes_), np.uint8)
        memory[bytes_.start : bytes_.stop] = wrote[key]
    for key, bytes_ in elements(heap, placement, handles, lanes).items():
        assert (memory[bytes_.start : bytes_.stop] == wrote[key]).all()
    assert math.prod(memory.shape) == placement.stride * lanes


@pytest.mark.parametrize(("threads", "claims", "lanes"), [(8, 5, 5), (3, 5, 3), (8, 0, 1)])
def test_where_iterations_claim_rows_no_more_lanes_have_any(threads, claims, lanes):
    assert TaskHeap((), (), {}, claims=1).lanes(threads, [99, claims]) == lanes
    assert TaskHeap((), (), {}).lanes(threads, [99, claims]) == threads
