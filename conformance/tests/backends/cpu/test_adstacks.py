"""Adstacks in the heap of the cpu: laid out when needed and not more often, in blocks that fit, whatever is refused."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from cpu_kit import backend, tasks_of
from sizing_kit import after_forward, reverse_program, sized_program

from adstack.backends.cpu import adstacks, layout
from adstack.backends.cpu.executable import Executable
from adstack.backends.cpu.runtime import CpuBackend, open_device
from adstack.conformance.fuzz.smooth import smooth_buffers, smooth_kernel
from adstack.errors import AdstackCompilationError, AdstackMemoryError, AdstackOverflowError
from adstack.ir.types import ALL
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options

SQUARES = """
program @squares {
  place @len : i32[?] field
  place @y : f32[?] field
  place @depths : i64[1] depths
  task @squares.size0 serial sizes (0) (%n: i32) {
    %z = const 0 : i32
    %zero = const 0 : i64
    store @depths[%z], %zero
    return
  }
  task @squares.size1 parallel sizes (0) (%n: i32) {
    %z = const 0 : i32
    parallel_for (%i = %z to %n) {
      %l = load @len[%i] : i32
      %w = cast %l : i64
      %old = atomic max @depths[%z], %w : i64
      yield
    }
    return
  }
  task @squares.work parallel (%n: i32) {
    %z = const 0 : i32
    %d = load @depths[%z] : i64
    parallel_for (%i = %z to %n) {
      %l = load @len[%i] : i32
      %s = stack.alloca %d : stack<f32>
      %t = stack.alloca %d : stack<i64>
      for %j = %z to %l {
        %f = cast %j : f32
        %w = cast %j : i64
        stack.put %s, %w, %f
        stack.put %t, %w, %w
        yield
      }
      %none = const 0.0 : f32
      %r = for %j = %z to %l carry (%a = %none) {
        %w = cast %j : i64
        %v = stack.get %s, %w : f32
        %u = stack.get %t, %w : i64
        %g = cast %u : f32
        %m = mul %g, %v : f32
        %b = add %a, %m : f32
        yield %b
      }
      store @y[%i], %r
      yield
    }
    return
  }
}
"""
"""Each iteration keeps 0 .. len[i] - 1 on two stacks (12 bytes per slot), and adds up the squares."""


def made(opened: CpuBackend | None = None, **options: Any) -> Executable:
    return (opened or backend()).compile(tasks_of(SQUARES), Options(offline_cache=False, **options))


def squares(executable: Executable, lengths: Any, opened: CpuBackend | None = None, *, sized: bool = False) -> None:
    """Launch, and look at what comes out."""
    len_ = np.asarray(lengths, np.int32)
    y = np.full(len(len_), -1, np.float32)
    shapes = {"len": len_.shape, "y": y.shape}
    (opened or backend()).launch(executable, [len(len_)], Bindings({"len": len_, "y": y}, shapes, sized))
    sums = np.concatenate(([0], np.cumsum(np.arange(5000, dtype=np.float32) ** 2, dtype=np.float32)))
    assert y.tolist() == sums[len_].tolist()


def use(executable: Executable, opened: CpuBackend | None = None) -> Any:
    """The heap of the only task that has one."""
    (usage,) = (opened or backend()).adstacks(executable)
    return usage


@pytest.mark.parametrize("lanes", [0, 1, 8, 64])
@pytest.mark.parametrize(("limit", "threads"), [(0, 1), (0, 3), (20_000, 3), (1500, 2)])
def test_depths_and_lengths_may_change_from_launch_to_launch(lanes, limit, threads):
    executable = made(cpu_lanes=lanes, ad_stack_heap_limit=limit, cpu_max_num_threads=threads)
    random = Random(lanes)
    for n in (0, 1, 63, 64, 65, 1000, 7, 5000):
        for deepest in (3, 0, 40, 1):
            squares(executable, [random.randint(0, deepest) for _ in range(n)])


def test_a_lane_takes_what_its_slots_take_and_a_block_is_there_for_every_thread():
    executable = made(cpu_lanes=8, cpu_max_num_threads=2)
    squares(executable, [5] * 1000)
    usage = use(executable)
    assert (usage.capacities, usage.stride, usage.lanes, usage.blocks) == ((5,), 60, 8, 2)
    assert usage.bytes == 2 * 8 * 64  # 480 bytes, to whole lines of the cache
    squares(executable, [6, 5, 4])
    assert (use(executable).stride, use(executable).blocks) == (72, 1)


def test_a_launch_whose_depths_stand_comes_by_no_python(monkeypatch):
    executable, visits = made(), []
    go_on = Executable.go_on
    monkeypatch.setattr(Executable, "go_on", lambda self, stopped: visits.append(stopped) or go_on(self, stopped))
    for lengths, laid_out in (([3, 4], 1), ([4, 0], 0), ([4] * 5000, 1), ([4] * 100, 0), ([5, 1], 1), ([2, 2], 1)):
        squares(executable, lengths)
        assert len(visits) == laid_out
        visits.clear()


@pytest.mark.parametrize("left", [None, 1 << 30])
def test_the_heap_grows_where_the_system_has_memory_or_does_not_tell(left, monkeypatch):
    monkeypatch.setattr(adstacks, "memory_left", lambda: left)
    opened = open_device()
    squares(made(opened), [5, 40, 3], opened)


def test_the_heap_does_not_take_what_the_system_does_not_have(monkeypatch):
    monkeypatch.setattr(adstacks, "memory_left", lambda: 100)
    opened = open_device()
    with pytest.raises(AdstackMemoryError):
        squares(made(opened), [5, 40, 3], opened)
    monkeypatch.setattr(adstacks, "memory_left", lambda: None)
    squares(made(opened), [5, 40, 3], opened)


def test_sizers_are_left_out_when_depths_stand_and_never_after_a_failure():
    executable = made()
    squares(executable, [7, 2])
    squares(executable, [3, 2], sized=True)
    assert use(executable).capacities == (7,)
    with pytest.raises(AdstackOverflowError, match=r"squares\.work.*capacity 7 was pushed 9 deep"):
        squares(executable, [9, 2], sized=True)
    squares(executable, [9, 2], sized=True)  # the launch before has failed: nothing is known
    assert use(executable).capacities == (9,)


def test_nothing_is_allocated_for_loops_without_iterations_or_stacks_without_slots():
    opened = open_device()
    executable = made(opened)
    squares(executable, [], opened)
    assert opened.heap.heap.size == 0
    assert opened.adstacks(executable) == []
    squares(executable, [0] * 100, opened)
    assert use(executable, opened).stride == 0
    assert opened.heap.heap.size <= 4096  # where a first slot would be


def test_another_kernel_may_move_the_heap():
    opened = open_device()
    one, other = made(opened), made(opened)
    squares(one, [3] * 100, opened)
    squares(other, [300] * 5000, opened)
    squares(one, [3] * 100, opened)
    squares(other, [299, 300], opened)


def test_a_heap_that_has_become_smaller_is_laid_out_again(monkeypatch):
    take, most = layout.take, [10**9]

    def scarce(size, **how):
        if size > most[0]:
            raise MemoryError(f"no {size} bytes")
        return take(size, **how)

    monkeypatch.setattr(layout, "take", scarce)
    opened = open_device()
    one, other = made(opened, cpu_lanes=8), made(opened, cpu_lanes=8)
    squares(one, [40] * 5000, opened)
    before = opened.heap.heap.size
    most[0] = before // 2
    squares(other, [50] * 5000, opened)  # what there was goes, for the sake of more, which there isn't
    assert opened.heap.heap.size < before
    squares(one, [40] * 5000, opened)
    assert use(one, opened).bytes <= opened.heap.heap.size


def test_growing_many_times_keeps_one_buffer(monkeypatch):
    alive = []
    monkeypatch.setattr(layout, "take", lambda size, **how: taken(alive, size))
    opened = open_device()
    executable = made(opened)
    for depth in range(1, 400, 7):
        squares(executable, [depth] * 200, opened)
    assert opened.heap.heap.figures.grown <= 10  # from 7 to 400 slots
    assert opened.heap.heap.figures.allocated == opened.heap.heap.size


def taken(alive: list[int], size: int) -> Any:
    alive.append(size)
    return np.zeros(size, np.uint8)


def test_a_limit_makes_threads_wait_then_lanes_and_in_the_end_is_an_error():
    executable = made(cpu_lanes=16, cpu_max_num_threads=4, ad_stack_heap_limit=8 * 960)
    squares(executable, [5] * 1000)
    assert (use(executable).lanes, use(executable).blocks, use(executable).wanted) == (16, 4, 4)
    squares(executable, [20] * 1000)
    assert (use(executable).lanes, use(executable).blocks, use(executable).wanted) == (16, 2, 4)
    squares(executable, [50] * 1000)
    assert (use(executable).lanes, use(executable).blocks, use(executable).wanted) == (1, 4, 4)
    squares(executable, [600] * 1000)
    assert (use(executable).lanes, use(executable).blocks) == (1, 1)
    with pytest.raises(HeapLimit, match="raise ad_stack_heap_limit to 7744 or more") as caught:
        squares(executable, [641] * 3)
    error = caught.value
    assert (error.kernel, error.task, error.number, error.touched) == ("squares", "squares.work", 2, False)
    assert (error.stride, error.limit) == (7744, 7680)
    squares(executable, [5] * 1000)
    assert (use(executable).lanes, use(executable).blocks) == (16, 4)


def test_depths_beyond_counting_are_an_error_that_names_the_loop():
    text = SQUARES.replace("%zero = const 0 : i64", f"%zero = const {2**63 - 1} : i64")
    executable = backend().compile(tasks_of(text), Options(offline_cache=False))
    len_, y = np.zeros(3, np.int32), np.zeros(3, np.float32)
    bindings = Bindings({"len": len_, "y": y}, {"len": (3,), "y": (3,)})
    with pytest.raises(AdstackMemoryError, match="more than 9223372036854775807 deep"):
        backend().launch(executable, [3], bindings)


@pytest.mark.parametrize("failing", range(8))
def test_whatever_allocation_fails_the_program_goes_on_or_can_be_run_again(monkeypatch, failing):
    calls = []
    take = layout.take

    def once(size, **how):
        calls.append(size)
        if len(calls) == failing + 1:
            raise MemoryError(f"no {size} bytes")
        return take(size, **how)

    monkeypatch.setattr(layout, "take", once)
    opened = open_device()
    try:
        executable = made(opened)
    except AdstackMemoryError:
        assert failing == 0  # the memory of the executable itself: all else makes do with less
        executable = made(opened)
    for lengths in ([3] * 100, [30] * 5000, [0], [300] * 5000, [2] * 10):
        squares(executable, lengths, opened)
    assert len(calls) >= 4 + (failing < 4)


def test_memory_that_is_refused_for_good_is_an_error_and_not_the_end(monkeypatch):
    take, most = layout.take, [2000]

    def scarce(size, **how):
        if size > most[0]:
            raise MemoryError(f"no {size} bytes")
        return take(size, **how)

    monkeypatch.setattr(layout, "take", scarce)
    opened = open_device()
    executable = made(opened)
    squares(executable, [100] * 1000, opened)
    assert use(executable, opened).lanes == 1
    with pytest.raises(HeapLimit, match="the device does not have so much memory left"):
        squares(executable, [200] * 1000, opened)
    squares(executable, [10] * 1000, opened)
    most[0] = 10**9
    squares(executable, [200] * 1000, opened)


# ---- what is touched is what is reserved


def every_type(capacities: list[int], dtypes: list[str]) -> str:
    """Stacks of any types: each iteration fills every slot of every stack, then counts the slots that hold it still."""
    made_, filled, read = [], [], ["%count0 = const 0 : i32"]
    for k, (capacity, dtype) in enumerate(zip(capacities, dtypes, strict=True)):
        made_ += [f"%c{k} = const {capacity} : i64", f"%s{k} = stack.alloca %c{k} : stack<{dtype}>"]
        value = [f"%a{k} = cast %i : i64", f"%k{k} = const {31 * k + 1} : i64", f"%p{k} = mul %a{k}, %k{k} : i64"]
        value += [f"%q{k} = add %p{k}, %j{k} : i64", f"%m{k} = const {2 if dtype == 'u1' else 100} : i64"]
        value += [f"%r{k} = mod %q{k}, %m{k} : i64", f"%v{k} = cast %r{k} : {dtype}"]
        if dtype == "u1":
            value[-1] = f"%v{k} = eq %r{k}, %zero : u1"
        filled += [f"for %j{k} = %zero to %c{k} {{", *value, f"stack.put %s{k}, %j{k}, %v{k}", "yield", "}"]
        read += [f"%count{k + 1} = for %j{k} = %zero to %c{k} carry (%n{k} = %count{k}) {{", *value]
        read += [f"%g{k} = stack.get %s{k}, %j{k} : {dtype}", f"%e{k} = eq %g{k}, %v{k} : u1"]
        read += [f"%b{k} = cast %e{k} : i32", f"%t{k} = add %n{k}, %b{k} : i32", f"yield %t{k}", "}"]
    body = "\n".join([*made_, *filled, *read])
    return f"""program @any {{
      place @y : i32[?] field
      task @any.work parallel () {{
        %z = const 0 : i32
        %n = shape @y, 0 : i32
        parallel_for (%i = %z to %n) {{
          %zero = const 0 : i64
          {body}
          store @y[%i], %count{len(capacities)}
          yield
        }}
        return
      }}
    }}"""


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("storage", ["heap", "stack"])
def test_every_slot_of_every_lane_of_every_type_is_its_own(seed, storage):
    random = Random(seed)
    dtypes = [random.choice(ALL).name for _ in range(random.randint(1, 9))]
    if seed == 0:
        dtypes = [dtype.name for dtype in ALL]
    capacities = [random.choice([0, 1, 3, random.randint(1, 40)]) for _ in dtypes]
    program = tasks_of(every_type(capacities, dtypes))
    for lanes in (0, 8):
        executable = backend().compile(
            program, Options(cpu_lanes=lanes, offline_cache=False, ad_stack_storage=storage, cpu_max_num_threads=3)
        )
        y = np.zeros(1003, np.int32)
        backend().launch(executable, [], Bindings({"y": y}, {"y": y.shape}))
        assert y.tolist() == [sum(capacities)] * len(y)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_do_not_depend_on_where_adstacks_are_or_how_many_lanes_have_room(seed):
    kernel = smooth_kernel(seed, 20)
    before = after_forward(kernel, smooth_buffers(kernel, seed))
    held = launched(reverse_program(kernel), before)
    sized = sized_program(kernel).program
    for options in ({}, {"ad_stack_heap_limit": 8192}):
        buffers = launched(sized, before, **options)
        assert [name for name in held if held[name].tobytes() != buffers[name].tobytes()] == []


def launched(program: Any, before: dict[str, Any], **options: Any) -> dict[str, Any]:
    memory = {name: buffer.copy() for name, buffer in before.items()}
    settings = Options(cpu_lanes=1, cpu_max_num_threads=1, offline_cache=False, **options)
    executable = backend().compile(program, settings)
    wanted = {name: memory[name] for name in program.places if name in memory}
    backend().launch(executable, [], Bindings(wanted, {name: array.shape for name, array in wanted.items()}))
    return memory


# ---- adstacks in the stack of the thread


def deep(capacity: str) -> str:
    return every_type([7], ["f64"]).replace("const 7 : i64", capacity)


def test_adstacks_in_a_thread_s_stack_have_a_budget():
    options = Options(ad_stack_storage="stack", cpu_lanes=64, offline_cache=False)
    fits = backend().compile(tasks_of(deep(f"const {layout.MOST_FRAME_BYTES // 8} : i64")), options)
    assert fits.version.module.emitted.lanes == [1]
    half = backend().compile(tasks_of(deep(f"const {layout.MOST_FRAME_BYTES // 8 // 16} : i64")), options)
    assert half.version.module.emitted.lanes == [16]
    with pytest.raises(AdstackMemoryError, match=r"any: the adstacks of any\.work take 262152 bytes.*262144") as caught:
        backend().compile(tasks_of(deep(f"const {layout.MOST_FRAME_BYTES // 8 + 1} : i64")), options)
    assert "use ad_stack_storage='heap'" in str(caught.value)


def test_adstacks_in_a_thread_s_stack_have_a_depth_that_the_compiler_knows():
    options = Options(ad_stack_storage="stack", offline_cache=False)
    for text in (SQUARES, deep("cast %i : i64")):
        with pytest.raises(AdstackCompilationError, match="only known when it runs") as caught:
            backend().compile(tasks_of(text), options)
        assert "set ad_stack_size=N" in str(caught.value)


def test_the_greatest_depth_wanted_is_reported_whichever_lane_wants_it():
    program = tasks_of(SQUARES.replace("%old = atomic max @depths[%z], %w : i64", ""))  # no slots at all
    executable = backend().compile(program, Options(cpu_lanes=8, offline_cache=False))
    for at in (0, 5, 8, 16):  # in the first vector or among the iterations after the last one
        len_, y = np.full(17, 2, np.int32), np.zeros(17, np.float32)
        len_[at] = 9
        with pytest.raises(AdstackOverflowError, match="capacity 0 was pushed 9 deep"):
            backend().launch(executable, [17], Bindings({"len": len_, "y": y}, {"len": (17,), "y": (17,)}))
