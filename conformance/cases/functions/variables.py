"""Parameters of funcs that stand for variables of the caller: `ref(type)`."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.ref"])
def a_func_assigns_to_variables_of_its_caller(qd):
    pair = qd.types.struct(a=qd.f32, b=qd.i32)
    x, out = qd.field(qd.i32, shape=2), qd.field(qd.f32, shape=6)

    @qd.func
    def count(n: qd.ref(qd.i32), by):
        n += by
        return n * 10

    @qd.func
    def turn(v: qd.ref(qd.types.vector(2, qd.f32)), p: qd.ref(pair)):
        v = [v.y, v.x]
        p.a = v.x

    @qd.kernel
    def k():
        for _ in range(1):
            n = 1
            out[0] = count(n, 2)
            out[1] = n
            count(x[1], 7)
            v = qd.Vector([1.5, 2.5])
            p = pair(4, 5)
            turn(v, p)
            out[2], out[3], out[4], out[5] = v.x, v.y, p.a, p.b

    return Run(k, expect={out: [30, 3, 2.5, 1.5, 2.5, 5], x: [0, 7]})


@case(rules=["control.ref"])
def gradients_of_what_a_func_assigned(qd):
    x, y = qd.field(qd.f32, shape=3, needs_grad=True), qd.field(qd.f32, shape=3, needs_grad=True)

    @qd.func
    def square(a: qd.ref(qd.f32)):
        a = a * a

    @qd.kernel
    def k():
        for i in x:
            a = x[i]
            for _ in range(2):
                square(a)
            y[i] = a

    def gradients():
        for i in range(3):
            x[i], y.grad[i] = i + 1, 1
        k()
        k.grad()

    return Run(gradients, expect={y: [1, 16, 81], x.grad: [4, 32, 108]})


@case(rules=["control.ref"], params={"given": ["expression", "other type", "kernel"]})
def what_is_no_variable_of_the_type_is_refused(qd, given):
    out = qd.field(qd.i32, shape=())

    @qd.func
    def count(n: qd.ref(qd.i32)):
        n += 1

    @qd.kernel
    def expression():
        n = 1
        count(n + 1)
        out[None] = n

    @qd.kernel
    def other_type():
        n = 1.0
        count(n)
        out[None] = 1

    def kernel():
        @qd.kernel
        def k(n: qd.ref(qd.i32)):
            out[None] = n

        k(3)

    return Run(
        {"expression": expression, "other type": other_type, "kernel": kernel}[given], raises=Raises("CompilationError")
    )
