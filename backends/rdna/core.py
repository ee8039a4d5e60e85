"""A wave of threads, as C++: its registers, how operands are read and results written, memory, the loop that runs.

Memory of the device is the host's, at the same addresses. A thread's own memory (scratch) is a block for each lane.
"""

from __future__ import annotations

from typing import Final

from .processors import MOST_THREADS, Processor

__all__ = ["LOOP", "OPERANDS", "TYPES", "head"]

TYPES: Final = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned u32; typedef long i64; typedef unsigned long u64;
typedef _Float16 f16; typedef float f32; typedef double f64;
enum { VCC = 106, NONE = 124, M0 = 125, EXEC = 126, LITERAL = 255, VECTOR = 256 };
enum State { RUNS, ENDED, OUTSIDE, NO_CODE, NO_MEMORY, NO_INDEX, WAITS };
// One instruction. `of` depends on its kind; see `encodings`. `select`: which part of a register an operand is (SDWA),
// in a byte for each of the first two operands and for the result: which part, what becomes of the others, whether it
// is one.
struct Record { i32 op, size, dst, sdst, a, b, c, d, literal, offset, abs, neg, omod, clamp, opsel, of, select; };
struct Wave {
    u32 s[128], v[REGISTERS + 1][LANES];  // the last one is for operands on their way
    u64 pc, base, scratch, group;
    u32 scc, state, bytes, group_bytes, indexed;
    i32 skew;
    const Record* records;
    void stop(u32 why) { state = why; }
};
"""
"""Behind `head`."""


def head(processor: Processor) -> str:
    """What differs between processors, in front of everything."""
    numbers = {"LANES": processor.lanes, "REGISTERS": processor.registers, "SELECTS": int(processor.selects)}
    numbers["MOST_THREADS"] = MOST_THREADS
    shown = ", ".join(f"{name} = {number}" for name, number in numbers.items())
    bits = "unsigned" if processor.lanes == 32 else "unsigned long"
    return f"enum {{ {shown} }};\n// One of each thread of a wave.\ntypedef {bits} Bits;"


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
// The bits of all threads, in one register or two.
inline Bits bits_of(const Wave& w, u32 code) {
    return LANES == 64 ? Bits(w.s[code] | u64(w.s[code + 1]) << 32) : Bits(w.s[code]);
}
// One more than the number of the last active thread.
inline u32 last(const Wave& w) {
    const u64 exec = bits_of(w, EXEC);
    return exec ? 64 - __builtin_clzl(exec) : 0;
}
// An operand of vector instructions, with its sign changed, or taken away, where a record says so.
template <class T> struct Source {
    u32 words[2];
    const u32 *low, *high;
    u32 stride, shift, width;
    bool extends;
    u64 keep, flip;
    Source(const Wave& w, const Record& rec, u32 code, u32 k) {
        const u64 sign = 1ul << (8 * sizeof(T) - 1);
        shift = sizeof(T) == 2 && rec.opsel >> k & 1 ? 16 : 0;
        const u32 part = SELECTS && k < 2 ? rec.select >> 8 * k & 255 : 0;
        width = part == 0 ? 0 : (part & 7) < 4 ? 8 : (part & 7) < 6 ? 16 : 32;
        extends = part >> 3 & 1;
        if (width) shift = width == 8 ? 8 * (part & 7) : width == 16 ? 16 * (part & 1) : 0;
        keep = rec.abs >> k & 1 ? ~sign : ~0ul;
        flip = rec.neg >> k & 1 ? sign : 0;
        stride = code >= VECTOR;
        if (stride) {
            low = w.v[code - VECTOR];
            high = w.v[(code - VECTOR + 1) & (REGISTERS - 1)];
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
        if (SELECTS && width) {
            const u32 rest = 32 - width, x = u32(raw) << rest;
            raw = extends ? u32(i32(x) >> rest) : x >> rest;
        }
        if (sizeof(T) == 8) raw |= u64(high[lane * stride]) << 32;
        return narrowed<T>((raw & keep) ^ flip);
    }
};
// A bit of each lane, in a scalar register.
struct Mask {
    Bits all;
    Mask(const Wave& w, const Record& rec, u32 code, u32) : all(Bits(scalar<Bits>(w, rec, code))) {}
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
// A part of a register is written, and the others become 0, or stay.
inline u32 placed(u32 old, u32 x, u32 part) {
    const u32 width = (part & 7) < 4 ? 8 : 16, at = (part & 7) < 4 ? 8 * (part & 7) : 16 * (part & 1);
    const u32 mask = ((1u << width) - 1) << at;
    return (part & 16 ? old & ~mask : 0) | (x << at & mask);
}
// Results of 16 bits leave the other half of a register as it is, or, where that `zeroes`, set the upper half to 0.
inline void set_vector(Wave& w, const Record& rec, const u64* out, u32 size, bool zeroes = false) {
    u32 *low = w.v[rec.dst], *high = w.v[(rec.dst + 1) & (REGISTERS - 1)];
    const u32 shift = rec.opsel & 8 ? 16 : 0, part = SELECTS ? rec.select >> 16 & 255 : 0;
    const Bits exec = bits_of(w, EXEC);
    for (u32 l = 0, end = last(w); l < end; ++l) {
        if (!(exec >> l & 1)) continue;
        const u32 x = size == 2 ? u32(out[l] & 0xffff) : u32(out[l]);
        if (part) low[l] = placed(low[l], x, part);
        else if (size == 2 && !zeroes) low[l] = (low[l] & ~(0xffffu << shift)) | x << shift;
        else low[l] = x;
        if (size == 8) high[l] = u32(out[l] >> 32);
    }
}
"""
"""Behind `arithmetic`."""

LOOP: Final = """
enum Indexed { NEVER, BY_INDEX, BY_INDEX_NOT };
struct Kind { void (*run)(Wave&, const Record&, u64*, Bits&); u32 size; bool flags, zeroes; u32 indexed; };
extern const Kind KINDS[];
// What a vector instruction writes: `size` bytes of each lane, or, where that is 0, a bit of each.
inline void step(Wave& w, const Record& rec) {
    const Kind& kind = KINDS[rec.op];
    u64 out[LANES];
    Bits flags = 0;
    kind.run(w, rec, out, flags);
    if (kind.size) set_vector(w, rec, out, kind.size, kind.zeroes);
    if (kind.flags) set_scalar(w, rec.sdst, flags & bits_of(w, EXEC), sizeof flags);
}
// The same where M0 is added to the numbers of registers: which of them, it says too. Moves alone are made so.
inline void step_indexed(Wave& w, const Record& rec) {
    const u32 how = KINDS[rec.op].indexed, by = w.s[M0] & 255;
    if (how == NEVER) return step(w, rec);
    if (how == BY_INDEX_NOT) return w.stop(NO_INDEX);
    Record moved = rec;
    if (w.s[M0] >> 12 & 1 && rec.a >= VECTOR) moved.a += by;
    if (w.s[M0] >> 15 & 1) moved.dst += by;
    if (moved.a >= VECTOR + REGISTERS || moved.dst >= REGISTERS) return w.stop(NO_INDEX);
    step(w, moved);
}
// Two at once: both read before either writes. They stand behind the code's records, where `dst` and `sdst` say.
static void dual(Wave& w, const Record& rec, u64*, Bits&) {
    const Record &x = w.records[rec.dst], &y = w.records[rec.sdst];
    u64 first[LANES], second[LANES];
    Bits none;
    KINDS[x.op].run(w, x, first, none);
    KINDS[y.op].run(w, y, second, none);
    set_vector(w, x, first, 4);
    set_vector(w, y, second, 4);
}
static void read_first_lane(Wave& w, const Record& rec, u64*, Bits&) {
    const u64 exec = bits_of(w, EXEC);
    const u32 lane = exec ? __builtin_ctzl(exec) : 0;
    set_scalar(w, rec.dst, Source<u32>(w, rec, rec.a, 0)[lane], 4);
}
static void read_lane(Wave& w, const Record& rec, u64*, Bits&) {
    set_scalar(w, rec.dst, Source<u32>(w, rec, rec.a, 0)[value<u32>(w, rec, rec.b) & (LANES - 1)], 4);
}
static void write_lane(Wave& w, const Record& rec, u64*, Bits&) {
    w.v[rec.dst][value<u32>(w, rec, rec.b) & (LANES - 1)] = value<u32>(w, rec, rec.a);
}
static void move_from(Wave& w, const Record& rec, u64* out, Bits&) {
    const Source<u32> a(w, rec, VECTOR + ((rec.a - VECTOR + w.s[M0]) & 255), 0);
    for (u32 l = 0, end = last(w); l < end; ++l) out[l] = a[l];
    set_vector(w, rec, out, 4);
}
static void move_to(Wave& w, const Record& rec, u64* out, Bits&) {
    const Source<u32> a(w, rec, rec.a, 0);
    Record there = rec;
    there.dst = (rec.dst + w.s[M0]) & 255;
    for (u32 l = 0, end = last(w); l < end; ++l) out[l] = a[l];
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
static void fma_mix(Wave& w, const Record& rec, u64* out, Bits&) {
    for (u32 l = 0, end = last(w); l < end; ++l) out[l] = raw(modified(rec, mix(w, rec, l)));
    set_vector(w, rec, out, 4);
}
static void fma_mix_half(Wave& w, const Record& rec, u64* out, Bits&) {
    for (u32 l = 0, end = last(w); l < end; ++l) out[l] = raw(modified(rec, f16(mix(w, rec, l))));
    set_vector(w, rec, out, 2);
}
// Two results of f32, of operands that are pairs of registers: `opsel` says which of a pair the lower result is of,
// `of` the upper one, and `neg` and `abs` whether signs change in these.
inline f32 one_of(const Wave& w, const Record& rec, u32 code, u32 k, u32 lane, bool upper) {
    const u64 pair = code < VECTOR ? scalar<u64>(w, rec, code)
        : w.v[code - VECTOR][lane] | u64(w.v[(code - VECTOR + 1) & (REGISTERS - 1)][lane]) << 32;
    const u32 which = (upper ? rec.of : rec.opsel) >> k & 1, minus = (upper ? rec.abs : rec.neg) >> k & 1;
    return as<f32>(u32(pair >> 32 * which) ^ minus << 31);
}
inline f32 fma_of(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f32 product_of(f32 a, f32 b, f32) { return a * b; }
inline f32 sum_of(f32 a, f32 b, f32) { return a + b; }
template <f32 (*f)(f32, f32, f32), u32 count> static void packed(Wave& w, const Record& rec, u64* out, Bits&) {
    for (u32 l = 0, end = last(w); l < end; ++l) {
        u32 results[2];
        for (u32 k = 0; k < 2; ++k) {
            const f32 a = one_of(w, rec, rec.a, 0, l, k), b = one_of(w, rec, rec.b, 1, l, k);
            results[k] = bits(f(a, b, count == 3 ? one_of(w, rec, rec.c, 2, l, k) : 0));
        }
        out[l] = results[0] | u64(results[1]) << 32;
    }
    set_vector(w, rec, out, 8);
}
// The lower result is of the first operand, the upper one of the second.
static void packed_move(Wave& w, const Record& rec, u64* out, Bits&) {
    for (u32 l = 0, end = last(w); l < end; ++l) {
        const u32 low = bits(one_of(w, rec, rec.a, 0, l, false)), high = bits(one_of(w, rec, rec.b, 1, l, false));
        out[l] = low | u64(high) << 32;
    }
    set_vector(w, rec, out, 8);
}
static void load_scalars(Wave& w, const Record& rec, u64*, Bits&) {
    const u64 at = scalar<u64>(w, rec, rec.a) + i64(rec.offset) + value<u32>(w, rec, rec.b);
    u32 words[16];
    __builtin_memcpy(words, (const void*)at, 64 < 4 * rec.of ? 64 : 4 * rec.of);
    for (i32 k = 0; k < rec.of; ++k) w.s[rec.dst + k] = words[k];
}
"""
"""Behind `arithmetic`."""
