"""A wave of 32 threads, as C++: its registers, how operands are read and results written, memory, the loop that runs.

Memory of the device is the host's, at the same addresses. A thread's own memory (scratch) is a block for each lane.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LOOP", "OPERANDS", "TYPES"]

TYPES: Final = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned u32; typedef long i64; typedef unsigned long u64;
typedef _Float16 f16; typedef float f32; typedef double f64;
enum { LANES = 32, VCC = 106, NONE = 124, M0 = 125, EXEC = 126, LITERAL = 255, VECTOR = 256 };
enum State { RUNS, ENDED, OUTSIDE, NO_CODE, NO_MEMORY };
// One instruction. `of` and `more` depend on its kind; see `decoding`.
struct Record { i32 op, size, dst, sdst, a, b, c, d, literal, offset, abs, neg, omod, clamp, opsel, of; };
struct Wave {
    u32 s[128], v[256][LANES];
    u64 pc, base, scratch, group;
    u32 scc, state, bytes, group_bytes;
    i32 skew;
    const Record* records;
    void stop(u32 why) { state = why; }
};
"""
"""In front of everything."""

OPERANDS: Final = """
inline u64 constant(u32 code, u32 size) {
    const f64 values[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
    if (code == 248) return size == 8 ? 0x3fc45f306dc9c882ul : size == 4 ? 0x3e22f983ul : 0x3118ul;
    const f64 value = values[code - 240];
    return size == 8 ? bits(value) : size == 4 ? bits(f32(value)) : bits(f16(f32(value)));
}
// Where memory of threads and of workgroups stands among flat addresses: the upper 32 bits.
enum { SHARED = 0x10000000, PRIVATE = 0x20000000 };
enum Extension { ZEROS, SIGN, HIGH };
template <class T> struct Extended { enum { value = ZEROS }; };
template <> struct Extended<i64> { enum { value = SIGN }; };
template <> struct Extended<f64> { enum { value = HIGH }; };
// A scalar operand as raw bits.
template <class T> inline u64 scalar(const Wave& w, const Record& rec, u32 code) {
    if (code == NONE) return 0;
    if (code < 128) return sizeof(T) == 8 ? w.s[code] | u64(w.s[code + 1]) << 32 : w.s[code];
    if (code <= 208) return u64(i64(code <= 192 ? i32(code) - 128 : 192 - i32(code)));
    if (code == 235 || code == 236) return u64(SHARED) << 32 | (code == 236 ? 0xffffffff : 0);
    if (code == 237 || code == 238) return u64(PRIVATE) << 32 | (code == 238 ? 0xffffffff : 0);
    if (code == 253) return w.scc;
    if (code != LITERAL) return constant(code, sizeof(T));
    const int how = Extended<T>::value;
    return how == HIGH ? u64(u32(rec.literal)) << 32 : how == SIGN ? u64(i64(rec.literal)) : u64(u32(rec.literal));
}
template <class T> inline T narrowed(u64 raw) { return T(raw); }
template <> inline f16 narrowed<f16>(u64 raw) { return as<f16>(u16(raw)); }
template <> inline f32 narrowed<f32>(u64 raw) { return as<f32>(u32(raw)); }
template <> inline f64 narrowed<f64>(u64 raw) { return as<f64>(raw); }
template <class T> inline T value(const Wave& w, const Record& rec, u32 code) {
    return narrowed<T>(scalar<T>(w, rec, code));
}
// An operand of vector instructions, with its sign changed, or taken away, where a record says so.
template <class T> struct Source {
    u32 words[2];
    const u32 *low, *high;
    u32 stride, shift;
    u64 keep, flip;
    Source(const Wave& w, const Record& rec, u32 code, u32 k) {
        const u64 sign = 1ul << (8 * sizeof(T) - 1);
        shift = sizeof(T) == 2 && rec.opsel >> k & 1 ? 16 : 0;
        keep = rec.abs >> k & 1 ? ~sign : ~0ul;
        flip = rec.neg >> k & 1 ? sign : 0;
        stride = code >= VECTOR;
        if (stride) {
            low = w.v[code - VECTOR];
            high = w.v[(code - VECTOR + 1) & 255];
        } else {
            const u64 raw = scalar<T>(w, rec, code);
            words[0] = u32(raw);
            words[1] = u32(raw >> 32);
            low = words;
            high = words + 1;
        }
    }
    T operator[](u32 lane) const {
        u64 raw = low[lane * stride] >> shift;
        if (sizeof(T) == 8) raw |= u64(high[lane * stride]) << 32;
        return narrowed<T>((raw & keep) ^ flip);
    }
};
// A bit of each lane, in a scalar register.
struct Mask {
    u32 all;
    Mask(const Wave& w, const Record& rec, u32 code, u32) : all(u32(scalar<u32>(w, rec, code))) {}
    bool operator[](u32 lane) const { return all >> lane & 1; }
};
template <class T> inline u64 raw(T x) { return u64(x); }
inline u64 raw(f16 x) { return bits(x); }
inline u64 raw(f32 x) { return bits(x); }
inline u64 raw(f64 x) { return bits(x); }
template <class T> inline T modified(const Record&, T x) { return x; }
template <class T> inline T modified_float(const Record& rec, T x) {
    const f32 by[] = {1, 2, 4, 0.5f};
    if (rec.omod) x = T(x * T(by[rec.omod]));
    if (rec.clamp) x = x > 0 ? (x < 1 ? x : T(1)) : T(0);
    return x;
}
inline f16 modified(const Record& rec, f16 x) { return modified_float(rec, x); }
inline f32 modified(const Record& rec, f32 x) { return modified_float(rec, x); }
inline f64 modified(const Record& rec, f64 x) { return modified_float(rec, x); }
inline void set_scalar(Wave& w, u32 at, u64 x, u32 size) {
    if (at == NONE) return;
    w.s[at] = u32(x);
    if (size == 8) w.s[at + 1] = u32(x >> 32);
}
inline void set_vector(Wave& w, const Record& rec, const u64* out, u32 size) {
    u32 *low = w.v[rec.dst], *high = w.v[(rec.dst + 1) & 255];
    const u32 exec = w.s[EXEC], shift = rec.opsel & 8 ? 16 : 0;
    for (u32 l = 0; l < LANES; ++l) {
        if (!(exec >> l & 1)) continue;
        if (size == 2) low[l] = (low[l] & ~(0xffffu << shift)) | u32(out[l] & 0xffff) << shift;
        else low[l] = u32(out[l]);
        if (size == 8) high[l] = u32(out[l] >> 32);
    }
}
"""
"""Behind `arithmetic`."""

LOOP: Final = """
struct Kind { void (*run)(Wave&, const Record&, u64*, u32&); u32 size; bool flags; };
extern const Kind KINDS[];
// What a vector instruction writes: `size` bytes of each lane, or, where that is 0, a bit of each.
inline void step(Wave& w, const Record& rec) {
    const Kind& kind = KINDS[rec.op];
    u64 out[LANES];
    u32 flags = 0;
    kind.run(w, rec, out, flags);
    if (kind.size) set_vector(w, rec, out, kind.size);
    if (kind.flags) set_scalar(w, rec.sdst, flags & w.s[EXEC], 4);
}
// Two at once: both read before either writes. They stand behind the code's records, where `dst` and `sdst` say.
static void dual(Wave& w, const Record& rec, u64*, u32&) {
    const Record &x = w.records[rec.dst], &y = w.records[rec.sdst];
    u64 first[LANES], second[LANES];
    u32 none;
    KINDS[x.op].run(w, x, first, none);
    KINDS[y.op].run(w, y, second, none);
    set_vector(w, x, first, 4);
    set_vector(w, y, second, 4);
}
static void read_first_lane(Wave& w, const Record& rec, u64*, u32&) {
    const u32 lane = w.s[EXEC] ? __builtin_ctz(w.s[EXEC]) : 0;
    set_scalar(w, rec.dst, Source<u32>(w, rec, rec.a, 0)[lane], 4);
}
static void read_lane(Wave& w, const Record& rec, u64*, u32&) {
    set_scalar(w, rec.dst, Source<u32>(w, rec, rec.a, 0)[value<u32>(w, rec, rec.b) & 31], 4);
}
static void write_lane(Wave& w, const Record& rec, u64*, u32&) {
    w.v[rec.dst][value<u32>(w, rec, rec.b) & 31] = value<u32>(w, rec, rec.a);
}
static void move_from(Wave& w, const Record& rec, u64* out, u32&) {
    const Source<u32> a(w, rec, VECTOR + ((rec.a - VECTOR + w.s[M0]) & 255), 0);
    for (u32 l = 0; l < LANES; ++l) out[l] = a[l];
    set_vector(w, rec, out, 4);
}
static void move_to(Wave& w, const Record& rec, u64* out, u32&) {
    const Source<u32> a(w, rec, rec.a, 0);
    Record there = rec;
    there.dst = (rec.dst + w.s[M0]) & 255;
    for (u32 l = 0; l < LANES; ++l) out[l] = a[l];
    set_vector(w, there, out, 4);
}
// Operands are f32, or a half of a register: `of` says which are, `opsel` which half.
inline f32 mixed(const Wave& w, const Record& rec, u32 code, u32 k, u32 lane) {
    return rec.of >> k & 1 ? f32(Source<f16>(w, rec, code, k)[lane]) : Source<f32>(w, rec, code, k)[lane];
}
inline f32 mix(const Wave& w, const Record& rec, u32 l) {
    const f32 a = mixed(w, rec, rec.a, 0, l), b = mixed(w, rec, rec.b, 1, l), c = mixed(w, rec, rec.c, 2, l);
    return __builtin_fmaf(a, b, c);
}
static void fma_mix(Wave& w, const Record& rec, u64* out, u32&) {
    for (u32 l = 0; l < LANES; ++l) out[l] = raw(modified(rec, mix(w, rec, l)));
    set_vector(w, rec, out, 4);
}
static void fma_mix_half(Wave& w, const Record& rec, u64* out, u32&) {
    for (u32 l = 0; l < LANES; ++l) out[l] = raw(modified(rec, f16(mix(w, rec, l))));
    set_vector(w, rec, out, 2);
}
static void load_scalars(Wave& w, const Record& rec, u64*, u32&) {
    const u64 at = scalar<u64>(w, rec, rec.a) + i64(rec.offset) + value<u32>(w, rec, rec.b);
    u32 words[16];
    __builtin_memcpy(words, (const void*)at, 64 < 4 * rec.of ? 64 : 4 * rec.of);
    for (i32 k = 0; k < rec.of; ++k) w.s[rec.dst + k] = words[k];
}

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
    for (u32 k = 0; k < sizeof(U) / 2; ++k) words[k] = w.v[(rec.b - VECTOR + k) & 255][lane];
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
static void access_global(Wave& w, const Record& rec, u64*, u32&) {
    const u64 base = scalar<u64>(w, rec, rec.c) + i64(rec.offset);
    const Source<u64> wide(w, rec, rec.a, 0);
    const Source<u32> index(w, rec, rec.a, 0);
    for (u32 l = 0; l < LANES; ++l)
        if (w.s[EXEC] >> l & 1) access(w, rec, l, (void*)(base + (rec.c == NONE ? wide[l] : index[l])));
}
static void access_flat(Wave& w, const Record& rec, u64*, u32&) {
    const Source<u64> addresses(w, rec, rec.a, 0);
    for (u32 l = 0; l < LANES; ++l) {
        if (!(w.s[EXEC] >> l & 1)) continue;
        const u64 at = addresses[l] + i64(rec.offset);
        const u32 size = rec.of >> 4 & 255;
        access(w, rec, l, at >> 32 == PRIVATE ? own(w, l, u32(at), size)
            : at >> 32 == SHARED ? shared(w, u32(at), size) : (void*)at);
    }
}
static void access_scratch(Wave& w, const Record& rec, u64*, u32&) {
    const u32 base = value<u32>(w, rec, rec.c) + rec.offset;
    const Source<u32> index(w, rec, rec.a, 0);
    for (u32 l = 0; l < LANES; ++l)
        if (w.s[EXEC] >> l & 1) access(w, rec, l, own(w, l, base + (rec.d ? index[l] : 0), rec.of >> 4 & 255));
}
// Where `d` is set, there are two, at distances `offset` and `literal`; registers follow each other, or are b and c.
static void access_shared(Wave& w, const Record& rec, u64*, u32&) {
    const u32 size = rec.of >> 4 & 255;
    const Source<u32> base(w, rec, rec.a, 0);
    Record other = rec;
    other.dst += size / 4;
    other.b = rec.c;
    for (u32 l = 0; l < LANES; ++l) {
        if (!(w.s[EXEC] >> l & 1)) continue;
        const u32 at = base[l];
        access(w, rec, l, shared(w, at + rec.offset, size));
        if (rec.d) access(w, other, l, shared(w, at + rec.literal, size));
    }
}
"""
"""Behind the instructions that `instructions` lists."""
