"""Moves between the threads of a wave, as C++: operands of other threads (DPP), permutations, by way of LDS or not.

From "RDNA3 Instruction Set Architecture" and "AMD Instinct MI300 Instruction Set Architecture": "Data Parallel
Processing", DS_SWIZZLE, DS_BPERMUTE, V_PERMLANE16. A thread that is not active can't be read, unless an instruction
says so ("fetch inactive"): what would be of it is 0, or nothing is written.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BOUNDS", "BY_HAND", "EXCHANGES", "INACTIVE", "SWIZZLES", "control_exists"]

BOUNDS, INACTIVE = 1 << 8, 1 << 9
"""Of what a record says in `of`, behind rows and banks of threads, in 4 bits each: what can't be read is 0; inactive
threads are read."""
SWIZZLES: Final = 0xC000
"""Patterns of DS_SWIZZLE from here on are not known."""

BY_HAND: Final[tuple[tuple[str, int, str, str, tuple[str, ...], str], ...]] = (
    ("VOP_DPP", 0, "V_DPP", "-", (), "by_other_lanes"),
    ("DS", 1, "DS_BPERMUTE_B32", "u32", ("u32", "u32"), "exchange<fetched>"),
    ("DS", 2, "DS_SWIZZLE_B32", "u32", ("u32",), "exchange<swizzled>"),
)
"""What processors have in common that there are functions for, see `instructions`; their numbers are not the code's."""

_ROWS: Final = {*range(0x100), *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x140, 0x141}
"""Permutations of 4, shifts and rotations of 16 threads, and their mirrors, which are the same everywhere."""
_SHARED: Final = {*range(0x150, 0x160)}
"""One thread of a row for all of it."""
_EXCLUSIVE: Final = {*range(0x160, 0x170)}
"""A row's threads by `xor` of their numbers, on RDNA."""
_WAVE: Final = {0x130, 0x134, 0x138, 0x13C, 0x142, 0x143}
"""Shifts and rotations of a wave, and one thread for the rows behind it, on CDNA."""


def control_exists(control: int, lanes: int) -> bool:
    """Whether a processor whose waves have so many threads knows a move by this number."""
    return control in _ROWS | _SHARED | (_EXCLUSIVE if lanes == 32 else _WAVE)


EXCHANGES: Final = """
// Which thread another reads, of a wave; -1 if that is none.
inline i32 mover(u32 control, u32 l) {
    const u32 row = l & ~15u, n = l & 15, by = control & 15;
    if (control < 0x100) return (l & ~3u) + (control >> 2 * (l & 3) & 3);
    switch (control) {
    case 0x130: return l + 1 < LANES ? l + 1 : -1;
    case 0x134: return (l + 1) % LANES;
    case 0x138: return i32(l) - 1;
    case 0x13c: return (l + LANES - 1) % LANES;
    case 0x140: return row + 15 - n;
    case 0x141: return (l & ~7u) + 7 - (l & 7);
    case 0x142: return i32(row) - 1;
    case 0x143: return l > 31 ? 31 : -1;
    }
    switch (control >> 4) {
    case 0x10: return n + by < 16 ? l + by : -1;
    case 0x11: return n >= by ? l - by : -1;
    case 0x12: return row + ((n - by) & 15);
    case 0x15: return row + by;
    default: return row + (n ^ by);
    }
}
// The first operand is another thread's: the instruction proper stands behind the code's records, where `dst` says.
// `offset` says which thread; or `literal` does, for each of 8, where `d` is set. See `exchanges` for `of`.
static void by_other_lanes(Wave& w, const Record& rec, u64*, Bits&) {
    Record inner = w.records[rec.dst];
    const Bits exec = bits_of(w, EXEC);
    const u32* from = w.v[inner.a - VECTOR];
    Bits written = 0;
    for (u32 l = 0; l < LANES; ++l) {
        const i32 at = rec.d ? i32((l & ~7u) + (u32(rec.literal) >> 3 * (l & 7) & 7)) : mover(rec.offset, l);
        const bool there = at >= 0 && (exec >> at & 1 || rec.of >> 9 & 1);
        const bool meant = rec.d || (rec.of >> (l >> 4 & 3) & 1 && rec.of >> (4 + (l >> 2 & 3)) & 1);
        w.v[REGISTERS][l] = there ? from[at] : 0;
        if (meant && (there || rec.of >> 8 & 1)) written |= Bits(1) << l;
    }
    inner.a = VECTOR + REGISTERS;
    set_scalar(w, EXEC, exec & written, sizeof exec);
    step(w, inner);
    set_scalar(w, EXEC, exec, sizeof exec);
}
// Each thread of a row reads the one that 4 bits of two scalars say: of its own row, or of the other.
template <u32 other> static void permute_row(Wave& w, const Record& rec, u64*, Bits&) {
    const u64 picks = value<u32>(w, rec, rec.b) | u64(value<u32>(w, rec, rec.c)) << 32;
    const Bits exec = bits_of(w, EXEC);
    u32 old[LANES];
    __builtin_memcpy(old, w.v[rec.a - VECTOR], sizeof old);
    for (u32 l = 0; l < LANES; ++l) {
        const u32 at = ((l & ~15u) ^ other) + (picks >> 4 * (l & 15) & 15);
        const bool there = exec >> at & 1 || rec.opsel & 1;
        if (exec >> l & 1 && (there || rec.opsel & 2)) w.v[rec.dst][l] = there ? old[at] : 0;
    }
}
// DS_BPERMUTE: each thread reads the one that a quarter of its address says.
inline u32 fetched(const Wave& w, const Record& rec, u32 l) {
    return (w.v[rec.a - VECTOR][l] + rec.offset) / 4 % LANES;
}
// DS_SWIZZLE: of 4 threads in any order, or of 32, by `and`, `or` and `xor` of their numbers.
inline u32 swizzled(const Wave&, const Record& rec, u32 l) {
    const u32 how = rec.offset;
    if (how & 0x8000) return (l & ~3u) + (how >> 2 * (l & 3) & 3);
    return (l & ~31u) + (((l & how & 31) | (how >> 5 & 31)) ^ (how >> 10 & 31));
}
template <u32 (*which)(const Wave&, const Record&, u32)> static void exchange(Wave& w, const Record& rec, u64*, Bits&) {
    const u32* from = w.v[(which == fetched ? rec.b : rec.a) - VECTOR];
    const Bits exec = bits_of(w, EXEC);
    u64 out[LANES];
    for (u32 l = 0; l < LANES; ++l) {
        const u32 at = which(w, rec, l);
        out[l] = exec >> at & 1 ? from[at] : 0;
    }
    set_vector(w, rec, out, 4);
}
"""
"""Behind `core`."""
