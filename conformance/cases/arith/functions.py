"""Elementary functions stay within the budget of their row of the table of operations."""

from adstack.conformance.case import Run, case


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def sqrt_is_correctly_rounded(qd, dtype):
    x, out = qd.field(dtype, shape=3), qd.field(dtype, shape=3)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.sqrt(x[i])

    roots = ["1.41421356237309504880168872420969807856967", "1.73205080756887729352744634150587236694281", 0.375]
    return Run(k, given={x: [2.0, 3.0, 0.140625]}, expect={out: roots})


@case(rules=["arith.transcendental"], dtypes=["f32", "f64"])
def sin_at_one_half_and_at_minus_zero(qd, dtype):
    x, out = qd.field(dtype, shape=2), qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.sin(x[i])

    values = ["0.479425538604203000273287935215571388081803", -0.0]
    return Run(k, given={x: [0.5, -0.0]}, expect={out: values}, budget="sin")
