"""The common type of two operands, for every pair of types, read off from how the result wraps or rounds."""

from fractions import Fraction

from adstack.conformance.case import Run, case

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "f32", "f64"]
PAIRS = [f"{a}-{b}" for a in FLOATS for b in ["u1", *INTS, *FLOATS]] + [f"{a}-{b}" for a in INTS for b in FLOATS]


def common(a, b):
    """A float beats an integer, the wider wins, unsigned wins at equal width, u1 counts as i32."""
    a, b = ("i32" if t == "u1" else t for t in (a, b))
    floats = [t for t in (a, b) if t in FLOATS]
    return max(floats or [a, b], key=lambda t: (int(t[1:]), t[0] == "u"))


def wrapped(value, name):
    bits = int(name[1:])
    low = 0 if name[0] == "u" else -(2 ** (bits - 1))
    return (value - low) % 2**bits + low


@case(rules=["types.promotion"], params={"a": ["u1", *INTS], "b": ["u1", *INTS]})
def integers_meet(qd, a, b):
    """A sum that every type holds is squared until it wraps in all of them; a difference shows the sign."""
    x, y, out = qd.field(getattr(qd, a), shape=()), qd.field(getattr(qd, b), shape=()), qd.field(qd.u64, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            v = x[None] + y[None] + 10
            for j in range(6):
                v = v * v + 1
            out[0] = v
            out[1] = (x[None] - y[None] - 1) // 2
            out[2] = (x[None] - y[None] - 1) < 0

    to = common(a, b)
    value = 12
    for _ in range(6):
        value = wrapped(value * value + 1, to)
    less = wrapped(-1, to)
    return Run(k, given={x: 1, y: 1}, expect={out: [value % 2**64, less // 2 % 2**64, int(less < 0)]})


@case(rules=["types.promotion"], params={"pair": PAIRS})
def floats_meet_everything(qd, pair):
    """A third shows the precision of the common type."""
    a, b = pair.split("-")
    x, y, out = qd.field(getattr(qd, a), shape=()), qd.field(getattr(qd, b), shape=()), qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            v = x[None] * y[None]
            v = v / 3
            out[None] = v

    return Run(k, given={x: 1, y: 1}, expect={out: _nearest(Fraction(1, 3), common(a, b))})


@case(rules=["types.literals"], params={"name": FLOATS})
def literals_go_to_the_type_beside_them(qd, name):
    x, out = qd.field(getattr(qd, name), shape=()), qd.field(qd.f64, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = x[None] * 0.1
            out[1] = (x[None] + x[None]) * (1 / 3)

    third, tenth = _nearest(Fraction(1, 3), name), _nearest(Fraction(1, 10), name)
    return Run(k, given={x: 1}, expect={out: [tenth, 2 * third]})


def _nearest(value, name):
    """The number of the type nearest to a value between its least normal number and 1."""
    digits = {"f16": 11, "f32": 24, "f64": 53}[name]
    exponent = 0
    while Fraction(2) ** exponent > value:
        exponent -= 1
    step = Fraction(2) ** (exponent - digits + 1)
    return round(value / step) * step


@case(
    rules=["types.promotion", "arith.minmax"],
    params={"pair": ["i8-i64", "u8-i8", "i32-u32", "i64-f32", "f32-f64", "u1-u8"]},
)
def select_minimum_and_maximum_have_the_common_type(qd, pair):
    a, b = pair.split("-")
    x, y, out = qd.field(getattr(qd, a), shape=()), qd.field(getattr(qd, b), shape=()), qd.field(qd.f64, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.max(x[None], y[None]) / 2
            out[1] = qd.min(x[None], y[None]) * 0.5
            out[2] = qd.select(x[None] > y[None], x[None], y[None]) + 0.25

    return Run(k, given={x: 1, y: 100}, expect={out: [50, 0.5, 100.25]})
