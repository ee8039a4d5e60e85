"""Static loops and branches, constants of the program around, templates."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.static"])
def static_ranges_nest(qd):
    out = qd.field(qd.i32, shape=(3, 4))

    @qd.kernel
    def k():
        for i in qd.static(range(3)):
            for j in qd.static(range(i, 4)):
                out[i, j] += 10 * i + j

    return Run(k, expect={out: [[0, 1, 2, 3], [0, 11, 12, 13], [0, 0, 22, 23]]})


@case(rules=["control.static"])
def static_ndrange_and_grouped(qd):
    out, sums = qd.field(qd.i32, shape=(2, 3)), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i, j in qd.static(qd.ndrange(2, (1, 3))):
            out[i, j] = 10 * i + j
        for d in qd.static(qd.grouped(qd.ndrange((-1, 2), (-1, 2)))):
            sums[None] += d[0] * d[0] + d[1] * d[1]

    return Run(k, expect={out: [[0, 1, 2], [0, 11, 12]], sums: 12})


@case(rules=["control.static"])
def static_loops_over_lists_and_enumerate(qd):
    out = qd.field(qd.i32, shape=4)
    coefficients = [3, -1, 4]

    @qd.kernel
    def k(x: qd.i32):
        for power, c in qd.static(enumerate(coefficients)):
            out[power] = c * x**power
        for c in qd.static(coefficients):
            out[3] += c

    return Run(k, args=(10,), expect={out: [3, -10, 400, 6]})


@case(rules=["control.static"])
def a_static_condition_of_a_template(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(mode: qd.template(), x: qd.i32):
        if qd.static(mode == "double"):
            out[None] = 2 * x
        elif qd.static(mode == 3):
            out[None] = 3 * x
        else:
            out[None] = x

    return [
        Run(k, args=("double", 7), expect={out: 14}),
        Run(k, args=(3, 7), expect={out: 21}),
        Run(k, args=(None, 7), expect={out: 7}),
    ]


@case(rules=["control.static-break"])
def break_and_continue_under_static_conditions(qd):
    out = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in qd.static(range(8)):
            if qd.static(i % 2 == 1):
                continue
            if qd.static(i > 5):
                break
            out[i] = i + 1

    return Run(k, expect={out: [1, 0, 3, 0, 5, 0, 0, 0]})


@case(rules=["control.static-break"], params={"jump": ["break", "continue"]})
def a_jump_out_of_a_static_loop_under_a_runtime_condition_is_an_error(qd, jump):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def leave(n: qd.i32):
        for i in qd.static(range(4)):
            if i == n:
                break
            out[i] = 1

    @qd.kernel
    def skip(n: qd.i32):
        for i in qd.static(range(4)):
            if i == n:
                continue
            out[i] = 1

    return Run({"break": leave, "continue": skip}[jump], args=(2,), raises=Raises("CompilationError"))


@case(rules=["control.static-break"])
def a_runtime_loop_inside_a_static_one_may_be_left(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            for i in qd.static(range(3)):
                for j in range(10):
                    if j > i:
                        break
                    out[i] += 1

    return Run(k, expect={out: [1, 2, 3]})


@case(rules=["control.static"])
def a_static_expression_is_a_number(qd):
    n = 4

    @qd.kernel
    def k(x: qd.i32) -> qd.i32:
        return x * qd.static(n * n - 1)

    return Run(k, args=(3,), returns=45)


@case(rules=["control.static"])
def a_loop_whose_iterable_is_chosen_statically(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(unroll: qd.template(), n: qd.i32):
        for _ in range(1):
            for i in qd.static(range(3)) if qd.static(unroll) else range(n):
                out[i] += 1

    return [Run(k, args=(True, 1), expect={out: 1}), Run(k, args=(False, 2), expect={out: [2, 2, 1]})]


@case(rules=["control.template"], dtypes=["i32", "i64", "f32", "f64"])
def a_type_is_a_template_argument(qd, dtype):
    out = qd.field(qd.f64, shape=())

    @qd.kernel
    def k(kind: qd.template(), x: qd.f64):
        out[None] = qd.cast(x, kind)

    return Run(k, args=(dtype, 2.5), expect={out: 2.5 if str(dtype) in ("f32", "f64") else 2})


@case(rules=["control.template"])
def fields_of_every_rank_are_template_arguments(qd):
    line, plane = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=(2, 2))

    @qd.kernel
    def number(x: qd.template()):
        for index in qd.grouped(x):
            x[index] = index.sum() + 1

    return [
        Run(number, args=(line,), expect={line: [1, 2, 3]}),
        Run(number, args=(plane,), expect={plane: [[1, 2], [2, 3]]}),
    ]


@case(rules=["control.template"])
def constants_are_captured_when_the_kernel_is_compiled(qd):
    weights = (1, 10, 100)

    @qd.kernel
    def k(a: qd.i32, b: qd.i32, c: qd.i32) -> qd.i32:
        return weights[0] * a + weights[1] * b + weights[2] * c

    return Run(k, args=(3, 2, 1), returns=123)


@case(rules=["control.static"])
def a_list_comprehension_unrolls(qd):
    out = qd.Vector.field(4, qd.i32, shape=())

    @qd.kernel
    def k(x: qd.i32):
        for _ in range(1):
            v = qd.Vector([x * i for i in range(4)])
            out[None] = v + qd.Vector([i * i for i in range(4)])

    return Run(k, args=(10,), expect={out: [0, 11, 24, 39]})


@case(rules=["control.static"])
def a_list_comprehension_has_conditions_that_are_static(qd):
    out = qd.Vector.field(3, qd.i32, shape=())

    @qd.kernel
    def k(x: qd.i32):
        for _ in range(1):
            out[None] = qd.Vector([x + i for i in range(6) if i % 2 == 0])

    return Run(k, args=(1,), expect={out: [1, 3, 5]})


@case(rules=["control.static-assert"])
def what_is_asserted_while_compiling(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(n: qd.template()):
        qd.static_assert(x.shape[0] == 4, "not four")
        qd.static_assert(n < 5, f"{n} is too many")
        for i in qd.static(range(n)):
            x[i] = n

    return [
        Run(k, args=(3,), expect={x: [3, 3, 3, 0]}),
        Run(k, args=(7,), raises=Raises("AssertionError", "7 is too many"), expect={x: [3, 3, 3, 0]}),
    ]


@case(rules=["control.hint"])
def an_assumption_about_a_range_changes_nothing(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            x[qd.assume_in_range(i * 2, i, 0, 8)] = i

    return Run(k, args=(4,), expect={x: [0, 0, 1, 0, 2, 0, 3, 0]})


@case(rules=["parallel.graph-kernel"])
def a_kernel_as_a_graph_does_the_same(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel(graph=True)
    def k():
        for i in x:
            x[i] += i
        for i in x:
            x[i] *= 2

    return [Run(k, expect={x: [0, 2, 4, 6]}), Run(k, expect={x: [0, 6, 12, 18]})]


@case(rules=["control.func", "control.static"])
def a_func_that_calls_itself_while_compiling(qd):
    x = qd.field(qd.i32, shape=6)

    @qd.func
    def fib(n: qd.template(), scale):
        if qd.static(n < 2):
            return n * scale
        return fib(n - 1, scale) + fib(n - 2, scale)

    @qd.func
    def is_even(n: qd.template()):
        return 1 if qd.static(n == 0) else is_odd(n - 1)

    @qd.func
    def is_odd(n: qd.template()):
        return 0 if qd.static(n == 0) else is_even(n - 1)

    @qd.kernel
    def k(scale: qd.i32):
        for i in range(1):
            x[0], x[1], x[2] = fib(0, scale), fib(1, scale), fib(7, scale)
            x[3], x[4] = is_even(6), is_odd(6)

    return Run(k, args=(2,), expect={x: [0, 2, 26, 1, 0, 0]})
