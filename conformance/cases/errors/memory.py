"""A mistake that is found before anything runs leaves all memory as it was."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["errors.untouched"])
def a_compile_error_changes_nothing(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            x[i] = 7
        x[0] = no_such_name  # noqa: F821

    return Run(k, given={x: [1, 2, 3]}, expect={x: [1, 2, 3]}, raises=Raises("CompilationError", "no_such_name"))


@case(rules=["errors.untouched"])
def a_refused_argument_changes_nothing(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            x[i] = n

    return Run(k, args=("seven",), given={x: [1, 2, 3]}, expect={x: [1, 2, 3]}, raises=Raises("RuntimeTypeError"))


@case(rules=["errors.untouched"])
def a_kernel_still_runs_after_an_argument_was_refused(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            x[i] = n

    return [Run(k, args=(None,), raises=Raises("RuntimeTypeError")), Run(k, args=(7,), expect={x: 7})]
