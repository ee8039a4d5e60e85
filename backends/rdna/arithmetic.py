"""What instructions compute that no operator of C++ does, as C++: fields of bits, roundings, the steps of quotients.

Quotients. LLVM divides by V_DIV_SCALE, a reciprocal that is improved by V_FMA, V_DIV_FMAS and V_DIV_FIXUP, whose
meanings AMD's "RDNA3 Instruction Set Architecture" gives in pseudocode that can't be right as it stands. It is read so:

- V_DIV_FMAS, where V_DIV_SCALE has scaled one operand alone, undoes it, by 2^64 or 2^-64 (f64: 2^128 or 2^-128), by
  whether the quotient is above 1. So the text of CDNA 3 has it; that of RDNA 3 has 2^32 (2^64) in all cases. There is
  one rounding.
- V_DIV_SCALE asks whether 1 / denominator is subnormal in the operands' type, where the text says f64 for both. If the
  quotient is subnormal too, the denominator is scaled down; the text scales it up, to an infinity.
- V_DIV_FIXUP takes a quotient that has become an infinity or NaN on the way, of finite operands, for an overflow, where
  the text asks for the exponent of the denominator, which it has dealt with before.

With this, quotients are those of IEEE 754 for all operands, which is what the sequence is for. What a device does has
yet to be seen on one.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ARITHMETIC"]

ARITHMETIC: Final = """
template <class T> struct Float;
template <> struct Float<f16> { typedef u16 Bits; enum { mantissa = 10, top = 31 }; };
template <> struct Float<f32> {
    typedef u32 Bits; enum { mantissa = 23, top = 255, far = 96, tiny = 23, step = 64, least = -150 };
};
template <> struct Float<f64> {
    typedef u64 Bits; enum { mantissa = 52, top = 2047, far = 768, tiny = 53, step = 128, least = -1075 };
};
template <class To, class From> inline To as(From x) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &x, sizeof x);
    return to;
}
template <class T> inline typename Float<T>::Bits bits(T x) { return as<typename Float<T>::Bits>(x); }
template <class T> inline i32 exponent(T x) { return bits(x) >> Float<T>::mantissa & Float<T>::top; }
template <class T> inline bool negative(T x) { return bits(x) >> (8 * sizeof(T) - 1) & 1; }
template <class T> inline T magnitude(T x) { return as<T>((typename Float<T>::Bits)(bits(x) << 1 >> 1)); }
inline f16 magnitude(f16 x) { return as<f16>((u16)(bits(x) & 0x7fff)); }
template <class T> inline T signed_by(bool minus, T x) { return minus ? -magnitude(x) : magnitude(x); }
template <class T> inline T infinity() { return T(__builtin_inff()); }
template <class T> inline bool is_infinite(T x) { return magnitude(x) == infinity<T>(); }
template <class T> inline bool is_subnormal(T x) { return exponent(x) == 0 && x != 0; }

inline u32 reversed(u32 x) { return __builtin_bitreverse32(x); }
inline u32 sign_bits(i32 x) { return x == 0 || x == -1 ? ~0u : __builtin_clz(x < 0 ? ~x : x); }
inline u64 field(u64 x, u32 at, u32 width) { return width >= 64 ? x >> at : x >> at & ((1ul << width) - 1); }
inline i64 signed_field(i64 x, u32 at, u32 width, u32 all) {
    if (width == 0) return 0;
    const u32 most = all - at, taken = width < most ? width : most;
    return i64(u64(x) << (64 - at - taken)) >> (64 - taken);
}
inline i64 low24(u32 x) { return i32(x << 8) >> 8; }
inline u32 permuted(u64 bytes, u32 picks) {
    u32 out = 0;
    for (u32 k = 0; k < 4; ++k) {
        const u32 pick = picks >> 8 * k & 255;
        const u32 sign = pick >= 8 && pick < 12 ? 255 * u32(bytes >> (16 * (pick - 8) + 15) & 1) : 0;
        const u32 byte = pick < 8 ? u32(bytes >> 8 * pick & 255) : pick < 12 ? sign : pick == 12 ? 0 : 255;
        out |= byte << 8 * k;
    }
    return out;
}

// Towards zero; what is out of range becomes the nearest that is not, and NaN 0.
template <class I, class T> inline I saturated(T x) {
    const I most = I(-1) < I(0) ? I(~0ul >> (65 - 8 * sizeof(I))) : I(~0ul), none = I(-1) < I(0) ? I(-most - 1) : I(0);
    const f64 wide = f64(x);
    if (wide != wide) return 0;
    return wide <= f64(none) ? none : wide >= f64(most) ? most : I(wide);
}

// x * 2^n, rounded once.
inline f64 scaled(f64 x, i32 n) {
    for (; n > 1023; n -= 1023) {
        x *= 0x1p1023;
        if (x == 0 || is_infinite(x) || x != x) return x;
        if (n > 4000) n = 4000;
    }
    if (n < -4000) n = -4000;
    for (; n < -1022; n += 969) x *= 0x1p-969;
    return x * as<f64>(u64(n + 1023) << 52);
}

// The sum of a product and c, of which the last bit is set if it is not exact: it can be rounded again to fewer bits.
template <class T> inline f64 fused_to_odd(T a, T b, T c) {
    const f64 product = f64(a) * f64(b), addend = f64(c), sum = product + addend, back = sum - product;
    const f64 rest = (product - (sum - back)) + (addend - back);
    u64 raw = bits(sum);
    if (rest != 0 && !is_infinite(sum) && sum == sum && (raw & 1) == 0) raw += (rest > 0) == (sum > 0) ? 1 : -1;
    return as<f64>(raw);
}
// Rounded to odd on the way, as a conversion from f64 to f16 is two.
inline f16 half_of(f64 x) {
    const f32 near = f32(x);
    u32 raw = bits(near);
    const f64 rest = x - f64(near);
    if (rest != 0 && rest == rest && !is_infinite(near) && (raw & 1) == 0) raw += (rest > 0) == (x > 0) ? 1 : -1;
    return f16(as<f32>(raw));
}
inline f16 fused(f16 a, f16 b, f16 c) { return half_of(fused_to_odd(a, b, c)); }

template <class T> inline T least(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && negative(a)) ? a : b;
}
template <class T> inline bool is_of_class(T x, u32 classes) {
    const bool nan = x != x, quiet = nan && (bits(x) >> (Float<T>::mantissa - 1) & 1), minus = negative(x);
    const u32 of = nan ? (quiet ? 1 : 0)
        : is_infinite(x) ? (minus ? 2 : 9)
        : x == 0 ? (minus ? 5 : 6)
        : is_subnormal(x) ? (minus ? 4 : 7) : (minus ? 3 : 8);
    return classes >> of & 1;
}
template <class T> inline i32 binary_exponent(T x) {
    if (x == 0 || x != x || is_infinite(x)) return 0;
    const f64 wide = is_subnormal(f64(x)) ? f64(x) * 0x1p54 : f64(x);
    return exponent(wide) - 1022 - (is_subnormal(f64(x)) ? 54 : 0);
}
template <class T> inline T fraction(T x) {
    return x == 0 || x != x || is_infinite(x) ? x : T(scaled(f64(x), -binary_exponent(x)));
}

// Approximations, which may be less than a unit in the last place away for f32, and 2^29 of them for f64. `skew` says
// which one is taken, so that it can be seen that results do not depend on it: the nearest, or one above or below.
inline f32 near(f64 exact, const Wave& w) {
    const f32 x = f32(exact);
    if (x == 0 || x != x || is_infinite(x) || w.skew == 0 || f64(x) == exact) return x;
    if ((f64(x) > exact) == (w.skew > 0)) return x;
    return as<f32>(bits(x) + ((exact > 0) == (w.skew > 0) ? 1 : -1));
}
inline f64 coarse(f64 x, const Wave& w) {
    if (x == 0 || x != x || is_infinite(x)) return x;
    return as<f64>((bits(x) & ~0xffffffful) + u64(i64(w.skew) * 0x10000000l));
}

// V_DIV_SCALE: x is one of denominator and numerator.
template <class T> inline T prepared(T x, T denominator, T numerator, bool& alone) {
    typedef Float<T> F;
    const T quotient = numerator / denominator, smallest = as<T>((typename F::Bits)(1) << F::mantissa);
    const bool subnormal = magnitude(quotient) < smallest, large = magnitude(1 / denominator) < smallest;
    const bool is_denominator = bits(x) == bits(denominator), is_numerator = bits(x) == bits(numerator);
    alone = false;
    if (numerator == 0 || denominator == 0) return T(__builtin_nanf(""));
    if (is_infinite(numerator) || is_infinite(denominator) || quotient != quotient) return x;
    if (exponent(numerator) - exponent(denominator) >= F::far) {
        alone = true;
        return is_denominator ? T(scaled(x, F::step)) : x;
    }
    if (is_subnormal(denominator)) return T(scaled(x, F::step));
    if (large && subnormal) {
        alone = true;
        return is_denominator ? T(scaled(x, -F::step)) : x;
    }
    if (large) return T(scaled(x, -F::step));
    if (subnormal) {
        alone = true;
        return is_numerator ? T(scaled(x, F::step)) : x;
    }
    return exponent(numerator) <= F::tiny ? T(scaled(x, F::step)) : x;
}

// V_DIV_FMAS where one operand was scaled alone: rounded once.
inline f32 unscaled(f32 a, f32 b, f32 c) {
    return f32(scaled(fused_to_odd(a, b, c), exponent(c) > 127 ? 64 : -64));
}
inline f64 unscaled(f64 a, f64 b, f64 c) {
    const f64 sum = __builtin_fma(a, b, c);
    if (exponent(c) > 1023) return scaled(sum, 128);
    const f64 product = a * b, more = __builtin_fma(a, b, -product), high = product + c, back = high - product;
    const f64 low = (product - (high - back)) + (c - back), rest = ((high - sum) + low) + more;
    const f64 result = scaled(sum, -128), off = sum - scaled(result, 128);
    const bool tie = magnitude(off) == 0x1p-947, beyond = (off > 0) == (rest > 0) && rest != 0;
    return tie && beyond ? result + (off > 0 ? 0x1p-1074 : -0x1p-1074) : result;
}

// V_DIV_FIXUP
template <class T> inline T special(T denominator, T numerator, bool& is_special) {
    const bool minus = negative(denominator) != negative(numerator);
    is_special = true;
    if (numerator != numerator) return numerator;
    if (denominator != denominator) return denominator;
    if (denominator == 0 && numerator == 0) return -T(__builtin_nanf(""));
    if (is_infinite(denominator) && is_infinite(numerator)) return -T(__builtin_nanf(""));
    if (denominator == 0 || is_infinite(numerator)) return signed_by(minus, infinity<T>());
    if (is_infinite(denominator) || numerator == 0) return signed_by(minus, T(0));
    is_special = false;
    return T(0);
}
template <class T> inline T fixed(T quotient, T denominator, T numerator) {
    bool is_special;
    const T value = special(denominator, numerator, is_special);
    const bool minus = negative(denominator) != negative(numerator);
    if (is_special) return value;
    if (exponent(numerator) - exponent(denominator) < Float<T>::least) return signed_by(minus, T(0));
    return exponent(quotient) == Float<T>::top ? signed_by(minus, infinity<T>()) : signed_by(minus, quotient);
}
inline f16 fixed_half(f16 quotient, f16 denominator, f16 numerator) {
    bool is_special;
    const f16 value = special(denominator, numerator, is_special);
    return is_special ? value : signed_by(negative(denominator) != negative(numerator), quotient);
}
"""
"""Functions that the bodies of `instructions` call; behind the types of `core`."""
