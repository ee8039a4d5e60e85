"""Whole kernels on the emulated processor: what is decoded, memory, lanes, calls, and what is refused."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from amdgpu_kit import module_of
from interpreter_kit import parallel, read
from rdna_kit import Batch, One, random_of, same

from adstack.backends.amdgpu.emulator import started
from adstack.backends.amdgpu.layout import Descriptor
from adstack.backends.amdgpu.toolchain import assembly, code_object
from adstack.backends.rdna.decoding import decoded
from adstack.backends.rdna.machine import Code
from adstack.errors import InternalError

u32, f32, u64 = np.uint32, np.float32, np.uint64
COUNT = 400
PROGRAMS = {
    "sines": ("%v = load @x[%i] : f32\n%s = sin %v : f32\nstore @x[%i], %s", "place @x : f32[100] field"),
    "logarithms": ("%v = load @x[%i] : f64\n%s = log %v : f64\nstore @x[%i], %s", "place @x : f64[100] field"),
    "halves": ("%v = load @x[%i] : f16\n%s = exp %v : f16\nstore @x[%i], %s", "place @x : f16[100] field"),
    "quotients": ("%v = load @x[%i] : i32\n%s = floordiv %v, %i : i32\nstore @x[%i], %s", "place @x : i32[100] field"),
    "sums": ("%v = load @x[%i] : i32\n%old = atomic add @x[%zero], %v : i32", "place @x : i32[100] field"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_those_of_the_assembly(name):
    text = module_of(read(parallel(PROGRAMS[name][0], 100, PROGRAMS[name][1]))).text
    lines = [line.strip() for line in assembly(text, "gfx1100").splitlines()]
    mnemonics = [line.split(";")[0] for line in lines if re.match(r"[svbdfg][a-z]*_[a-z0-9_]+( |$)", line)]
    wanted = [
        re.sub(r"_e(32|64)$", "", " :: ".join(part.split()[0] for part in one.split(" :: "))) for one in mnemonics
    ]
    names = Code(code_object(text, "gfx1100")).decoded.names.values()
    padding = ("s_code_end", "s_nop")
    counted = Counter(one.lower().replace("::", " :: ") for one in names if one.lower() not in padding)
    assert counted == Counter(one for one in wanted if one not in padding)
    assert counted.total() > 10


KERNELS = {
    "select": One(
        "v_cmp_ne_u32_e32 vcc_lo, 0, $3\\0Av_cndmask_b32_e32 $0, $1, $2, vcc_lo", u32, [u32] * 3, clobbers=",~{vcc}"
    ),
    "select-minus": One(
        "v_cmp_ne_u32_e64 s40, 0, $3\\0Av_cndmask_b32_e64 $0, -$1, |$2|, s40", u32, [u32] * 3, clobbers=",~{s40}"
    ),
    "active-below": One("v_mbcnt_lo_u32_b32 $0, $1, $2", u32, [u32, u32]),
    "fmac": One("v_mov_b32 $0, $3\\0Av_fmac_f32_e32 $0, $1, $2", f32, [f32] * 3),
    "fmamk": One("v_fmamk_f32 $0, $1, 0x40490fdb, $2", f32, [f32] * 2),
    "fmaak": One("v_fmaak_f32 $0, $1, $2, 0x40490fdb", f32, [f32] * 2),
    "modified": One("v_add_f32_e64 $0, -|$1|, $2 mul:2", f32, [f32] * 2),
    "clamped": One("v_mul_f32_e64 $0, $1, $2 clamp", f32, [f32] * 2),
    "dual": One(
        "v_dual_mul_f32 v80, $1, $2 :: v_dual_add_f32 v81, $2, $1\\0Av_sub_f32 $0, v80, v81",
        f32,
        [f32] * 2,
        clobbers=",~{v80},~{v81}",
    ),
    "first-lane": One("v_readfirstlane_b32 s40, $1\\0Av_mov_b32 $0, s40", u32, [u32], clobbers=",~{s40}"),
    "lane": One("v_readlane_b32 s40, $1, 5\\0Av_mov_b32 $0, s40", u32, [u32], clobbers=",~{s40}"),
    "write-lane": One(
        "v_mov_b32 $0, $1\\0As_movk_i32 s40, 77\\0Av_writelane_b32 $0, s40, 3", u32, [u32], clobbers=",~{s40}"
    ),
    "indexed": One(
        "v_mov_b32 v82, $1\\0As_mov_b32 m0, 2\\0Av_movrels_b32 v83, v80\\0Av_movreld_b32 v82, v83\\0Av_mov_b32 $0, v84",
        u32,
        [u32],
        clobbers=",~{v80},~{v81},~{v82},~{v83},~{v84},~{m0}",
    ),
    "mixed": One("v_fma_mix_f32 $0, $1, $2, $1 op_sel:[0,1,0] op_sel_hi:[0,1,0]", f32, [f32, u32]),
    "constants": One("v_add_f32 $0, 0.15915494, $1", f32, [f32]),
}
BATCH = Batch(KERNELS)
# Products of these, and sums of the products, are exact: no rounding tells one order from another.
NUMBERS = np.random.default_rng(0).integers(-999, 999, (3, COUNT)).astype(f32)


def run(name, *operands):
    return BATCH.run(name, operands)[0]


def test_bits_of_threads_select():
    a, b, c = (random_of(u32, COUNT, k) for k in range(3))
    assert same(run("select", a, b, c), np.where(c != 0, b, a))
    assert same(run("select-minus", a, b, c), np.where(c != 0, b & 0x7FFFFFFF, a ^ 0x80000000))


def test_threads_below_are_counted():
    mask, base = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    lanes = np.arange(COUNT) % 40 % 32
    below = [bin(int(m) & ((1 << int(lane)) - 1)).count("1") for m, lane in zip(mask, lanes, strict=True)]
    assert same(run("active-below", mask, base), base + np.array(below, u32))


def test_third_operands_are_results_and_constants():
    a, b, c = NUMBERS
    pi = f32(np.pi)
    assert same(run("fmac", a, b, c), a * b + c)
    assert same(run("fmamk", a, b), (a.astype(np.float64) * pi + b).astype(f32))
    assert same(run("fmaak", a, b), (a * b + pi.astype(np.float64)).astype(f32))


def test_operands_and_results_are_modified():
    a, b, _ = NUMBERS
    assert same(run("modified", a, b), 2 * (b - abs(a)))
    assert same(run("clamped", a, b), np.clip(a * b, f32(0), f32(1)) + f32(0))
    assert same(run("constants", a), a + u32(0x3E22F983).view(f32))


def test_two_instructions_at_once_read_before_they_write():
    a, b, _ = NUMBERS
    assert same(run("dual", a, b), a * b - (a + b))


def test_lanes_are_read_and_written():
    a = np.arange(COUNT, dtype=u32)
    first = (a - a % 40 + np.where(a % 40 < 32, 0, 32)).astype(u32)
    assert same(run("first-lane", a), first)
    assert same(run("lane", a), first + 5)
    assert same(run("write-lane", a), np.where(a == first + 3, 77, a).astype(u32))


def test_registers_are_indexed():
    a = random_of(u32, COUNT)
    assert same(run("indexed", a), a)


def test_halves_are_mixed_with_floats():
    a = NUMBERS[0]
    halves = np.arange(COUNT).astype(np.float16)
    assert same(run("mixed", a, halves.view(np.uint16).astype(u32) << 16), a * halves + a)


def test_what_is_not_known_is_refused_by_name():
    with pytest.raises(InternalError, match=r"no instruction 0xd9000000 \(DS 64\)"):
        decoded([(0, (0xD9000000).to_bytes(4, "little") + bytes(4))])
    with pytest.raises(InternalError, match=r"VOP1 104"):
        decoded([(0, (0x7E00D100).to_bytes(4, "little"))])
    with pytest.raises(InternalError, match="V_MOV_B32 with operands"):  # a move between threads (DPP)
        decoded([(0, (0x7E0202FA).to_bytes(4, "little") + bytes(4))])


def test_other_modes_of_floats_are_refused():
    with pytest.raises(InternalError, match="subnormal"):
        started(Descriptor(0, 0, 0, 0, 0, (0xC0 << 12, 0, 0), 0))


def test_a_wave_stays_in_the_memory_of_its_threads():
    outside = Batch({"outside": One("scratch_load_b32 $0, $1, off offset:4000\\0As_waitcnt vmcnt(0)", u32, [u32])})
    with pytest.raises(InternalError, match="left the memory of its threads"):
        outside.run("outside", [np.zeros(40, u32)])
