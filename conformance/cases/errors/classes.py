"""Everything raised is adstack's, and also the built-in exception that a Python user expects."""

from adstack.conformance.case import Raises, Run, case


def mistakes(qd):
    x, a = qd.field(qd.i32, shape=(2, 3)), qd.field(qd.f32, shape=())

    @qd.kernel
    def operands():
        a[None] = qd.Vector([1.0, 2.0]) + qd.Vector([1.0, 2.0, 3.0])

    @qd.kernel
    def name():
        a[None] = no_such_name  # noqa: F821

    @qd.kernel
    def syntax():
        for i in range(3):
            x[0, 0] = i
        else:  # noqa: PLW0120
            x[0, 0] = 1

    @qd.kernel
    def indices():
        x[0] = 1

    @qd.kernel
    def condition():
        if a[None]:
            x[0, 0] = 1

    return {"operands": operands, "name": name, "syntax": syntax, "indices": indices, "condition": condition}


BUILTIN = {
    "operands": "TypeError",
    "name": "NameError",
    "syntax": "SyntaxError",
    "indices": "IndexError",
    "condition": "TypeError",
}


@case(rules=["errors.hierarchy"], params={"mistake": list(BUILTIN)})
def a_compile_error_is_the_builtin_that_fits(qd, mistake):
    return Run(mistakes(qd)[mistake], raises=Raises(BUILTIN[mistake]))


@case(rules=["errors.hierarchy"], params={"mistake": list(BUILTIN)})
def every_mistake_in_a_kernel_is_a_compilation_error(qd, mistake):
    return Run(mistakes(qd)[mistake], raises=Raises("CompilationError"))


@case(rules=["errors.hierarchy", "control.if"])
def a_field_is_no_condition(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        if x:
            x[0] = 1

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["errors.hierarchy", "control.assert"], options={"debug": True})
def a_failed_assert_is_an_assertion_error(qd):
    @qd.kernel
    def k(n: qd.i32):
        assert n > 0, "n must be positive"

    return Run(k, args=(0,), raises=Raises("AssertionError", "n must be positive"))


@case(
    rules=["errors.hierarchy", "memory.bounds"],
    options={"debug": True},
    params={"name": ["AssertionError", "IndexError"]},
)
def an_access_out_of_bounds_is_two_kinds_of_error(qd, name):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        x[n] = 1

    return Run(k, args=(3,), raises=Raises(name))


@case(rules=["errors.hierarchy"])
def an_array_of_the_wrong_type_is_a_value_error(qd):
    a = qd.ndarray(qd.f64, shape=3)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        x[0] = 1.0

    return Run(k, args=(a,), raises=Raises("ValueError"))


@case(rules=["errors.hierarchy"], params={"wrong": ["text", "none", "float"]})
def a_number_of_the_wrong_type_is_a_type_error(qd, wrong):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n

    return Run(k, args=({"text": "7", "none": None, "float": 1.5}[wrong],), raises=Raises("RuntimeTypeError"))


@case(rules=["errors.hierarchy"])
def a_float_that_an_integer_field_can_not_hold_is_a_value_error(qd):
    x = qd.field(qd.i32, shape=3)

    def write():
        x[1] = 2.5e9

    return Run(write, given={x: 7}, raises=Raises("ValueError"), expect={x: 7})


@case(rules=["errors.hierarchy", "control.func"])
def recursion_names_the_cycle(qd):
    @qd.func
    def ping(n):
        return pong(n)

    @qd.func
    def pong(n):
        return ping(n)

    @qd.kernel
    def k() -> qd.i32:
        return ping(1)

    return Run(k, raises=Raises("CompilationError", "ping -> pong -> ping"))
