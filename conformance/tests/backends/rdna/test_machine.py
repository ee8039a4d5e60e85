"""Whole kernels on the emulated processors: what is decoded, memory, lanes, calls, and what is refused."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from amdgpu_kit import module_of
from interpreter_kit import parallel, read
from rdna_kit import EACH, Batch, One, assembled, random_of, same, threads_of

from adstack.backends.amdgpu.emulator import started
from adstack.backends.amdgpu.layout import Descriptor, kernels_of
from adstack.backends.amdgpu.toolchain import assembly, code_object
from adstack.backends.rdna.decoding import decoded
from adstack.backends.rdna.machine import Code
from adstack.backends.rdna.processors import PROCESSORS
from adstack.errors import InternalError

u32, f32, u64 = np.uint32, np.float32, np.uint64
COUNT = 720
"""Whole workgroups of each processor."""
PROGRAMS = {
    "sines": ("%v = load @x[%i] : f32\n%s = sin %v : f32\nstore @x[%i], %s", "place @x : f32[100] field"),
    "logarithms": ("%v = load @x[%i] : f64\n%s = log %v : f64\nstore @x[%i], %s", "place @x : f64[100] field"),
    "halves": ("%v = load @x[%i] : f16\n%s = exp %v : f16\nstore @x[%i], %s", "place @x : f16[100] field"),
    "quotients": ("%v = load @x[%i] : i32\n%s = floordiv %v, %i : i32\nstore @x[%i], %s", "place @x : i32[100] field"),
    "bytes": ("%v = load @x[%i] : i8\n%s = floordiv %v, %v : i8\nstore @x[%i], %s", "place @x : i8[100] field"),
    "sums": ("%v = load @x[%i] : i32\n%old = atomic add @x[%zero], %v : i32", "place @x : i32[100] field"),
}


@EACH
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_those_of_the_assembly(name, processor):
    text = module_of(read(parallel(PROGRAMS[name][0], 100, PROGRAMS[name][1]))).text
    lines = [line.strip() for line in assembly(text, processor).splitlines()]
    mnemonics = [line.split(";")[0] for line in lines if re.match(r"[svbdfg][a-z]*_[a-z0-9_]+( |$)", line)]
    wanted = [
        re.sub(r"_(e32|e64|sdwa)$", "", " :: ".join(part.split()[0] for part in one.split(" :: "))) for one in mnemonics
    ]
    names = Code(code_object(text, processor)).decoded.names.values()
    padding = ("s_code_end", "s_nop")
    counted = Counter(one.lower().replace("::", " :: ") for one in names if one.lower() not in padding)
    assert counted == Counter(one for one in wanted if one not in padding)
    assert counted.total() > 10


KERNELS = {
    "select": One(
        "v_cmp_ne_u32_e32 {vcc}, 0, $3\\0Av_cndmask_b32_e32 $0, $1, $2, {vcc}", u32, [u32] * 3, clobbers=",~{vcc}"
    ),
    "select-minus": One(
        "v_cmp_ne_u32_e64 {mask}, 0, $3\\0Av_cndmask_b32_e64 $0, -$1, |$2|, {mask}",
        u32,
        [u32] * 3,
        clobbers=",~{s40},~{s41}",
    ),
    "active-below": One("v_mbcnt_lo_u32_b32 $0, $1, $2", u32, [u32, u32]),
    "active-above": One("v_mbcnt_hi_u32_b32 $0, $1, $2", u32, [u32, u32]),
    "fmac": One("v_mov_b32 $0, $3\\0Av_fmac_f32_e32 $0, $1, $2", f32, [f32] * 3),
    "fmamk": One("v_fmamk_f32 $0, $1, 0x40490fdb, $2", f32, [f32] * 2),
    "fmaak": One("v_fmaak_f32 $0, $1, $2, 0x40490fdb", f32, [f32] * 2),
    "modified": One("v_add_f32_e64 $0, -|$1|, $2 mul:2", f32, [f32] * 2),
    "clamped": One("v_mul_f32_e64 $0, $1, $2 clamp", f32, [f32] * 2),
    **{
        f"clamped-{name}": One(f"v_{name}_{{nc}}u32 $0, $1, $2 clamp", u32, [u32] * 2)
        for name in ("add", "sub", "subrev")
    },
    "first-lane": One("v_readfirstlane_b32 s40, $1\\0Av_mov_b32 $0, s40", u32, [u32], clobbers=",~{s40}"),
    "lane": One("v_readlane_b32 s40, $1, 5\\0As_nop 4\\0Av_mov_b32 $0, s40", u32, [u32], clobbers=",~{s40}"),
    "write-lane": One(
        "v_mov_b32 $0, $1\\0As_movk_i32 s40, 77\\0Av_writelane_b32 $0, s40, 3", u32, [u32], clobbers=",~{s40}"
    ),
    "mixed": One("v_fma_mix_f32 $0, $1, $2, $1 op_sel:[0,1,0] op_sel_hi:[0,1,0]", f32, [f32, u32]),
    "constants": One("v_add_f32 $0, 0.15915494, $1", f32, [f32]),
}
BATCHES = {
    "gfx1100": Batch(
        {
            **KERNELS,
            "dual": One(
                "v_dual_mul_f32 v80, $1, $2 :: v_dual_add_f32 v81, $2, $1\\0Av_sub_f32 $0, v80, v81",
                f32,
                [f32] * 2,
                clobbers=",~{v80},~{v81}",
            ),
            "indexed": One(
                "v_mov_b32 v82, $1\\0As_mov_b32 m0, 2\\0Av_movrels_b32 v83, v80\\0Av_movreld_b32 v82, v83\\0A"
                "v_mov_b32 $0, v84",
                u32,
                [u32],
                clobbers=",~{v80},~{v81},~{v82},~{v83},~{v84},~{m0}",
            ),
        }
    ),
    "gfx942": Batch(KERNELS, "gfx942"),
}
# Products of these, and sums of the products, are exact: no rounding tells one order from another.
NUMBERS = np.random.default_rng(0).integers(-999, 999, (3, COUNT)).astype(f32)


@pytest.fixture(params=BATCHES)
def batch(request):
    return BATCHES[request.param]


@pytest.fixture
def run(batch):
    return lambda name, *operands: batch.run(name, operands)[0]


def test_bits_of_threads_select(run):
    a, b, c = (random_of(u32, COUNT, k) for k in range(3))
    assert same(run("select", a, b, c), np.where(c != 0, b, a))
    assert same(run("select-minus", a, b, c), np.where(c != 0, b & 0x7FFFFFFF, a ^ 0x80000000))


def test_threads_below_are_counted(run, batch):
    mask, base = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    lanes = np.arange(COUNT) % threads_of(batch.lanes) % batch.lanes
    below = [bin(int(m) & ((1 << int(lane)) - 1)).count("1") for m, lane in zip(mask, lanes, strict=True)]
    assert same(run("active-below", mask, base), base + np.array(below, u32))
    above = [bin(int(m) & ((1 << max(int(lane) - 32, 0)) - 1)).count("1") for m, lane in zip(mask, lanes, strict=True)]
    assert same(run("active-above", mask, base), base + np.array(above, u32))


def test_third_operands_are_results_and_constants(run):
    a, b, c = NUMBERS
    pi = f32(np.pi)
    assert same(run("fmac", a, b, c), a * b + c)
    assert same(run("fmamk", a, b), (a.astype(np.float64) * pi + b).astype(f32))
    assert same(run("fmaak", a, b), (a * b + pi.astype(np.float64)).astype(f32))


def test_operands_and_results_are_modified(run):
    a, b, _ = NUMBERS
    assert same(run("modified", a, b), 2 * (b - abs(a)))
    assert same(run("clamped", a, b), np.clip(a * b, f32(0), f32(1)) + f32(0))
    assert same(run("constants", a), a + u32(0x3E22F983).view(f32))
    a, b = (random_of(u32, COUNT, k).astype(np.int64) for k in range(2))
    for name, exact in (("add", a + b), ("sub", a - b), ("subrev", b - a)):
        assert same(run(f"clamped-{name}", a.astype(u32), b.astype(u32)), np.clip(exact, 0, 0xFFFFFFFF).astype(u32))


def test_two_instructions_at_once_read_before_they_write():
    a, b, _ = NUMBERS
    assert same(BATCHES["gfx1100"].run("dual", [a, b])[0], a * b - (a + b))


def test_lanes_are_read_and_written(run, batch):
    a, threads, lanes = np.arange(COUNT, dtype=u32), threads_of(batch.lanes), batch.lanes
    first = (a - a % threads + np.where(a % threads < lanes, 0, lanes)).astype(u32)
    assert same(run("first-lane", a), first)
    assert same(run("lane", a), first + 5)
    assert same(run("write-lane", a), np.where(a == first + 3, 77, a).astype(u32))


def test_registers_are_indexed():
    a = random_of(u32, COUNT)
    assert same(BATCHES["gfx1100"].run("indexed", [a])[0], a)


def test_halves_are_mixed_with_floats(run):
    a = NUMBERS[0]
    halves = np.arange(COUNT).astype(np.float16)
    assert same(run("mixed", a, halves.view(np.uint16).astype(u32) << 16), a * halves + a)


REFUSED = {
    "gfx1100": [
        ((0xD9080000, 0), r"no instruction 0xd9080000 \(DS 66\)"),
        ((0x7E00D100,), "VOP1 104"),
        ((0x7E0202FA, 0xFF013000), "V_MOV_B32 by the threads 0x130"),  # a shift of a wave
        ((0x7E0202FA, 0xFF01FF00), "V_MOV_B32 by the threads 0x1ff"),
    ],
    "gfx942": [
        ((0xD8840000, 0), r"no instruction 0xd8840000 \(DS 66\)"),
        ((0x7E00D100,), "VOP1 104"),
        ((0x7E0202FA, 0xFF016100), "V_MOV_B32 by the threads 0x161"),  # `xor` of the numbers in a row
        ((0x7E0202FA, 0xFF041100), "V_MOV_B32 by other threads"),  # inactive ones, too
        ((0x7E0202F9, 0x00060801), "V_MOV_B32 of a part of its result"),  # its sign fills the rest
        ((0x8000027D,), "S_ADD_U32 with operand 125"),
        ((0xD2800000, 0x000004FF), "V_ADD_F64 with a constant"),
        ((0xD3B24000, 0x180208F2), "V_PK_ADD_F32 with operands"),
        ((0xD3E40000, 0), r"VOP3P 100"),  # of matrices
        ((0xE0500000, 0), r"MUBUF 20"),
    ],
}


@pytest.mark.parametrize(("processor", "words", "message"), [(p, *row) for p in REFUSED for row in REFUSED[p]])
def test_what_is_not_known_is_refused_by_name(processor, words, message):
    code = b"".join(word.to_bytes(4, "little") for word in words)
    with pytest.raises(InternalError, match=message):
        decoded(PROCESSORS[processor], [(0, code)])


def test_code_of_other_processors_is_refused():
    text = module_of(read(parallel(PROGRAMS["sums"][0], 100, PROGRAMS["sums"][1]))).text
    with pytest.raises(InternalError, match="no emulator of the processor"):
        Code(code_object(text, "gfx90a"))


def test_other_modes_of_floats_are_refused():
    with pytest.raises(InternalError, match="subnormal"):
        started(Descriptor(0, 0, 0, 0, 0, (0xC0 << 12, 0, 0), 0))


LEAVING = {
    "gfx1100": "scratch_load_b32 $0, $1, off offset:4000",
    "gfx942": "scratch_load_dword $0, $1, off offset:4000",
}


@EACH
def test_a_wave_stays_in_the_memory_of_its_threads(processor):
    outside = Batch({"outside": One(f"{LEAVING[processor]}\\0As_waitcnt vmcnt(0)", u32, [u32])}, processor)
    with pytest.raises(InternalError, match="left the memory of its threads"):
        outside.run("outside", [np.zeros(threads_of(outside.lanes), u32)])


TURNED = """target triple = "amdgcn-amd-amdhsa"
@shared = internal addrspace(3) global [72 x i32] poison, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @turned(ptr addrspace(1) %out, i32 %last) {
  %k = call i32 @llvm.amdgcn.workitem.id.x()
  %other = sub i32 %last, %k
  %mine = getelementptr i32, ptr addrspace(3) @shared, i32 %k
  %theirs = getelementptr i32, ptr addrspace(3) @shared, i32 %other
  store i32 %k, ptr addrspace(3) %mine
  call void @llvm.amdgcn.s.barrier()
  %v = load i32, ptr addrspace(3) %theirs
  call void @llvm.amdgcn.s.barrier()
  store i32 %other, ptr addrspace(3) %mine
  call void @llvm.amdgcn.s.barrier()
  %w = load i32, ptr addrspace(3) %theirs
  %much = mul i32 %v, 1000
  %sum = add i32 %much, %w
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %k
  store i32 %sum, ptr addrspace(1) %at
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""
"""Threads of a workgroup read what others of another wave wrote, and write over it."""


@EACH
def test_waves_of_a_workgroup_wait_for_each_other(processor):
    image = assembled(TURNED, processor)
    threads = threads_of(PROCESSORS[processor].lanes)
    out = np.zeros(threads, u32)
    words = np.array([out.ctypes.data, threads - 1], u64)
    Code(image).dispatch(started(kernels_of(image)["turned"].descriptor), words.ctypes.data, 1, threads)
    assert out.tolist() == [1000 * (threads - 1 - k) + k for k in range(threads)]


OWN = """target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @own(ptr addrspace(1) %out, i32 %n, i32 %m) #0 {
  %k = call i32 @llvm.amdgcn.workitem.id.x()
  %array = alloca [17 x i64], align 8, addrspace(5)
  %first = getelementptr inbounds i64, ptr addrspace(5) %array, i32 %n
  %second = getelementptr inbounds i64, ptr addrspace(5) %array, i32 %m
  %wide = zext i32 %k to i64
  store i64 %wide, ptr addrspace(5) %first
  store i64 7, ptr addrspace(5) %second
  %v = load i64, ptr addrspace(5) %first
  %low = trunc i64 %v to i32
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %k
  store i32 %low, ptr addrspace(1) %at
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,80" "amdgpu-waves-per-eu"="1,1" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""
"""Threads write and read arrays of their own, which LLVM puts into their workgroup's memory, one behind another: where,
it computes of all three extents of the workgroup, two of which are 1, as the packet of the dispatch has to say."""


@EACH
def test_arrays_of_threads_in_memory_of_the_workgroup_are_apart(processor):
    image = assembled(OWN, processor)
    (kernel,) = kernels_of(image).values()
    assert kernel.descriptor.group_bytes >= 80 * 17 * 8
    threads = threads_of(PROCESSORS[processor].lanes)
    out = np.zeros(threads, u32)
    words = np.array([out.ctypes.data, 3 | 5 << 32], u64)
    Code(image).dispatch(started(kernel.descriptor), words.ctypes.data, 1, threads)
    assert out.tolist() == list(range(threads))
