"""Functions, compile-time evaluation and templates."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.func"])
def arguments_are_passed_by_value(qd):
    out = qd.field(qd.i32, shape=2)

    @qd.func
    def change(v):
        v += 10
        return v

    @qd.kernel
    def k():
        for _ in range(1):
            x = 1
            out[0] = change(x)
            out[1] = x

    return Run(k, expect={out: [11, 1]})


@case(rules=["control.func"])
def template_arguments_are_passed_by_reference(qd):
    out = qd.field(qd.i32, shape=())

    @qd.func
    def change(v: qd.template()):
        v += 10

    @qd.kernel
    def k():
        for _ in range(1):
            x = 1
            change(x)
            out[None] = x

    return Run(k, expect={out: 11})


@case(rules=["control.func"])
def functions_call_functions_and_return_several_values(qd):
    out = qd.field(qd.i32, shape=2)

    @qd.func
    def double(x):
        return x * 2

    @qd.func
    def pair(x):
        return double(x), double(x) + 1

    @qd.kernel
    def k():
        for _ in range(1):
            a, b = pair(20)
            out[0] = a
            out[1] = b

    return Run(k, expect={out: [40, 41]})


@case(rules=["control.func"])
def annotated_values_are_converted(qd):
    out = qd.field(qd.f32, shape=())

    @qd.func
    def whole(x: qd.i32) -> qd.f32:
        return x

    @qd.kernel
    def k():
        out[None] = whole(2.75) / 4

    return Run(k, expect={out: 0.5})


@case(rules=["control.static"])
def a_static_branch_that_is_not_taken_is_not_looked_at(qd):
    out = qd.field(qd.i32, shape=())
    fast = False

    @qd.kernel
    def k():
        if qd.static(fast):
            out[None] = no_such_name  # noqa: F821
        else:
            out[None] = 7

    return Run(k, expect={out: 7})


@case(rules=["control.static"])
def a_static_loop_is_unrolled_over_python_objects(qd):
    x, y = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            for weight, source in qd.static(zip((1, 10), (x, y))):
                out[i] += weight * source[i]

    return Run(k, given={x: [1, 2, 3], y: [4, 5, 6]}, expect={out: [41, 52, 63]})


@case(rules=["control.template"])
def a_template_argument_chooses_a_field(qd):
    x, y = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def fill(target: qd.template(), value: qd.i32):
        for i in target:
            target[i] = value + i

    return [
        Run(fill, args=(x, 1), expect={x: [1, 2, 3], y: [0, 0, 0]}),
        Run(fill, args=(y, 5), expect={x: [1, 2, 3], y: [5, 6, 7]}),
    ]


@case(rules=["control.return"], params={"name": ["i32", "i64", "u32", "f32", "f64"]})
def a_returned_value_is_converted_to_the_annotated_type(qd, name):
    dtype = getattr(qd, name)

    @qd.kernel
    def k(x: qd.f64) -> dtype:
        return qd.cast(x, dtype)

    return Run(k, args=(3.75,), returns=3.75 if name[0] == "f" else 3)


@case(rules=["control.return"])
def several_values_are_returned_as_a_tuple(qd):
    @qd.kernel
    def k(x: qd.i32) -> (qd.i32, qd.f32):
        return x + 1, x / 4

    return Run(k, args=(6,), returns=(7, 1.5))


@case(rules=["control.static"])
def a_runtime_value_is_not_static(qd):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        if qd.static(x[None] > 0):
            x[None] = 1

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["control.static-break"])
def a_static_loop_breaks_under_static_conditions(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in qd.static(range(6)):
            if qd.static(i == 1):
                continue
            if qd.static(i == 4):
                break
            out[i] = i + 1

    return Run(k, expect={out: [1, 0, 3, 4, 0, 0]})


@case(rules=["control.static-break"])
def break_under_a_runtime_condition_in_a_static_loop_is_an_error(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in qd.static(range(4)):
            if out[i] == 0:
                break

    return Run(k, raises=Raises("CompilationError"))
