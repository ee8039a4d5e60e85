"""Threads of a simdgroup, which the host runs until they meet, and what generated code does with them."""

from __future__ import annotations

import ctypes
import re

import metal_kit
import numpy as np
import pytest
from immediate_kit import compiled
from interpreter_kit import parallel

import adstack as qd
from adstack.backends.codegen_msl.frame import TaskFrame
from adstack.backends.metal import capability
from adstack.backends.metal.emulator import Emulator
from adstack.backends.metal.lanes import BROKEN_STACK
from adstack.backends.metal.toolchain import host_library
from adstack.errors import InternalError
from adstack.ir.types import by_name, i32
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options

HEAD = """#include <metal_stdlib>
using namespace metal;
struct Launch { uint out[96]; };
kernel void k(device Launch& launch [[buffer(0)]], uint thread [[thread_position_in_grid]],
    uint threads [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]], uint width [[threads_per_simdgroup]]) {
"""


def ran(lines: str, threads: int, group: int = 64) -> tuple[int, list[int]]:
    """What a kernel function with such lines gives, and what each thread leaves."""
    library = host_library(f"{HEAD}{lines}\n}}\n", ["k"], keep=False)
    out = np.zeros(96, np.uint32)
    run = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, *2 * [ctypes.c_uint32])(library["grid_k"])
    return run(out.ctypes.data, threads, group), out[:threads].tolist()


def test_threads_have_their_number_in_a_simdgroup():
    assert ran("launch.out[thread] = lane * 100 + width;", 40) == (0, [100 * (k % 32) + 32 for k in range(40)])


def test_those_that_are_there_are_active():
    line = "launch.out[thread] = uint(simd_vote::vote_t(simd_ballot(true)));"
    assert ran(line, 37) == (0, [0xFFFFFFFF] * 32 + [0x1F] * 5)
    assert ran(f"if (thread % 2) return; {line}", 8) == (0, [0x55, 0] * 4)
    assert ran(f"if (lane == 1) return; {line.replace('true', 'lane < 3')}", 5) == (0, [5, 0, 5, 5, 5])


def test_a_value_comes_from_a_thread_further_on():
    line = "launch.out[thread] = simd_shuffle_down(thread * 3, ushort(2));"
    nobody, (*rest, last) = 0xDEADBEEF, ran(line, 32)[1]
    assert [*rest[:30], rest[30], last] == [*(3 * (k + 2) for k in range(30)), 90, 93]
    assert ran(line, 5) == (0, [6, 9, 12, nobody, nobody])
    assert ran(f"if (lane == 2) return; {line}", 5)[1] == [nobody, 9, 0, nobody, nobody]


def test_values_of_other_types_keep_their_bits():
    lines = """const half h = simd_shuffle_down(half(thread) / half(4), ushort(1));
    const char c = simd_shuffle_down(char(-int(thread)), ushort(1));
    launch.out[thread] = thread == 3 ? 0 : uint(as_type<ushort>(h)) << 8 | uchar(c);"""
    halves = np.array([0.25, 0.5, 0.75], np.float16).view(np.uint16)
    assert ran(lines, 4)[1][:3] == [int(h) << 8 | 256 - k for k, h in enumerate(halves, 1)]


def test_some_thread_of_the_active_ones():
    assert ran("if (lane != 6) launch.out[thread] = simd_any(lane == 5) + 1;", 8) == (0, [2] * 6 + [0, 2])
    assert ran("if (lane != 5) launch.out[thread] = simd_any(lane == 5) + 1;", 8) == (0, [1] * 5 + [0, 1, 1])


def test_threads_that_meet_at_different_calls_are_found_out():
    first = len(HEAD.splitlines())
    apart = "if (lane & 1) { simd_any(true); }\nelse { simd_any(true); }"
    assert ran(apart, 4)[0] > first
    assert ran("simd_shuffle_down(lane, ushort(lane));", 4)[0] > first
    assert ran(apart, 1)[0] == 0


def test_more_stack_than_there_is_is_found_out():
    def lines(size: int) -> str:
        return f"""volatile char array[{size}];
        for (uint k = 0; k < {size}; ++k) array[k] = char(k);
        launch.out[thread] = array[7] + simd_any(true);"""

    assert ran(lines(1 << 19), 2) == (0, [8, 8])
    assert ran(lines((1 << 20) + 4096), 2)[0] == BROKEN_STACK


@pytest.mark.parametrize(("result", "words"), [(7, "in line 7"), (BROKEN_STACK, "more stack")])
def test_the_device_refuses_to_go_on(result, words):
    device = Emulator()

    class Kernel:
        def run(self, words: int, threads: int, group: int) -> int:
            return result

    device.dispatch(Kernel(), device.allocate(8), 1)
    with pytest.raises(InternalError, match=words):
        device.finish()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("simd_shuffle_down(lane == 0, ushort(1));", "deleted"),
        ("simd_shuffle_down(ulong(lane), ushort(1));", "32 bits"),
    ],
)
def test_what_apples_compiler_has_no_function_for_is_refused(line, complaint):
    with pytest.raises(InternalError, match=complaint):
        ran(line, 1)


# ---- generated code


@pytest.fixture
def on_metal_host(monkeypatch):
    monkeypatch.setenv(capability.CHOICE, capability.HOST)
    qd.init(arch=qd.metal, offline_cache=False)


def tree(values: list[np.float32], width: int = 32) -> np.float32:
    """The sum of what the threads of a simdgroup have, in the order in which they take it."""
    here, step = len(values), width // 2
    while step:
        for k in range(step):
            if k + step < here:
                values[k] += values[k + step]
        step //= 2
    return values[0]


@pytest.mark.usefixtures("on_metal_host")
@pytest.mark.parametrize("count", [1, 2, 3, 17, 31, 32])
def test_a_simdgroup_adds_up_in_a_tree(count):
    x, y = qd.field(qd.f32, shape=count), qd.field(qd.f32, shape=())
    values = np.random.default_rng(count).standard_normal(count).astype(np.float32) * np.float32(1e3)
    x.from_numpy(values)

    @qd.kernel
    def total():
        for i in x:
            y[None] += x[i]

    total()
    assert y[None] == tree(list(values))


@pytest.mark.usefixtures("on_metal_host")
@pytest.mark.parametrize("dtype", [qd.i8, qd.u8, qd.i16, qd.u16, qd.i32, qd.u32, qd.i64, qd.u64, qd.f16, qd.f32])
def test_every_type_is_added_up(dtype):
    y = qd.field(dtype, shape=())

    @qd.kernel
    def total(n: qd.i32):
        for i in range(n):
            y[None] += qd.cast(i % 2, dtype)

    for count in (1, 33, 100):
        y[None] = 0
        total(count)
        assert y[None] == count // 2


@pytest.mark.usefixtures("on_metal_host")
def test_the_greatest_and_the_least_and_bits():
    dtypes = {"most": qd.f32, "least": qd.i32, "all": qd.u32, "some": qd.u32, "odd": qd.u64}
    fields = {name: qd.field(dtype, shape=()) for name, dtype in dtypes.items()}
    most, least, every, some, odd = fields.values()
    every[None] = 0xFFFFFFFF

    @qd.kernel
    def total(n: qd.i32):
        for i in range(n):
            qd.atomic_max(most[None], qd.cast(i, qd.f32) * 0.5)
            qd.atomic_min(least[None], -i)
            qd.atomic_and(every[None], qd.cast(~(1 << (i % 32)), qd.u32))
            qd.atomic_or(some[None], qd.cast(1 << (i % 32), qd.u32))
            qd.atomic_xor(odd[None], qd.cast(1, qd.u64) << qd.cast(i, qd.u64))

    total(30)
    assert [field[None] for field in fields.values()] == [14.5, -29, 0xC0000000, 0x3FFFFFFF, (1 << 30) - 1]


SUM = "%x = load @x[%i] : i32\n%o = atomic add @y[], %x : i32"
PLACES = "place @x : i32[?] field\nplace @y : i32[] field"


def summed(count: int, old: str, new: str) -> int:
    """The sum of 1, 2... to `count`, where the generated text has something else in one place."""
    device, program = metal_kit.backend(), metal_kit.tasks_of(parallel(SUM, count, PLACES))
    executable = device.compile(program, Options(offline_cache=False))
    assert executable.text.count(old) == 1
    text = executable.text.replace(old, new)
    names = re.findall(r"kernel void (\w+)\(", text)
    executable.pipelines = device.driver.load(text, names, keep=False)
    x, y = device.allocate(i32, (count,)), device.allocate(i32, ())
    device.upload(x, np.arange(1, count + 1, dtype=np.int32))
    device.launch(executable, (), Bindings({"x": x, "y": y}, {"x": (count,), "y": ()}))
    return int(device.download(y))


CLOSE = "const uint here = first_here();"


def test_a_threadgroup_updates_memory_once():
    update = "y, y_total, memory_order_relaxed"
    assert summed(1000, update, update) == 500500
    assert summed(1000, update, "y, 1, memory_order_relaxed") == 2  # for threadgroups of 40 and 32


@pytest.mark.parametrize("gone", [(), (0,), (5,), (31,), (32, 33), (71,), (70, 71), (3, 40, 71), range(1, 72)])
def test_threads_that_have_left_take_nothing_with_them(monkeypatch, gone):
    """Those that remain add up what they have, whatever gaps are between them, where an error may make some leave."""
    monkeypatch.setattr(TaskFrame, "leaves", property(lambda self: True, lambda self, leaves: None))
    condition = " || ".join(f"thread == {k}" for k in gone) or "false"
    left = summed(72, CLOSE, f"if ({condition}) return; {CLOSE}")
    assert left == sum(k + 1 for k in range(72) if k not in gone)


def test_threads_that_may_leave_do_not_wait_for_each_other(monkeypatch):
    update = "y, y_total, memory_order_relaxed"
    monkeypatch.setattr(TaskFrame, "leaves", property(lambda self: True, lambda self, leaves: None))
    assert summed(1000, update, "y, 1, memory_order_relaxed") == 3  # 32, 8 and 32 threads
    assert "threadgroup" not in metal_kit.text_of(parallel(SUM, 4, PLACES))


def test_a_thread_that_does_not_come_along_is_found_out():
    with pytest.raises(InternalError, match="at different calls"):
        summed(72, CLOSE, f"if (thread == 5) simd_any(true);\n{CLOSE}")


def test_only_tasks_that_add_up_are_told_of_simdgroups():
    assert "simd_" not in metal_kit.text_of(parallel("store @x[%i], %i", 4, PLACES))
    assert "uint simd_lane [[thread_index_in_simdgroup]]" in metal_kit.text_of(parallel(SUM, 4, PLACES))


# ---- threadgroups


def test_threads_of_a_threadgroup_wait_for_each_other():
    lines = """threadgroup uint shared[64];
    shared[thread % 40] = thread;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    launch.out[thread] = shared[39 - thread % 40];"""
    turned = [119 - k if k >= 40 else 39 - k for k in range(80)]
    assert ran(lines, 80, 40) == (0, turned)
    assert ran("\n".join(line for line in lines.splitlines() if "barrier" not in line), 80, 40)[1] != turned


def test_a_barrier_to_which_not_all_threads_come_is_found_out():
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    assert ran(barrier, 40, 40)[0] == 0
    for lines in (
        f"if (thread == 35) return; {barrier}",
        f"if (thread < 32) return; {barrier}",
        f"if (thread % 2) {{ {barrier} }}\nelse {{ {barrier} }}",
        f"if (thread == 3) {{ simd_any(true); return; }}\n{barrier}",
    ):
        assert ran(lines, 40, 40)[0] > len(HEAD.splitlines())


def grouped(values: list[np.float32], group: int) -> np.float32:
    """The sum of what the threads of threadgroups have: simdgroups in a tree, then one simdgroup after another."""
    total = np.float32(0)
    for first in range(0, len(values), group):
        block = values[first : first + group]
        parts = [tree(block[at : at + 32]) for at in range(0, len(block), 32)]
        for part in parts[1:]:
            parts[0] += part
        total += parts[0]
    return total


PARTS = "%x = load @x[%i] : f32\n%o = atomic add @y[], %x : f32"


@pytest.mark.parametrize(
    ("group", "count"), [(256, 512), (256, 300), (256, 200), (100, 250), (64, 127), (40, 72), (32, 33), (1, 5)], ids=str
)
def test_threadgroups_add_up_in_a_fixed_order(group, count):
    """Whole groups and a part of one, simdgroups that have a part of their threads, groups of one thread."""
    program = metal_kit.tasks_of(parallel(PARTS, count, PLACES.replace("i32", "f32")))
    values = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    memory = {"x": values, "y": np.zeros((), np.float32)}
    compiled(metal_kit.backend(group, 512), program)(memory)
    assert memory["y"] == grouped(list(values), group)


SEVERAL = """%v = load @x[%i] : i32
%f = cast %v : f32
%w = cast %v : i64
%a = atomic add @y[], %v : i32
%b = atomic max @most[], %v : i32
%c = atomic add @z[], %f : f32
%d = atomic add @w[], %w : i64"""
TYPES = {"x": "i32[?]", "y": "i32[]", "most": "i32[]", "z": "f32[]", "w": "i64[]"}


def test_several_sums_of_a_loop():
    """Where only the device knows how many iterations there are, whole simdgroups have none."""
    text = parallel(
        SEVERAL, 0, "\n".join(f"place @{name} : {ty} field" for name, ty in (*TYPES.items(), ("n", "i32[]")))
    )
    launch = compiled(
        metal_kit.backend(256, 512),
        metal_kit.tasks_of(text.replace("const 0 : i32\n      parallel", "load @n[] : i32\n      parallel")),
    )
    for count in (0, 1, 33, 256, 600):
        memory = {name: np.zeros((), by_name(ty[:3]).numpy) for name, ty in TYPES.items()}
        launch(memory | {"x": np.arange(1, 601, dtype=np.int32), "n": np.array(count, np.int32)})
        total = count * (count + 1) // 2
        assert [int(memory[name]) for name in ("y", "most", "z", "w")] == [total, count, total, total]


def test_a_barrier_that_is_missing_is_seen():
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    assert summed(1000, barrier, barrier) == 500500
    assert summed(1000, barrier, "") != 500500
