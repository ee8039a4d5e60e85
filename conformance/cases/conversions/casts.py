"""`cast` from each of the twelve types to each other, on values at the ends of ranges and between two neighbours."""

import math
from fractions import Fraction

from adstack.conformance.case import Run, case

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "f32", "f64"]
HALVES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.75, 127.5, -128.5, 255.75, 256.0, 2.0**-24, 65504.0]
SINGLES = [
    *HALVES,
    65520.0,
    2049.0,
    2051.0,
    32768.5,
    2.0**31,
    -(2.0**31),
    2.0**32,
    2.0**63,
    -(2.0**63),
    2.0**64,
    2.0**-149,
]
DOUBLES = [
    *SINGLES,
    2.0**31 - 0.5,
    -(2.0**31) - 1,
    1 + 2.0**-24,
    1 + 3 * 2.0**-24,
    2.0**1000,
    -(2.0**1000),
    2.0**-1074,
    0.1,
]
SPECIAL = [math.inf, -math.inf, math.nan]
VALUES = {"f16": HALVES + SPECIAL, "f32": SINGLES + SPECIAL, "f64": DOUBLES + SPECIAL, "u1": [0, 1]}


def ends(name):
    bits = int(name[1:])
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def values(name):
    """Numbers that the type holds exactly."""
    if name in VALUES:
        return VALUES[name]
    low, high = ends(name)
    near = [low, low + 1, 0, 1, 2, 3, 100, high - 1, high, -1, 2**24 + 1, 2**53 + 1, 2**31, 2**32 - 1]
    return [v for v in near if low <= v <= high]


def converted(value, to):
    """What the specification says of `cast(value, to)`, before the one rounding of a float."""
    if to in FLOATS:
        return value
    if to == "u1":
        return int(value != 0)
    low, high = ends(to)
    if not isinstance(value, float):
        return (value - low) % (high - low + 1) + low
    if math.isnan(value):
        return 0
    return min(max(int(Fraction(value)), low), high) if math.isfinite(value) else (high if value > 0 else low)


PAIRS = [f"{a}-{b}" for a in ["u1", *INTS, *FLOATS] for b in ["u1", *INTS, *FLOATS] if a != b]


@case(
    rules=["types.int-to-int", "types.float-to-int", "types.float-to-float", "types.to-bool", "types.scalars"],
    params={"pair": PAIRS},
)
def each_type_becomes_each_other(qd, pair):
    a, b = pair.split("-")
    source, to = getattr(qd, a), getattr(qd, b)
    given = values(a)
    x, y = qd.field(source, shape=len(given)), qd.field(to, shape=len(given))

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.cast(x[i], to)

    return Run(k, given={x: given}, expect={y: [converted(v, b) for v in given]})


@case(
    rules=["types.local"], params={"pair": ["f64-i8", "f64-u32", "i64-f32", "i64-u16", "u64-i32", "f64-f16", "i32-u1"]}
)
def a_store_converts_as_a_cast_does(qd, pair):
    a, b = pair.split("-")
    given = values(a)
    x, y, z = qd.field(getattr(qd, a), shape=len(given)), *(qd.field(getattr(qd, b), shape=len(given)) for _ in "yz")

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i]
            v = qd.cast(0, getattr(qd, b))
            v = x[i]
            z[i] = v

    expected = [converted(v, b) for v in given]
    return Run(k, given={x: given}, expect={y: expected, z: expected})


@case(
    rules=["types.bitcast"],
    params={"pair": ["i8-u8", "u16-i16", "u16-f16", "u32-f32", "i32-u32", "u64-f64", "i64-u64"]},
)
def bits_survive_a_round_trip(qd, pair):
    a, b = pair.split("-")
    source, to = getattr(qd, a), getattr(qd, b)
    low, high = ends(a)
    given = [low, high // 3, high // 2 + 1, 1, 2, 5, 0]
    x, y = qd.field(source, shape=len(given)), qd.field(source, shape=len(given))

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.bit_cast(qd.bit_cast(x[i], to), source)

    return Run(k, given={x: given}, expect={y: given})


@case(rules=["types.bitcast"])
def bits_of_floats_are_those_of_their_formats(qd):
    h, s, d = qd.field(qd.f16, shape=3), qd.field(qd.f32, shape=3), qd.field(qd.f64, shape=3)
    a, b, c = qd.field(qd.u16, shape=3), qd.field(qd.u32, shape=3), qd.field(qd.u64, shape=3)

    @qd.kernel
    def k():
        for i in h:
            a[i] = qd.bit_cast(h[i], qd.u16)
            b[i] = qd.bit_cast(s[i], qd.u32)
            c[i] = qd.bit_cast(d[i], qd.u64)

    given = [1.0, -0.0, -2.5]
    return Run(
        k,
        given={h: given, s: given, d: given},
        expect={
            a: [0x3C00, 0x8000, 0xC100],
            b: [0x3F800000, 0x80000000, 0xC0200000],
            c: [0x3FF0000000000000, 0x8000000000000000, 0xC004000000000000],
        },
    )
