"""Python's builtin functions of values that are known when a kernel runs."""

from adstack.conformance.case import Run, case


@case(rules=["arith.minmax"])
def the_least_and_the_greatest_of_a_vector(qd):
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        v = qd.Vector([a, 4, -3])
        return max(v) * 100 + min(v)

    return Run(k, args=(7,), returns=697)


@case(rules=["arith.floordiv"], params={"a": [-7, 7], "b": [3, -3]})
def divmod_gives_quotient_and_remainder_as_python_does(qd, a, b):
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        quotient, remainder = divmod(a, b)
        return quotient * 100 + remainder

    quotient, remainder = divmod(a, b)
    return Run(k, args=(a, b), returns=quotient * 100 + remainder)


@case(rules=["control.static"], params={"a": [-1, 1, 9]})
def all_and_any_of_conditions_known_at_run_time(qd, a):
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        inside, outside = all([a > 0, a < 5]), any([a < 0, a > 5])
        return 10 * inside + outside

    return Run(k, args=(a,), returns=10 * (0 < a < 5) + (a < 0 or a > 5))
