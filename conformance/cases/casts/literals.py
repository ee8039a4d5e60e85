"""What type a number written in a kernel has, and a local."""

from fractions import Fraction

from adstack.conformance.case import Raises, Run, case


@case(rules=["types.literals"])
def a_literal_takes_the_type_of_the_other_operand(qd):
    """0.1 beside an f64 is the f64 nearest to 0.1, though default_fp is f32."""
    x, out = qd.field(qd.f64, shape=()), qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        out[None] = 0.1 * x[None]

    return Run(k, given={x: 1}, expect={out: 0.1})


@case(rules=["types.literals"])
def a_literal_alone_takes_the_default_type(qd):
    out = qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        v = 0.1
        out[None] = v

    return Run(k, expect={out: Fraction(13421773, 2**27)})


@case(rules=["types.literals"], options={"default_fp": "f64", "default_ip": "i64"})
def default_types_are_options(qd):
    x, n = qd.field(qd.f64, shape=()), qd.field(qd.i64, shape=())

    @qd.kernel
    def k():
        v = 0.1
        x[None] = v
        m = 2147483647
        m += 1
        n[None] = m

    return Run(k, expect={x: 0.1, n: 2**31})


@case(rules=["types.literals"])
def a_literal_out_of_range_is_an_error(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        v = 3000000000
        out[None] = v

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["types.typed-literals"])
def a_type_converts_a_literal(qd):
    out, small = qd.field(qd.i64, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = qd.i64(3000000000) * 2
        small[None] = qd.i8(100) + qd.i8(100)

    return Run(k, expect={out: 6000000000, small: -56})


@case(rules=["types.local"])
def a_local_keeps_the_type_of_its_first_assignment(qd):
    out = qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        v = 1
        v = 2.75
        out[0] = v
        w = 1.0
        w = 3
        out[1] = w / 2

    return Run(k, expect={out: [2, 1.5]})


@case(rules=["types.local"])
def a_returned_value_has_the_annotated_type(qd):
    @qd.kernel
    def k(x: qd.f32) -> qd.i32:
        return x

    return Run(k, args=(-2.75,), returns=-2)
