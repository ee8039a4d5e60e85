"""Checks of debug mode are errors that name what happened."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.assert"], options={"debug": True})
def a_failing_assert_raises_with_its_message(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            assert i < 3, "index too large"

    return Run(k, raises=Raises("AssertionError", "index too large"))


@case(rules=["control.print"])
def print_separates_with_a_space_and_ends_the_line(qd):
    @qd.kernel
    def k(n: qd.i32):
        print("n", n, -3)

    return Run(k, args=(7,), prints="n 7 -3\n")
