"""Moves between the threads of a wave, each compared with what it means for numpy, where some threads are inactive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from rdna_kit import Batch, One, random_of, same, threads_of

from adstack.errors import InternalError

u32, f32 = np.uint32, np.float32
COUNT = 720
BOTH, RDNA, CDNA = ("gfx1100", "gfx942"), ("gfx1100",), ("gfx942",)
SOME = 0x5A5A33F1
"""Which of 32 threads are active in the middle of a kernel."""
Lane = Callable[[int, int], int]
"""The thread that a thread reads, of so many; -1 for none."""


def row(inner: Callable[[int], int]) -> Lane:
    """Within rows of 16: -1, or a number that may be outside of the row, which is none, too."""
    return lambda lane, lanes: lane - lane % 16 + inner(lane % 16) if 0 <= inner(lane % 16) < 16 else -1


CONTROLS: dict[str, tuple[tuple[str, ...], Lane]] = {
    "quad_perm:[3,0,2,1]": (BOTH, lambda lane, lanes: lane - lane % 4 + (3, 0, 2, 1)[lane % 4]),
    **{f"row_shl:{by}": (BOTH, row(lambda n, by=by: n + by)) for by in (1, 7, 15)},
    **{f"row_shr:{by}": (BOTH, row(lambda n, by=by: n - by)) for by in (1, 7, 15)},
    **{f"row_ror:{by}": (BOTH, row(lambda n, by=by: (n - by) % 16)) for by in (1, 7, 15)},
    "row_mirror": (BOTH, row(lambda n: 15 - n)),
    "row_half_mirror": (BOTH, row(lambda n: n - n % 8 + 7 - n % 8)),
    **{f"row_share:{of}": (RDNA, row(lambda n, of=of: of)) for of in (0, 9)},
    **{f"row_xmask:{by}": (RDNA, row(lambda n, by=by: n ^ by)) for by in (1, 8, 15)},
    "row_newbcast:5": (CDNA, row(lambda n: 5)),
    "wave_shl:1": (CDNA, lambda lane, lanes: lane + 1 if lane + 1 < lanes else -1),
    "wave_rol:1": (CDNA, lambda lane, lanes: (lane + 1) % lanes),
    "wave_shr:1": (CDNA, lambda lane, lanes: lane - 1),
    "wave_ror:1": (CDNA, lambda lane, lanes: (lane - 1) % lanes),
    "row_bcast:15": (CDNA, lambda lane, lanes: lane // 16 * 16 - 1),
    "row_bcast:31": (CDNA, lambda lane, lanes: 31 if lane > 31 else -1),
}
"""How assembly has them: on which processors, and what they mean."""


@dataclass(frozen=True)
class Move:
    """A move: on which processors, its text, and what is read; which rows and banks are written; whether what can't be
    read is 0, and whether inactive threads are read.
    """

    processors: tuple[str, ...]
    text: str
    reads: Lane
    rows: int = 15
    banks: int = 15
    zero: bool = False
    inactive: bool = False

    def kernel(self) -> One:
        """It, where SOME threads are active; the result is the second operand before."""
        text = f"v_mov_b32 $0, $2\\0A{EXEC_FIRST}{self.text}\\0A{EXEC_LAST}"
        return One(text, u32, [u32, u32], clobbers=",~{s40},~{s41},~{s42},~{s43}")

    def wanted(self, value: np.ndarray, old: np.ndarray, active: np.ndarray) -> np.ndarray:
        """What a wave's threads have then."""
        out = old.copy()
        for lane in np.flatnonzero(active):
            at = self.reads(int(lane), len(value))
            there = at >= 0 and (active[at] or self.inactive)
            meant = self.rows >> lane // 16 & 1 and self.banks >> lane % 16 // 4 & 1
            if meant and (there or self.zero):
                out[lane] = value[at] if there else 0
        return out


EXEC_FIRST = (
    f"s_mov_b32 s42, exec_lo\\0As_mov_b32 s43, exec_hi\\0As_and_b32 exec_lo, exec_lo, {SOME}\\0A"
    f"s_and_b32 exec_hi, exec_hi, {SOME}\\0As_nop 4\\0A"
)
EXEC_LAST = "s_nop 4\\0As_mov_b32 exec_lo, s42\\0As_mov_b32 exec_hi, s43"
DPP = "v_mov_b32_dpp $0, $1 "
ALL = "row_mask:0xf bank_mask:0xf"
EIGHT = (3, 0, 7, 1, 2, 5, 6, 4)
PICKS = 0x0123456789ABCDEF ^ 0x3
_SCALARS = f"s_mov_b32 s40, {PICKS & 0xFFFFFFFF}\\0As_mov_b32 s41, {PICKS >> 32}\\0A"


def picked(other: int) -> Lane:
    return lambda lane, lanes: (lane - lane % 16 ^ other) + (PICKS >> 4 * (lane % 16) & 15)


def swizzled(lane: int, lanes: int) -> int:
    """By `and` 0x17, `or` 0x02 and `xor` 0x09."""
    return lane - lane % 32 + ((lane % 32 & 0x17 | 0x02) ^ 0x09)


MOVES = {
    **{name: Move(on, f"{DPP}{name} {ALL}", reads) for name, (on, reads) in CONTROLS.items()},
    **{
        f"{name} or 0": Move(on, f"{DPP}{name} {ALL} bound_ctrl:1", reads, zero=True)
        for name, (on, reads) in CONTROLS.items()
    },
    **{
        f"{name} of inactive ones": Move(RDNA, f"{DPP}{name} {ALL} fi:1", reads, inactive=True)
        for name, (on, reads) in CONTROLS.items()
        if "gfx1100" in on
    },
    "some rows": Move(BOTH, f"{DPP}row_ror:7 row_mask:0x5 bank_mask:0xf", CONTROLS["row_ror:7"][1], rows=5),
    "some banks": Move(BOTH, f"{DPP}row_mirror row_mask:0xf bank_mask:0x6", CONTROLS["row_mirror"][1], banks=6),
    "eight": Move(RDNA, f"{DPP}dpp8:{list(EIGHT)}", lambda lane, lanes: lane - lane % 8 + EIGHT[lane % 8]),
    "eight, inactive ones too": Move(
        RDNA, f"{DPP}dpp8:{list(EIGHT)} fi:1", lambda lane, lanes: lane - lane % 8 + EIGHT[lane % 8], inactive=True
    ),
    **{
        f"{name}{how}": Move(
            RDNA,
            f"{_SCALARS}v_{name}_b32 $0, $1, s40, s41{how}",
            picked(other),
            zero="1]" in how,
            inactive="[1" in how,
        )
        for name, other in (("permlane16", 0), ("permlanex16", 16))
        for how in ("", " op_sel:[1,0]", " op_sel:[0,1]")
    },
    "swizzle": Move(BOTH, "ds_swizzle_b32 $0, $1 offset:0x2457\\0As_waitcnt lgkmcnt(0)", swizzled, zero=True),
    "swizzle of four": Move(
        BOTH,
        "ds_swizzle_b32 $0, $1 offset:0x8072\\0As_waitcnt lgkmcnt(0)",
        lambda lane, lanes: lane - lane % 4 + (0x72 >> 2 * (lane % 4) & 3),
        zero=True,
    ),
}
SYMBOLS = {name: f"move{number}" for number, name in enumerate(MOVES)}
BY_ADDRESS = One("ds_bpermute_b32 $0, $2, $1 offset:4\\0As_waitcnt lgkmcnt(0)", u32, [u32, u32])
ADDED = {
    "add": One(f"v_add_f32_dpp $0, -$1, |$2| row_shr:1 {ALL} bound_ctrl:1", f32, [f32, f32]),
    "fmac": One(f"v_mov_b32 $0, $2\\0Av_fmac_f32_dpp $0, $1, $2 row_mirror {ALL}", f32, [f32, f32]),
}
BATCHES = {
    processor: Batch(
        {
            **{SYMBOLS[name]: move.kernel() for name, move in MOVES.items() if processor in move.processors},
            "by_address": BY_ADDRESS,
            **ADDED,
        },
        processor,
    )
    for processor in BOTH
}


def waves(array: np.ndarray, lanes: int) -> list[np.ndarray]:
    """The parts of an array that are a wave's each: a whole one, and one of 8 threads."""
    groups = array.reshape(-1, threads_of(lanes))
    return [part for group in groups for part in (group[:lanes], group[lanes:])]


@pytest.mark.parametrize("name", MOVES)
def test_a_move_gives_what_it_means(name):
    move = MOVES[name]
    value, old = random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    for processor in move.processors:
        batch = BATCHES[processor]
        lanes, left = batch.lanes, []
        for a, b in zip(waves(value, lanes), waves(old, lanes), strict=True):
            active = np.array([len(a) > lane and SOME >> lane % 32 & 1 for lane in range(lanes)], bool)
            whole = [np.resize(array, lanes) for array in (a, b)]
            left.append(move.wanted(*whole, active)[: len(a)])
        out = batch.run(SYMBOLS[name], [value, old])[0]
        # Of threads that never were active nobody knows what they have.
        known = np.concatenate([known_of(move, len(part), lanes) for part in left])
        assert same(out[known], np.concatenate(left)[known])


def known_of(move: Move, count: int, lanes: int) -> np.ndarray:
    """Of which of a wave's threads it is known what they read."""
    return np.array([not (move.inactive and move.reads(lane, lanes) >= count) for lane in range(count)], bool)


@pytest.mark.parametrize("processor", BOTH)
def test_a_thread_reads_the_one_at_its_address(processor):
    batch, value, at = BATCHES[processor], random_of(u32, COUNT, 1), random_of(u32, COUNT, 2)
    left = []
    for a, b in zip(waves(value, batch.lanes), waves(at, batch.lanes), strict=True):
        whole = np.zeros(batch.lanes, u32)
        whole[: len(a)] = a
        left.append(whole[(b + u32(4)) // 4 % batch.lanes])
    assert same(batch.run("by_address", [value, at])[0], np.concatenate(left))


@pytest.mark.parametrize("processor", BOTH)
def test_other_instructions_read_other_threads_too(processor):
    batch = BATCHES[processor]
    a, b = (np.random.default_rng(k).integers(-999, 999, COUNT).astype(f32) for k in range(2))
    shifted, mirrored = [], []
    for part in waves(a, batch.lanes):
        lanes = np.arange(len(part))
        shifted.append(np.where(lanes % 16 > 0, part[lanes - 1], f32(0)))
        other = lanes - lanes % 16 + 15 - lanes % 16
        mirrored.append(np.where(other < len(part), part[np.minimum(other, len(part) - 1)], f32(np.nan)))
    assert same(batch.run("add", [a, b])[0], abs(b) - np.concatenate(shifted))
    mirror = np.concatenate(mirrored)
    assert same(batch.run("fmac", [a, b])[0], np.where(np.isnan(mirror), b, mirror * b + b))


REFUSED = {
    "v_cmp_lt_f32_dpp vcc_lo, $1, $2 row_mirror row_mask:0xf bank_mask:0xf": RDNA,
    "v_add_co_ci_u32_dpp $0, vcc_lo, $1, $2, vcc_lo row_mirror row_mask:0xf bank_mask:0xf": RDNA,
    "v_add_f16_dpp $0, $1, $2 row_mirror row_mask:0xf bank_mask:0xf": BOTH,
    "v_add_nc_i32_e64_dpp $0, $1, $2 row_mirror row_mask:0xf bank_mask:0xf": RDNA,
    "ds_swizzle_b32 $0, $1 offset:0xc020": CDNA,
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_moves_are_refused(text):
    for processor in REFUSED[text]:
        batch = Batch({"k": One(text, u32, [u32, u32], clobbers=",~{vcc}")}, processor)
        with pytest.raises(InternalError, match=f"the emulator of {processor} has no instruction"):
            batch.run("k", [random_of(u32, COUNT), random_of(u32, COUNT)])
