"""`@func`: what is passed, what comes back, functions in functions, methods of objects."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.func"])
def three_levels_of_references(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.func
    def add_one(v: qd.template()):
        v += 1

    @qd.func
    def add_two(v: qd.template()):
        add_one(v)
        add_one(v)

    @qd.func
    def add_five(v: qd.template()):
        add_two(v)
        add_two(v)
        add_one(v)

    @qd.kernel
    def k():
        for i in out:
            x = 10 * i
            add_five(x)
            out[i] = x

    return Run(k, expect={out: [5, 15, 25]})


@case(rules=["control.func"])
def a_reference_to_an_element_of_a_field(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.func
    def order(a: qd.template(), b: qd.template()):
        if a > b:
            a, b = b, a

    @qd.kernel
    def k():
        for _ in range(1):
            order(x[0], x[1])
            order(x[2], x[3])
            order(x[1], x[2])

    return Run(k, given={x: [9, 4, 7, 2]}, expect={x: [4, 2, 9, 7]})


@case(rules=["control.func"])
def a_vector_is_passed_by_value_unless_it_is_a_template(qd):
    out = qd.Vector.field(2, qd.i32, shape=2)

    @qd.func
    def value(v):
        v[0] = 100
        return v

    @qd.func
    def reference(v: qd.template()):
        v[0] = 100

    @qd.kernel
    def k():
        for _ in range(1):
            a, b = qd.Vector([1, 2]), qd.Vector([3, 4])
            value(a)
            reference(b)
            out[0] = a
            out[1] = b

    return Run(k, expect={out: [[1, 2], [100, 4]]})


@case(rules=["control.func"])
def fields_are_passed_by_reference(qd):
    x, y = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)

    @qd.func
    def fill(target: qd.template(), i, value):
        target[i] = value

    @qd.kernel
    def k():
        for i in x:
            fill(x, i, i)
            fill(y, 2 - i, x[i] * 10)

    return Run(k, expect={x: [0, 1, 2], y: [20, 10, 0]})


@case(rules=["control.func"])
def functions_are_arguments_of_functions(qd):
    out = qd.field(qd.i32, shape=2)

    @qd.func
    def square(x):
        return x * x

    @qd.func
    def next_one(x):
        return x + 1

    @qd.func
    def twice(f: qd.template(), x):
        return f(f(x))

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = twice(square, 3)
            out[1] = twice(next_one, 3)

    return Run(k, expect={out: [81, 5]})


@case(rules=["control.func"])
def keywords_and_defaults(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.func
    def digits(a, b=2, c=3):
        return 100 * a + 10 * b + c

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = digits(1)
            out[1] = digits(1, 5)
            out[2] = digits(1, c=7)
            out[3] = digits(c=4, a=8, b=6)

    return Run(k, expect={out: [123, 153, 127, 864]})


@case(rules=["control.func"])
def loops_and_branches_inside_a_function(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.func
    def gcd(a, b):
        while b != 0:
            a, b = b, a % b
        return a

    @qd.kernel
    def k():
        for i in out:
            out[i] = gcd(360, (i + 1) * 28)

    return Run(k, expect={out: [4, 8, 12, 8, 20, 24]})


@case(rules=["control.func"])
def recursion_is_an_error(qd):
    @qd.func
    def down(n):
        return down(n - 1)

    @qd.kernel
    def k() -> qd.i32:
        return down(3)

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["control.func"])
def a_python_function_is_called_while_compiling(qd):
    out = qd.field(qd.i32, shape=3)
    apply = [lambda v: v + 1, lambda v: v * v, lambda v: -v]

    @qd.kernel
    def k(x: qd.i32):
        for j in qd.static(range(3)):
            out[j] = apply[j](x)

    return Run(k, args=(7,), expect={out: [8, 49, -7]})


@case(rules=["control.func"])
def functions_return_vectors_matrices_and_tuples(qd):
    v, m, s = qd.Vector.field(2, qd.i32, shape=()), qd.Matrix.field(2, 2, qd.i32, shape=()), qd.field(qd.i32, shape=2)

    @qd.func
    def vector(a):
        return qd.Vector([a, a + 1])

    @qd.func
    def matrix(a):
        return qd.Matrix([[a, 0], [0, a]])

    @qd.func
    def both(a):
        return a, vector(a).sum()

    @qd.kernel
    def k():
        for _ in range(1):
            v[None] = matrix(3) @ vector(1)
            m[None] = matrix(2) @ matrix(5)
            s[0], s[1] = both(10)

    return Run(k, expect={v: [3, 6], m: [[10, 0], [0, 10]], s: [10, 21]})


@case(rules=["control.func"])
def a_matrix_annotation_converts(qd):
    out = qd.Vector.field(2, qd.f32, shape=())

    @qd.func
    def whole(v: qd.types.vector(2, qd.i32)) -> qd.types.vector(2, qd.f32):
        return v

    @qd.kernel
    def k():
        for _ in range(1):
            out[None] = whole(qd.Vector([2.75, -1.5])) / 4

    return Run(k, expect={out: [0.5, -0.25]})


@case(rules=["control.func", "parallel.shared-local"])
def an_argument_that_is_changed_inside_is_no_shared_local(qd):
    out = qd.field(qd.i32, shape=8)

    @qd.func
    def sum_below(n):
        s = 0
        while n > 0:
            n -= 1
            s += n
        return s

    @qd.kernel
    def k():
        for i in out:
            out[i] = sum_below(i) + i

    return Run(k, expect={out: [n * (n - 1) // 2 + n for n in range(8)]})
