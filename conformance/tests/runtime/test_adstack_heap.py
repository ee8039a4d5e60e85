"""The adstack heap of a device: growth, lifetime, waves, limits, whatever the allocator refuses."""

from __future__ import annotations

import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.errors import AdstackMemoryError
from adstack.runtime.adstacks.heap import Heap, HeapLimit, least
from adstack.runtime.adstacks.stats import stats


class Device:
    """Memory of a device with `capacity` bytes that refuses chosen calls, and runs behind what is dispatched to it."""

    def __init__(self, capacity=2**62, refused=(), lag=0):
        self.capacity, self.refused, self.lag = capacity, set(refused), lag
        self.calls = self.dispatched = 0
        self.alive: dict[int, int] = {}
        self.used: dict[int, int] = {}
        self.most = 0
        self.asked: list[int] = []
        self._done = 0

    def allocate(self, size):
        self.asked.append(size)
        self.calls += 1
        if self.calls - 1 in self.refused or sum(self.alive.values()) + size > self.capacity:
            raise AdstackMemoryError(f"no {size} bytes")
        self.alive[self.calls] = size
        self.most = max(self.most, sum(self.alive.values()))
        return self.calls

    def free(self, storage):
        assert self.used.get(storage, 0) <= self.finished(), "a dispatch may still use this memory"
        del self.alive[storage]

    def dispatch(self, heap):
        """Something that uses the memory there is."""
        self.dispatched += 1
        if heap.storage is not None:
            self.used[heap.storage] = self.dispatched

    def submitted(self):
        return self.dispatched

    def finished(self):
        return max(self._done, self.dispatched - self.lag)

    def wait(self, number):
        self._done = max(self._done, number)


def heap_on(device):
    return Heap(device.allocate, device.free, device)


def test_the_heap_grows_to_what_is_needed_or_twice_what_there_was():
    device = Device()
    heap = heap_on(device)
    assert heap.room(100, 3) == 3
    assert heap.room(100, 2) == 2
    assert heap.room(110, 3) == 3
    assert heap.room(10_000, 1) == 1
    assert device.asked == [300, 600, 10_000]
    assert (heap.size, heap.figures.grown, heap.figures.most) == (10_000, 3, 10_000)


def test_counters_of_the_program_count_what_a_heap_does():
    before, heap = stats(), heap_on(Device(capacity=500, refused=[1]))
    heap.room(100, 2)
    heap.room(100, 9)
    after, figures = stats(), heap.figures
    names = ("heap_growths", "heap_refusals", "heap_waves")
    assert [after[name] - before[name] for name in names] == [figures.grown, figures.refused, figures.waves]
    assert min(figures.grown, figures.refused, figures.waves) > 0


def test_where_the_limit_has_room_for_both_nothing_waits_for_the_old_memory():
    device = Device(lag=9)
    heap = heap_on(device)
    heap.room(100, 1, limit=1000)
    device.dispatch(heap)
    heap.room(100, 3, limit=1000)
    assert sorted(device.alive.values()) == [100, 300]
    device.dispatch(heap)
    heap.room(100, 8, limit=1000)
    assert sorted(device.alive.values()) == [800]


def test_old_memory_goes_at_the_next_task_after_the_device_has_finished():
    device = Device(lag=9)
    heap = heap_on(device)
    heap.room(100, 1)
    device.dispatch(heap)
    heap.room(100, 3)
    assert sorted(device.alive.values()) == [100, 300]
    device.wait(device.dispatched)
    heap.room(100, 2)
    assert sorted(device.alive.values()) == [300]


def test_a_refused_growth_is_tried_again_at_the_exact_size():
    device = Device(refused=[1])
    heap = heap_on(device)
    heap.room(100, 4)
    assert heap.room(100, 5) == 5
    assert device.asked == [400, 800, 500]
    assert (heap.size, heap.figures.refused, heap.figures.waves) == (500, 1, 0)


def test_old_memory_goes_before_fewer_lanes_run():
    device = Device(capacity=900, lag=1)
    heap = heap_on(device)
    heap.room(100, 4)
    device.dispatch(heap)
    assert heap.room(100, 8) == 8  # 400 + 800 bytes are too many, 800 are not
    assert list(device.alive.values()) == [800]


def test_a_dispatch_runs_in_waves_where_memory_is_short():
    device = Device(capacity=350)
    heap = heap_on(device)
    assert heap.room(100, 8) == 2
    assert heap.figures.waves == 1
    assert heap.room(100, 8) == 2
    assert heap.room(400, 2) == 0
    assert heap.room(100, 1) == 1


def test_where_nothing_more_can_be_had_what_there_was_is_taken_again():
    device = Device(capacity=500)
    heap = heap_on(device)
    assert heap.room(100, 5) == 5
    assert heap.room(100, 12) == 5  # halving 12 comes by 6 and 3


def test_a_limit_makes_waves_and_is_never_passed():
    device = Device(lag=10)
    heap = heap_on(device)
    for blocks in (2, 4, 9, 100):
        granted = heap.room(100, blocks, limit=950)
        assert granted == min(blocks, 9)
        device.dispatch(heap)
    assert device.most <= 950
    assert heap.room(1000, 1, limit=950) == 0


def test_growing_many_times_keeps_a_bounded_number_of_old_buffers_and_frees_none_too_early():
    device = Device(lag=10**6)
    heap = heap_on(device)
    for k in range(1, 60):
        assert heap.room(64, k * k) == k * k
        device.dispatch(heap)
        assert len(device.alive) <= 2
    heap.drop()
    assert device.alive == {}


def test_memory_of_finished_dispatches_is_given_back_when_asked():
    device = Device(lag=1)
    heap = heap_on(device)
    heap.room(100, 1)
    device.dispatch(heap)
    heap.room(100, 3)
    assert len(device.alive) == 2
    device.dispatch(heap)
    heap.collect()
    assert len(device.alive) == 1
    assert heap.figures.allocated == 300


def test_nothing_is_allocated_where_nothing_is_needed():
    device = Device()
    assert heap_on(device).room(0, 5) == 5
    assert heap_on(device).room(64, 0) == 0
    assert device.asked == []


@given(
    asked=st.lists(st.tuples(st.integers(1, 300), st.integers(1, 12)), min_size=1, max_size=12),
    refused=st.sets(st.integers(0, 20)),
    capacity=st.sampled_from([150, 1000, 10**9]),
    limit=st.sampled_from([0, 200, 1500]),
    lag=st.integers(0, 3),
)
def test_whatever_is_refused_the_heap_is_whole(asked, refused, capacity, limit, lag):
    device = Device(capacity, refused, lag)
    heap = heap_on(device)
    for block, blocks in asked:
        granted = heap.room(block, blocks, limit)
        assert 0 <= granted <= blocks
        assert granted * block <= heap.size
        assert heap.size == (device.alive[heap.storage] if heap.storage is not None else 0)
        assert heap.figures.allocated == sum(device.alive.values())
        assert len(device.alive) <= 2
        if limit:
            assert device.most <= limit
        device.dispatch(heap)
    heap.drop()
    assert device.alive == {}
    device.refused, device.capacity = set(), 2**62
    assert heap.room(64, 4) == 4


@given(st.integers(1, 200), st.integers(1, 20), st.integers(1, 5000))
def test_a_block_that_fits_always_runs(block, blocks, capacity):
    device = Device(capacity)
    granted = heap_on(device).room(block, blocks)
    assert (granted > 0) == (block <= capacity)
    assert granted >= min(blocks, capacity // block) // 2


@pytest.mark.parametrize(("limit", "says"), [(640, "ad_stack_heap_limit is 640"), (0, "does not have so much memory")])
def test_the_error_says_what_is_needed_and_what_helps(limit, says):
    error = HeapLimit("k", "k.0.parallel", 8192, limit, number=2, touched=True)
    assert isinstance(error, (AdstackMemoryError, MemoryError))
    assert "k.0.parallel take 8192 bytes" in str(error)
    assert says in str(error)
    assert ("raise ad_stack_heap_limit to 8192 or more" in str(error)) == (limit > 0)
    assert (error.number, error.stride, error.touched) == (2, 8192, True)


def test_the_error_names_what_a_device_can_bind():
    error = HeapLimit("k", "k.0", 1000, 0, most=500)
    assert error.limit == 500
    assert "take 1000 bytes; the device binds at most 500 as one buffer" in str(error)
    assert "use one that has bufferDeviceAddress" in str(error)
    assert "ad_stack_heap_limit is 400" in str(HeapLimit("k", "k.0", 1000, 400, most=500))


@pytest.mark.parametrize(("limits", "comes_to"), [((0, 0), 0), ((5, 0), 5), ((0, 7), 7), ((5, 7), 5)])
def test_of_several_limits_the_least_that_is_one_holds(limits, comes_to):
    assert least(*limits) == comes_to


def test_what_programs_see_of_it_is_the_error_that_is_promised() -> None:
    error = HeapLimit("k", "k.0", 1000, 400)
    shown = "".join(traceback.format_exception_only(error))
    assert shown.startswith("adstack.errors.AdstackMemoryError: k: the adstacks of one thread of k.0 take 1000 bytes")
    told = pickle.loads(pickle.dumps(error))
    assert type(told) is AdstackMemoryError
    assert str(told) == str(error)
