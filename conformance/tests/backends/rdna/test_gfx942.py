"""What gfx942 has besides: parts of registers as operands, pairs of floats, registers by index, those for matrices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from rdna_kit import Batch, One, random_of, same, threads_of

u32, f16, f32, f64, u64 = np.uint32, np.float16, np.float32, np.float64, np.uint64
COUNT = 720
HIGH = "v_mov_b32 $0, -1\\0A"
"""Every bit of the result is set before."""
KEEPING = (
    *(f"v_{name}_{ty} $0, $1, $2, $3" for name in ("min3", "max3", "med3", "mad") for ty in ("i16", "u16")),
    *(f"v_{name}_i16 $0, $1, $2" for name in ("add", "sub")),
    *(f"v_{name}_f16 $0, $1, $2, $3" for name in ("fma", "div_fixup", "fma_mixlo")),
)
"""Instructions whose results of 16 bits leave the upper half as it is."""
ZEROING = (
    *(f"v_{name} $0, $1, $2" for name in ("add_f16", "mul_f16", "sub_u16", "mul_lo_u16", "lshlrev_b16", "max_i16")),
    *(f"v_{name} $0, $1" for name in ("cvt_f16_f32", "cvt_f16_u16", "rndne_f16", "rcp_f16")),
    *(f"v_{name} $0, $1, $2, $3" for name in ("mad_legacy_u16", "mad_legacy_i16")),
)
"""Some of those that set it to zeros."""
SELECTED = {
    "BYTE_0": lambda x: x & 0xFF,
    "BYTE_1": lambda x: x >> 8 & 0xFF,
    "BYTE_2": lambda x: x >> 16 & 0xFF,
    "BYTE_3": lambda x: x >> 24,
    "WORD_0": lambda x: x & 0xFFFF,
    "WORD_1": lambda x: x >> 16,
    "DWORD": lambda x: x,
}
PLACES = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
}
INDEXED = "v_mov_b32 v80, $1\\0Av_mov_b32 v81, $2\\0As_mov_b32 s40, 1\\0A"
PAIRS = ",~{v80},~{v81},~{v82},~{v83},~{m0},~{s40}"
KERNELS = {
    **{
        f"from-{name}": One(f"v_add_u32_sdwa $0, $1, $2 src0_sel:{name} src1_sel:DWORD", u32, [u32] * 2)
        for name in SELECTED
    },
    **{
        f"signed-{name}": One(f"v_add_u32_sdwa $0, $1, sext($2) src0_sel:DWORD src1_sel:{name}", u32, [u32] * 2)
        for name in PLACES
    },
    **{
        f"to-{name}-{others}": One(
            f"{HIGH}v_mov_b32_sdwa $0, $1 dst_sel:{name} dst_unused:UNUSED_{others} src0_sel:DWORD", u32, [u32]
        )
        for name in PLACES
        for others in ("PAD", "PRESERVE")
    },
    "compared": One(
        "v_cmp_lt_u16_sdwa s[40:41], $1, $2 src0_sel:BYTE_1 src1_sel:WORD_1\\0Av_cndmask_b32_e64 $0, 0, 1, s[40:41]",
        u32,
        [u32] * 2,
        clobbers=",~{s40},~{s41}",
    ),
    "minus": One("v_cvt_f32_f16_sdwa $0, -|$1| src0_sel:WORD_1", f32, [u32]),
    "pairs": One("v_pk_fma_f32 $0, $1, $2, $3", u64, [u64] * 3),
    "crossed": One("v_pk_mul_f32 $0, $1, $2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[1,0]", u64, [u64] * 2),
    "added": One("v_pk_add_f32 $0, $1, $2", u64, [u64] * 2),
    "moved": One("v_pk_mov_b32 $0, $1, $2 op_sel:[1,0]", u64, [u64] * 2),
    "fmac": One("v_mov_b64 $0, $3\\0Av_fmac_f64_e32 $0, $1, $2", f64, [f64] * 3),
    "read-by-index": One(
        f"{INDEXED}s_set_gpr_idx_on s40, gpr_idx(SRC0)\\0Av_mov_b32_e32 $0, v80\\0As_set_gpr_idx_off",
        u32,
        [u32] * 2,
        clobbers=PAIRS,
    ),
    "written-by-index": One(
        f"{INDEXED}s_set_gpr_idx_on s40, gpr_idx(DST)\\0Av_mov_b32_e32 v80, $2\\0As_set_gpr_idx_idx 3\\0A"
        "s_set_gpr_idx_mode gpr_idx(SRC0,DST)\\0Av_mov_b32_e32 v80, v80\\0As_set_gpr_idx_mode gpr_idx(DST)\\0A"
        "v_mov_b32_e32 v80, v80\\0As_set_gpr_idx_off\\0Av_mov_b32_e32 $0, v83\\0Av_add_u32 $0, $0, v81",
        u32,
        [u32] * 2,
        clobbers=PAIRS,
    ),
    "matrices": One(
        "v_accvgpr_write_b32 a3, $1\\0Av_accvgpr_mov_b32 a4, a3\\0As_nop 2\\0Av_accvgpr_read_b32 $0, a4",
        u32,
        [u32],
        clobbers=",~{a3},~{a4}",
    ),
    "below": One("v_mbcnt_lo_u32_b32 $0, $1, 0\\0Av_mbcnt_hi_u32_b32 $0, $2, $0", u32, [u32] * 2),
    **{f"keeps-{text.split()[0]}": One(HIGH + text, u32, [u32] * text.count(", ")) for text in KEEPING},
    **{f"zeroes-{text.split()[0]}": One(HIGH + text, u32, [u32] * text.count(", ")) for text in ZEROING},
    "upper": One(f"{HIGH}v_fma_f16 $0, $1, $2, $1 op_sel:[1,0,0,1]", u32, [u32] * 2),
}
BATCH = Batch(KERNELS, "gfx942")


def run(name, *operands):
    return BATCH.run(name, operands)[0]


@pytest.mark.parametrize("name", SELECTED)
def test_an_operand_may_be_a_part_of_a_register(name):
    a, b = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    assert same(run(f"from-{name}", a, b), SELECTED[name](a) + b)


@pytest.mark.parametrize("name", PLACES)
def test_a_part_may_be_signed(name):
    a, b = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    width = PLACES[name][1]
    part = SELECTED[name](b).astype(np.int64)
    assert same(run(f"signed-{name}", a, b), (a + part - (part >> (width - 1) << width)).astype(u32))


@pytest.mark.parametrize("name", PLACES)
def test_a_result_may_be_a_part_of_a_register(name):
    a, (at, width) = random_of(u32, COUNT, 1), PLACES[name]
    mask = u32(((1 << width) - 1) << at)
    assert same(run(f"to-{name}-PAD", a), a << u32(at) & mask)
    assert same(run(f"to-{name}-PRESERVE", a), a << u32(at) & mask | ~mask)


def test_parts_are_compared_and_converted():
    a, b = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    assert same(run("compared", a, b), ((a >> 8 & 0xFF) < b >> 16).astype(u32))
    halves = (a >> 16).astype(np.uint16).view(f16)
    assert same(run("minus", a), -abs(halves).astype(f32))


def pairs(seed):
    """Small integers, two of them for each thread: products and sums are exact."""
    return np.random.default_rng(seed).integers(-99, 99, (COUNT, 2)).astype(f32)


def test_two_floats_at_once():
    a, b, c = (pairs(seed) for seed in range(3))
    raw = [np.ascontiguousarray(x).view(u64).ravel() for x in (a, b, c)]
    assert same(run("pairs", *raw).view(f32), (a * b + c).ravel())
    assert same(run("added", *raw[:2]).view(f32), (a + b).ravel())
    crossed = np.stack([a[:, 1] * -b[:, 0], -a[:, 0] * b[:, 1]], axis=1)
    assert same(run("crossed", *raw[:2]).view(f32), crossed.ravel())
    assert same(run("moved", *raw[:2]).view(f32), np.stack([a[:, 1], b[:, 0]], axis=1).ravel())


def test_f64_is_added_to_where_it_is():
    a, b, c = np.random.default_rng(0).integers(-999, 999, (3, COUNT)).astype(f64)
    assert same(run("fmac", a, b, c), a * b + c)


def test_registers_are_indexed_by_a_mode():
    a, b = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    assert same(run("read-by-index", a, b), b)
    # The second register, then, by index 3, the fourth: the first is copied there at last.
    assert same(run("written-by-index", a, b), a + b)


def test_only_moves_are_indexed():
    text = "s_mov_b32 s40, 1\\0As_set_gpr_idx_on s40, gpr_idx(SRC0)\\0Av_add_u32 $0, $1, $1\\0As_set_gpr_idx_off"
    batch = Batch({"sum": One(text, u32, [u32], clobbers=",~{m0},~{s40}")}, "gfx942")
    with pytest.raises(Exception, match="indexed registers other than by a move"):
        batch.run("sum", [np.zeros(72, u32)])


def test_registers_for_matrices_hold_values():
    a = random_of(u32, COUNT, 1)
    assert same(run("matrices", a), a)


def test_threads_below_are_counted_in_both_halves_of_a_wave():
    low, high = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    lanes = np.arange(COUNT) % threads_of(64) % 64
    masks = low.astype(object) | high.astype(object) << 32
    below = [bin(int(m) & ((1 << int(lane)) - 1)).count("1") for m, lane in zip(masks, lanes, strict=True)]
    assert same(run("below", low, high), np.array(below, u32))


@pytest.mark.parametrize("name", [name for name in KERNELS if re.match("keeps|zeroes", name)])
def test_what_becomes_of_the_upper_half(name):
    operands = [random_of(u32, COUNT, k) for k in range(len(KERNELS[name].operands))]
    assert set((run(name, *operands) >> 16).tolist()) == {0xFFFF if name.startswith("keeps") else 0}


def test_the_upper_half_is_written_alone():
    a = random_of(u32, COUNT, 1)
    a, b = (np.random.default_rng(k).integers(1, 30, (COUNT, 2)).astype(f16) for k in range(2))
    raw = [np.ascontiguousarray(x).view(u32).ravel() for x in (a, b)]
    out = run("upper", *raw)
    assert set((out & 0xFFFF).tolist()) == {0xFFFF}
    assert same((out >> 16).astype(np.uint16).view(f16), a[:, 1] * b[:, 0] + a[:, 0])
