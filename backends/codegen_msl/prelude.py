"""Functions in front of the text: what operations mean where the language leaves something open."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HEAD", "RESERVED", "prelude"]

HEAD: Final = """#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)"""
"""Products and sums are rounded apart, and nothing is assumed of NaNs and infinities."""

_TEXT: Final = """
// Integers wrap around; the language leaves it open what signed ones do.
static inline int add(int a, int b) { return int(uint(a) + uint(b)); }
static inline long add(long a, long b) { return long(ulong(a) + ulong(b)); }

static inline int sub(int a, int b) { return int(uint(a) - uint(b)); }
static inline long sub(long a, long b) { return long(ulong(a) - ulong(b)); }

static inline int mul(int a, int b) { return int(uint(a) * uint(b)); }
static inline long mul(long a, long b) { return long(ulong(a) * ulong(b)); }
static inline uint mul(uint a, uint b) { return a * b; }
static inline ulong mul(ulong a, ulong b) { return a * b; }

static inline int neg(int a) { return int(0u - uint(a)); }
static inline long neg(long a) { return long(0ul - ulong(a)); }
static inline uint neg(uint a) { return 0u - a; }
static inline ulong neg(ulong a) { return 0ul - a; }

// Whether a type has a sign, and the divisor is -1, by which the least number can't be divided.
template <typename T> static inline bool is_minus_one(T b) { return T(-1) < T(1) && b == T(-1); }

// Division by zero gives 0.
template <typename T> static inline T raw_div(T a, T b) {
    return b == T(0) ? T(0) : is_minus_one(b) ? neg(a) : a / b;
}

// What that division leaves.
template <typename T> static inline T raw_mod(T a, T b) {
    return b == T(0) || is_minus_one(b) ? T(0) : a % b;
}

// Quotients are rounded down.
template <typename T> static inline T floordiv(T a, T b) {
    const T rest = raw_mod(a, b);
    return raw_div(a, b) - T(rest != T(0) && (rest < T(1)) != (b < T(1)));
}

// What is left then has the sign of the divisor.
template <typename T> static inline T mod(T a, T b) {
    const T rest = raw_mod(a, b);
    return rest != T(0) && (rest < T(1)) != (b < T(1)) ? rest + b : rest;
}

// Amounts that are negative, or not below the width, give 0.
template <typename T> static inline bool is_shift(T b) { return b >= T(0) && b < T(8 * sizeof(T)); }

template <typename T> static inline T shl(T a, T b) { return is_shift(b) ? T(a << b) : T(0); }

template <typename T> static inline T shr(T a, T b) { return is_shift(b) ? T(a >> b) : T(0); }

// By squaring; a negative exponent leaves something of 1 and -1 alone.
template <typename T> static inline T ipow(T base, T exponent) {
    if (T(-1) < T(1) && exponent < T(0)) {
        return base == T(1) ? T(1) : is_minus_one(base) ? (exponent & T(1) ? T(-1) : T(1)) : T(0);
    }
    T power = T(1);
    for (T rest = exponent; rest != T(0); rest = T(rest >> 1)) {
        power = rest & T(1) ? mul(power, base) : power;
        base = mul(base, base);
    }
    return power;
}

// The left one where it wins, or the right one is a NaN.
template <typename T> static inline T least(T a, T b) { return a < b || b != b ? a : b; }

// The same of the greater one.
template <typename T> static inline T greatest(T a, T b) { return a > b || b != b ? a : b; }

// Truncated where the result holds it; else the nearest bound, and 0 of a NaN.
template <typename T> static inline T saturated(float x, float low, float high, T lowest, T highest) {
    return x >= low && x < high ? T(x) : x >= high ? highest : x < low ? lowest : T(0);
}

// The thread is the first to write a record.
static inline bool claim_record(device ulong* record) {
    device atomic_uint* flag = (device atomic_uint*)record;
    uint none = 0;
    while (none == 0) {
        if (atomic_compare_exchange_weak_explicit(flag, &none, 1u, memory_order_relaxed, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

// The first stack to overflow owns the record {site + 1, capacity, depth}; it keeps its largest depth.
static inline void report_overflow(device ulong* record, uint site, long capacity, long depth) {
    device atomic_uint* owner = (device atomic_uint*)record;
    uint seen = 0;
    while (seen == 0) {
        if (atomic_compare_exchange_weak_explicit(owner, &seen, site + 1, memory_order_relaxed, memory_order_relaxed)) {
            seen = site + 1;
        }
    }
    if (seen == site + 1) {
        const uint most = uint(min(ulong(capacity), 0xfffffffful)), deep = uint(min(ulong(depth), 0xfffffffful));
        atomic_fetch_max_explicit((device atomic_uint*)(record + 1), most, memory_order_relaxed);
        atomic_fetch_max_explicit((device atomic_uint*)(record + 2), deep, memory_order_relaxed);
    }
}

// Two sums of 32 bits: what is carried over reaches the upper one in the end.
static inline void add_wide(device ulong* at, ulong value) {
    device atomic_uint* words = (device atomic_uint*)at;
    const uint low = uint(value);
    const uint before = atomic_fetch_add_explicit(words, low, memory_order_relaxed);
    const uint carry = before + low < low ? 1 : 0;
    atomic_fetch_add_explicit(words + 1, uint(value >> 32) + carry, memory_order_relaxed);
}

// How many threads of the simdgroup are here, if these are its first ones; else 0.
static inline uint first_here() {
    const ulong here = ulong(simd_vote::vote_t(simd_ballot(true)));
    return (here & (here + 1)) == 0 ? uint(popcount(uint(here)) + popcount(uint(here >> 32))) : 0u;
}

// What the thread of the simdgroup that is so many places on has: 32 bits are handed over at once.
template <typename T> static inline T beyond(T a, uint step) { return simd_shuffle_down(a, ushort(step)); }
static inline bool beyond(bool a, uint step) { return simd_shuffle_down(uint(a), ushort(step)) != 0; }
static inline ulong beyond(ulong a, uint step) {
    const uint low = simd_shuffle_down(uint(a), ushort(step));
    return ulong(simd_shuffle_down(uint(a >> 32), ushort(step))) << 32 | low;
}
static inline long beyond(long a, uint step) { return long(beyond(ulong(a), step)); }

// One block of Philox4x32-10; its first two words.
static inline ulong philox(uint number, ulong iteration, uint section, uint seed, uint launch_number) {
    uint a = number, b = uint(iteration), c = uint(iteration >> 32), d = section, k0 = seed, k1 = launch_number;
    for (int k = 0; k < 10; ++k) {
        const ulong first = ulong(a) * 0xd2511f53ul, second = ulong(c) * 0xcd9e8d57ul;
        a = uint(second >> 32) ^ b ^ k0;
        b = uint(second);
        c = uint(first >> 32) ^ d ^ k1;
        d = uint(first);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return ulong(a) | ulong(b) << 32;
}
"""
_NAME: Final = re.compile(r"(\w+)(?:<\w+>)?\(", re.ASCII)


def _parts() -> dict[str, str]:
    """The functions of a name, with what is said about them."""
    parts = (part.strip("\n") for part in re.split(r"\n\n(?=\S)", _TEXT.strip("\n")))
    named = {}
    for part in parts:
        code = "\n".join(line for line in part.splitlines() if not line.startswith("//"))
        match = _NAME.search(code)
        assert match is not None, part
        named[match.group(1)] = part
    return named


_PARTS: Final = _parts()
_KEYWORDS: Final = """
alignas alignof and asm auto bitand bitor bool break case catch char class const constant constexpr continue decltype
default delete device do double else enum explicit export extern false float for friend goto half if inline int
kernel long mutable namespace new not nullptr operator or private protected public register return short signed sizeof
static struct switch template this thread threadgroup throw true try typedef typename uchar uint ulong union unsigned
ushort using vertex fragment virtual void volatile while xor metal launch threads main size_t ptrdiff_t bfloat vec
fma sqrt precise floor ceil trunc rint round fabs min max popcount clz as_type atomic_uint atomic_int atomic_float
memory_order_relaxed errors overflow print position assert simd_any simd_ballot simd_lane simd_width simd_number
simd_count team_thread team_number team_count simd_shuffle_down simd_vote threadgroup_barrier mem_flags NAN
INFINITY M_PI_F
"""
RESERVED: Final = frozenset(_PARTS) | frozenset(_KEYWORDS.split())
"""Names that values may not have."""


def prelude(text: str) -> str:
    """The functions that a text calls, and those that they call, in an order in which they can be compiled."""
    needed: set[str] = set()
    waiting = [text]
    while waiting:
        called = (set(_NAME.findall(waiting.pop())) & _PARTS.keys()) - needed
        needed |= called
        waiting += [_PARTS[name] for name in called]
    return "\n\n".join(part for name, part in _PARTS.items() if name in needed)
