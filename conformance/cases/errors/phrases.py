"""The words that existing programs look for in messages."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["errors.phrases"])
def a_missing_argument(qd):
    @qd.kernel
    def k(x: qd.i32, y: qd.i32):
        print(x, y)

    return Run(lambda: k(1), raises=Raises("Exception", "Missing argument"))


@case(rules=["errors.phrases"])
def too_many_arguments(qd):
    @qd.kernel
    def k(x: qd.i32):
        print(x)

    return Run(lambda: k(1, 2), raises=Raises("Exception", "Too many arguments"))


@case(rules=["errors.phrases"])
def an_unexpected_argument(qd):
    @qd.kernel
    def k(x: qd.i32):
        print(x)

    return Run(lambda: k(1, y=2), raises=Raises("Exception", "Unexpected argument"))


@case(rules=["errors.phrases"])
def a_parameter_that_is_assigned(qd):
    @qd.kernel
    def k(x: qd.i32):
        x = 2
        print(x)

    return Run(k, args=(1,), raises=Raises("CompilationError", "is immutable in the kernel"))


@case(rules=["errors.phrases"])
def a_gradient_of_an_integer_field(qd):
    def build():
        qd.field(qd.i32, shape=2, needs_grad=True)

    return Run(build, raises=Raises("Exception", "i32 is not supported for field"))
