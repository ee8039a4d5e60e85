"""Blocks of threads are workgroups, where that can't be seen, and one thread each elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from amdgpu_kit import lines, module_of, tasks_of
from immediate_kit import agree_on, compiled
from rdna_kit import EACH, assembled, device_of, threads_of
from reverse_kit import reversed_kernel
from teams_kit import exchanges, fields, histogram, large, memory_of, mirror, scan, tangent, total

import adstack as qd
from adstack.analysis import teams
from adstack.backends.amdgpu.emulator import started
from adstack.backends.amdgpu.layout import kernels_of
from adstack.backends.amdgpu.toolchain import assembly, code_object
from adstack.backends.rdna.machine import Code
from adstack.backends.rdna.processors import PROCESSORS
from adstack.ir.structure import Kernel


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def code_of(kernel: Kernel, processor: str, *, debug: bool = False) -> str:
    return assembly(module_of(kernel, debug=debug).text, processor)


@EACH
@pytest.mark.parametrize("size", [1, 16, 33, 128, 1024])
def test_results_are_those_of_threads_one_after_another(processor: str, size: int) -> None:
    x, y = fields()
    kernel = scan(x, y, size)
    agree_on(device_of(processor), tasks_of(kernel), [(memory_of(x, y), ())])


@EACH
@pytest.mark.parametrize("size", [16, 1024])
def test_a_block_is_a_workgroup(processor: str, size: int) -> None:
    module = module_of(scan(*fields(), size))
    assert module.widths == {0: size}
    (kernel,) = kernels_of(code_object(module.text, processor)).values()
    assert kernel.most_threads == size
    # the tile, and two values that threads tell each other
    assert kernel.descriptor.group_bytes == (4 + 1 + 4) * size
    code = assembly(module.text, processor)
    assert len(lines(code, "s_barrier")) == 7 * (size > 32)  # one wave need not wait for itself
    assert len(lines(code, "ds_")) > 7
    assert lines(code, "scratch_", "flat_") == []  # what a thread keeps is in registers


@EACH
def test_what_all_threads_of_a_block_add_is_combined_first(processor: str) -> None:
    kernel, memory = total()
    assert len(lines(code_of(kernel, processor), "global_atomic_add")) == 1
    agree_on(device_of(processor), tasks_of(kernel), [(memory, ())])


@EACH
def test_threads_update_integers_that_they_share(processor: str) -> None:
    kernel, memory = histogram()
    assert module_of(kernel).widths == {0: 64}
    agree_on(device_of(processor), tasks_of(kernel), [(memory, ())])
    updates = [line.split()[0] for line in lines(code_of(kernel, processor), "ds_add", "ds_sub", "ds_max")]
    assert updates == ["ds_add_u32", "ds_sub_u32", "ds_max_u32"]


@EACH
def test_threads_read_from_fields_what_others_of_their_block_have_written(processor: str) -> None:
    kernel, memory = exchanges()
    assert module_of(kernel).widths == {0: 100}
    agree_on(device_of(processor), tasks_of(kernel), [(memory, ())])


@pytest.mark.parametrize(
    ("make", "debug"),
    [(lambda: scan(*fields(), 128), True), (lambda: large(qd.f64), False)],
    ids=["debug", "too much memory"],
)
def test_elsewhere_a_block_is_one_thread(make: Callable[[], Kernel], debug: bool) -> None:
    kernel = make()
    assert module_of(kernel, debug=debug).widths == {}
    assert lines(code_of(kernel, "gfx1100", debug=debug), "s_barrier") == []


@pytest.mark.parametrize("of", [reversed_kernel, tangent], ids=["reverse", "forward"])
def test_derivatives_run_one_thread_for_each_block(of: Callable[[Kernel], Kernel]) -> None:
    assert module_of(mirror()).widths == {0: 16}
    assert module_of(of(mirror())).widths == {}


def test_a_barrier_that_is_missing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = fields()
    kernel, memory = scan(x, y, 128), memory_of(x, y)
    wanted = {name: array.copy() for name, array in memory.items()}
    compiled(device_of("gfx1100"), tasks_of(kernel))(wanted)
    monkeypatch.setattr(teams, "waits", lambda body, shared: frozenset())
    compiled(device_of("gfx1100"), tasks_of(kernel))(memory)
    assert (memory[y.place.name] != wanted[y.place.name]).any()


UPDATED = """target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
@shared = internal addrspace(3) global {ty} undef, align 8
define amdgpu_kernel void @updated(ptr addrspace(1) %out, {ty} %first) {
  %k = call i32 @llvm.amdgcn.workitem.id.x()
  store {ty} %first, ptr addrspace(3) @shared
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %wide = zext i32 %k to i64
  %turned = mul i64 %wide, -7046029254386353131
  %high = lshr i64 %turned, 3
  %value = trunc i64 %high to {short}
  %data = add {ty} %value, 0
  %old = atomicrmw {kind} ptr addrspace(3) @shared, {ty} %data syncscope("workgroup") monotonic
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %last = load {ty}, ptr addrspace(3) @shared
  %seen = {seen}
  %at = getelementptr {ty}, ptr addrspace(1) %out, i32 %k
  store {ty} %seen, ptr addrspace(1) %at
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""
"""Each thread updates a number that all share, and shows what was there before, or is there in the end."""
KINDS = {
    "add": lambda a, b, number: a + b,
    "sub": lambda a, b, number: a - b,
    "min": lambda a, b, number: min(a, b, key=lambda v: int(np.array(v).view(number))),
    "max": lambda a, b, number: max(a, b, key=lambda v: int(np.array(v).view(number))),
    "umin": lambda a, b, number: min(a, b),
    "umax": lambda a, b, number: max(a, b),
    "and": lambda a, b, number: a & b,
    "or": lambda a, b, number: a | b,
    "xor": lambda a, b, number: a ^ b,
}


@EACH
@pytest.mark.parametrize("old", [False, True], ids=["in the end", "before"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_in_memory_of_a_workgroup_is_updated(processor: str, kind: str, bits: int, old: bool) -> None:
    unsigned, signed = getattr(np, f"uint{bits}"), getattr(np, f"int{bits}")
    text = UPDATED.replace("{kind}", kind).replace("{seen}", f"add {{ty}} {'%old' if old else '%last'}, 0")
    if bits == 64:
        text = text.replace("  %value = trunc i64 %high to {short}\n", "").replace("%value", "%high")
    image = assembled(text.replace("{ty}", f"i{bits}").replace("{short}", f"i{bits}"), processor)
    threads = threads_of(PROCESSORS[processor].lanes)
    turned = np.arange(threads, dtype=np.uint64) * np.uint64(2**64 - 7046029254386353131)
    data = (turned >> np.uint64(3)).astype(unsigned)
    out, first = np.zeros(threads, unsigned), unsigned(2 ** (bits - 1) - 12345)
    words = np.array([out.ctypes.data, first], np.uint64)
    Code(image).dispatch(started(kernels_of(image)["updated"].descriptor), words.ctypes.data, 1, threads)
    lanes, state, before = PROCESSORS[processor].lanes, first, [first] * threads
    with np.errstate(over="ignore"):
        for k in (*range(lanes, threads), *range(lanes)):  # waves run backwards behind the first barrier
            before[k], state = state, unsigned(KINDS[kind](state, data[k], signed))
    assert out.tolist() == [int(value) for value in (before if old else [state] * threads)]
