"""The common type of two operands: float beats integer, wider beats narrower, unsigned beats signed of its width."""

from adstack.conformance.case import Run, case


@case(rules=["types.promotion"])
def narrow_integers_stay_narrow(qd):
    a, out = qd.field(qd.i8, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] + a[None]

    return Run(k, given={a: 100}, expect={out: -56})


@case(rules=["types.promotion"])
def the_wider_type_wins(qd):
    a, b, out = qd.field(qd.i8, shape=()), qd.field(qd.i64, shape=()), qd.field(qd.i64, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] * b[None]

    return Run(k, given={a: -3, b: 2**40}, expect={out: -3 * 2**40})


@case(rules=["types.promotion"])
def unsigned_wins_at_equal_width(qd):
    a, b = qd.field(qd.i32, shape=()), qd.field(qd.u32, shape=())
    less, out = qd.field(qd.i32, shape=()), qd.field(qd.i64, shape=())

    @qd.kernel
    def k():
        less[None] = a[None] < b[None]
        out[None] = a[None] + b[None]

    return Run(k, given={a: -1, b: 0}, expect={less: 0, out: 2**32 - 1})


@case(rules=["types.promotion"])
def a_float_beats_a_wider_integer(qd):
    """2^24 + 1 is no f32: it is rounded before it is added."""
    a, b, out = qd.field(qd.i64, shape=()), qd.field(qd.f32, shape=()), qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] + b[None]

    return Run(k, given={a: 2**24 + 1, b: 0}, expect={out: 2**24})


@case(rules=["types.promotion"])
def truth_values_add_like_integers(qd):
    a, out = qd.field(qd.u1, shape=3), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = a[0] + a[1] + a[2]

    return Run(k, given={a: [1, 0, 1]}, expect={out: 2})
