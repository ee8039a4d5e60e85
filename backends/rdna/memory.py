"""Accesses of threads to memory, as C++: the device's, which is the host's, their own, and that of a workgroup."""

from __future__ import annotations

from typing import Final

__all__ = ["MEMORY"]

MEMORY: Final = """
enum Access { LOAD, STORE, SWAP, CMPSWAP, ADD, SUB, MIN_I, MIN_U, MAX_I, MAX_U, AND, OR, XOR };
template <class U, class I> inline U updated(u32 how, U old, U data, U expected) {
    switch (how) {
    case SWAP: return data;
    case CMPSWAP: return old == expected ? data : old;
    case ADD: return old + data;
    case SUB: return old - data;
    case MIN_I: return I(data) < I(old) ? data : old;
    case MIN_U: return data < old ? data : old;
    case MAX_I: return I(data) > I(old) ? data : old;
    case MAX_U: return data > old ? data : old;
    case AND: return old & data;
    case OR: return old | data;
    default: return old ^ data;
    }
}
template <class U, class I> inline void update(Wave& w, const Record& rec, u32 lane, void* at) {
    u32 words[4];
    for (u32 k = 0; k < sizeof(U) / 2; ++k) words[k] = w.v[(rec.b - VECTOR + k) & (REGISTERS - 1)][lane];
    U old, data, expected;
    __builtin_memcpy(&old, at, sizeof(U));
    __builtin_memcpy(&data, words, sizeof(U));
    __builtin_memcpy(&expected, words + sizeof(U) / 4, sizeof(U));
    data = updated<U, I>(rec.of & 15, old, data, expected);
    __builtin_memcpy(at, &data, sizeof(U));
    if (!(rec.of >> 16 & 1)) return;
    __builtin_memcpy(words, &old, sizeof(U));
    for (u32 k = 0; k < sizeof(U) / 4; ++k) w.v[rec.dst + k][lane] = words[k];
}
// `of`: what is done, in 4 bits; then bytes, in 8; whether signed; half a register, and which; whether the old value is
// asked for.
inline void access(Wave& w, const Record& rec, u32 lane, void* at) {
    const u32 size = rec.of >> 4 & 255, how = rec.of & 15;
    const bool sign = rec.of >> 12 & 1, half = rec.of >> 13 & 1, upper = rec.of >> 14 & 1;
    if (how >= SWAP) return size == 8 ? update<u64, i64>(w, rec, lane, at) : update<u32, i32>(w, rec, lane, at);
    u32* regs = &w.v[how == LOAD ? rec.dst : rec.b - VECTOR][lane];
    if (size >= 4) {
        for (u32 k = 0; k < size / 4; ++k) {
            if (how == LOAD) __builtin_memcpy(regs + LANES * k, (u8*)at + 4 * k, 4);
            else __builtin_memcpy((u8*)at + 4 * k, regs + LANES * k, 4);
        }
        return;
    }
    if (how == STORE) {
        const u32 x = *regs >> (upper ? 16 : 0);
        if (size == 1) *(u8*)at = u8(x);
        else __builtin_memcpy(at, &x, 2);
        return;
    }
    u16 two = *(u8*)at;
    if (size == 2) __builtin_memcpy(&two, at, 2);
    const u32 x = !sign ? two : size == 2 ? u32(i32(i16(two))) : u32(i32(i8(two)));
    if (!half) *regs = x;
    else *regs = upper ? (*regs & 0xffff) | x << 16 : (*regs & 0xffff0000) | (x & 0xffff);
}
inline void* own(Wave& w, u32 lane, u32 at, u32 size) {
    if (at > w.bytes || w.bytes - at < size) {
        w.stop(NO_MEMORY);
        return (void*)w.scratch;
    }
    return (void*)(w.scratch + u64(lane) * w.bytes + at);
}
inline void* shared(Wave& w, u32 at, u32 size) {
    if (at > w.group_bytes || w.group_bytes - at < size) {
        w.stop(NO_MEMORY);
        return (void*)w.scratch;
    }
    return (void*)(w.group + at);
}
static void access_global(Wave& w, const Record& rec, u64*, Bits&) {
    const u64 base = scalar<u64>(w, rec, rec.c) + i64(rec.offset);
    const Source<u64> wide(w, rec, rec.a, 0);
    const Source<u32> index(w, rec, rec.a, 0);
    for (u32 l = 0, end = last(w); l < end; ++l)
        if (bits_of(w, EXEC) >> l & 1) access(w, rec, l, (void*)(base + (rec.c == NONE ? wide[l] : index[l])));
}
static void access_flat(Wave& w, const Record& rec, u64*, Bits&) {
    const Source<u64> addresses(w, rec, rec.a, 0);
    for (u32 l = 0, end = last(w); l < end; ++l) {
        if (!(bits_of(w, EXEC) >> l & 1)) continue;
        const u64 at = addresses[l] + i64(rec.offset);
        const u32 size = rec.of >> 4 & 255;
        access(w, rec, l, at >> 32 == PRIVATE ? own(w, l, u32(at), size)
            : at >> 32 == SHARED ? shared(w, u32(at), size) : (void*)at);
    }
}
static void access_scratch(Wave& w, const Record& rec, u64*, Bits&) {
    const u32 base = value<u32>(w, rec, rec.c) + rec.offset;
    const Source<u32> index(w, rec, rec.a, 0);
    for (u32 l = 0, end = last(w); l < end; ++l)
        if (bits_of(w, EXEC) >> l & 1) access(w, rec, l, own(w, l, base + (rec.d ? index[l] : 0), rec.of >> 4 & 255));
}
// Where `d` is set, there are two, at distances `offset` and `literal`; registers follow each other, or are b and c.
static void access_shared(Wave& w, const Record& rec, u64*, Bits&) {
    const u32 size = rec.of >> 4 & 255;
    const Source<u32> base(w, rec, rec.a, 0);
    Record other = rec;
    other.dst += size / 4;
    other.b = rec.c;
    for (u32 l = 0, end = last(w); l < end; ++l) {
        if (!(bits_of(w, EXEC) >> l & 1)) continue;
        const u32 at = base[l];
        access(w, rec, l, shared(w, at + rec.offset, size));
        if (rec.d) access(w, other, l, shared(w, at + rec.literal, size));
    }
}
"""
"""Behind `core`."""
