"""The standard library of the Metal Shading Language, as far as generated text uses it, for clang on the host.

Address spaces are types of their own: a pointer or a reference without its qualifier is refused by the compiler, as it
is by Apple's. Threads run one after another, so that atomics are plain; exchanges that may fail for no reason do so
every fifth time. There is no `double`. What threads of a simdgroup and of a threadgroup do together is in `lanes`.
"""

from __future__ import annotations

from typing import Final

from .lanes import LANES

__all__ = ["SHIM"]

_TYPES: Final = """
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
typedef _Float16 half;
#define device __attribute__((address_space(1)))
#define constant __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#define kernel
"""
_LIBRARY: Final = """
namespace metal {
enum memory_order { memory_order_relaxed };

template <typename To, typename From> inline To as_type(From x) {
    static_assert(sizeof(To) == sizeof(From), "as_type between types of different sizes");
    return __builtin_bit_cast(To, x);
}

inline float fabs(float x) { return __builtin_fabsf(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline float ceil(float x) { return __builtin_ceilf(x); }
inline float trunc(float x) { return __builtin_truncf(x); }
inline float rint(float x) { return __builtin_rintf(x); }
inline float round(float x) { return __builtin_roundf(x); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline half fabs(half x) { return as_type<half>(ushort(as_type<ushort>(x) & 0x7fff)); }
inline half floor(half x) { return half(__builtin_floorf(x)); }
inline half ceil(half x) { return half(__builtin_ceilf(x)); }
inline half trunc(half x) { return half(__builtin_truncf(x)); }
inline half rint(half x) { return half(__builtin_rintf(x)); }
inline half round(half x) { return half(__builtin_roundf(x)); }
// The product is exact as a float, and the sum is rounded to odd, so that rounding it again does no harm.
inline half fma(half a, half b, half c) {
    const float product = float(a) * float(b), addend = c, sum = product + addend, back = sum - product;
    const float rest = (product - (sum - back)) + (addend - back);
    uint bits = as_type<uint>(sum);
    if (rest != 0 && __builtin_isfinite(sum) && (bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? 1 : -1;
    return half(as_type<float>(bits));
}
namespace precise {
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline half sqrt(half x) { return half(__builtin_sqrtf(x)); }
}  // namespace precise

template <typename T> inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> inline T max(T a, T b) { return a < b ? b : a; }
template <typename T> inline ulong bits_of(T x) { return ulong(x) & (~0ul >> (64 - 8 * sizeof(T))); }
template <typename T> inline T popcount(T x) { return T(__builtin_popcountl(bits_of(x))); }
template <typename T> inline T clz(T x) {
    const int width = 8 * sizeof(T);
    return T(bits_of(x) == 0 ? width : __builtin_clzl(bits_of(x)) - (64 - width));
}

template <typename T> struct atomic { T value; };
typedef atomic<int> atomic_int; typedef atomic<uint> atomic_uint; typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;
static_assert(sizeof(atomic_uint) == 4, "atomics are as large as their elements");
template <typename T> inline T atomic_load_explicit(device atomic<T>* at, memory_order) { return at->value; }
#define UPDATE(name, kinds, text) UPDATE_IN(device, name, kinds, text) UPDATE_IN(threadgroup, name, kinds, text)
#define UPDATE_IN(space, name, kinds, text) inline kinds name(space atomic<kinds>* at, kinds value, memory_order) { \\
    const kinds old = at->value; at->value = text; return old; }
UPDATE(atomic_fetch_add_explicit, int, int(uint(old) + uint(value)))
UPDATE(atomic_fetch_add_explicit, uint, old + value)
UPDATE(atomic_fetch_add_explicit, float, old + value)
UPDATE(atomic_fetch_sub_explicit, int, int(uint(old) - uint(value)))
UPDATE(atomic_fetch_sub_explicit, uint, old - value)
UPDATE(atomic_fetch_and_explicit, int, old & value)
UPDATE(atomic_fetch_and_explicit, uint, old & value)
UPDATE(atomic_fetch_or_explicit, int, old | value)
UPDATE(atomic_fetch_or_explicit, uint, old | value)
UPDATE(atomic_fetch_xor_explicit, int, old ^ value)
UPDATE(atomic_fetch_xor_explicit, uint, old ^ value)
UPDATE(atomic_fetch_min_explicit, int, min(old, value))
UPDATE(atomic_fetch_min_explicit, uint, min(old, value))
UPDATE(atomic_fetch_max_explicit, int, max(old, value))
UPDATE(atomic_fetch_max_explicit, uint, max(old, value))
UPDATE(atomic_exchange_explicit, int, value)
UPDATE(atomic_exchange_explicit, uint, value)
UPDATE(atomic_exchange_explicit, float, value)
#undef UPDATE
#undef UPDATE_IN
inline void atomic_max_explicit(device atomic_ulong* at, ulong value, memory_order) {
    at->value = max(at->value, value);
}
static uint exchanges = 0;
inline bool atomic_compare_exchange_weak_explicit(device atomic_uint* at, uint* seen, uint value, memory_order,
                                                  memory_order) {
    if (at->value != *seen) {
        *seen = at->value;
        return false;
    }
    if (++exchanges % 5 == 0) return false;
    at->value = value;
    return true;
}
}  // namespace metal
#pragma clang poison double
"""
SHIM: Final = _TYPES + LANES + _LIBRARY
"""What stands where `#include <metal_stdlib>` was."""
