"""Statements of the kernel around its loops: bounds, branches, loops of loops, order of evaluation."""

from adstack.conformance.case import Run, case


@case(rules=["parallel.tasks", "control.range"])
def a_local_that_bounds_two_loops_may_change_between(qd):
    x = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k(n: qd.i32):
        m = n * 2
        for i in range(m):
            x[i] = m
        m = 3
        for i in range(m):
            x[i] += 1

    return Run(k, args=(3,), expect={x: [7, 7, 7, 6, 6, 6, 0, 0, 0, 0]})


@case(rules=["parallel.serial-inside", "parallel.tasks"])
def loops_in_both_branches_of_the_kernel(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(up: qd.i32):
        if up > 0:
            for i in range(4):
                x[i] = i
        else:
            for i in range(4):
                x[i] = -i
        for i in x:
            x[i] *= 2

    return [Run(k, args=(1,), expect={x: [0, 2, 4, 6]}), Run(k, args=(0,), expect={x: [0, -2, -4, -6]})]


@case(rules=["parallel.shared-local"])
def what_every_iteration_assigns_alike_is_kept(qd):
    @qd.kernel
    def k() -> qd.i32:
        s = 0
        for _ in range(10):
            s = 7
        return s

    return Run(k, returns=7)


@case(rules=["control.func", "types.local"])
def expressions_are_evaluated_from_left_to_right(qd):
    count = qd.field(qd.i32, shape=())

    @qd.func
    def following():
        count[None] += 1
        return count[None]

    @qd.kernel
    def k() -> qd.i32:
        a, b = following(), following()
        return 100 * a + 10 * b + following()

    return Run(k, returns=123, expect={count: 3})


@case(rules=["control.func"])
def an_argument_is_evaluated_once(qd):
    count = qd.field(qd.i32, shape=())

    @qd.func
    def following():
        count[None] += 1
        return count[None]

    @qd.func
    def cube(v):
        return v * v * v

    @qd.kernel
    def k() -> qd.i32:
        return cube(following() + 1)

    return Run(k, returns=8, expect={count: 1})


@case(rules=["control.range", "types.promotion"], dtypes=["i64", "u32", "u64"])
def an_index_has_the_type_of_its_bounds(qd, dtype):
    """Its square wraps in 32 bits and not in 64."""
    out = qd.field(qd.i64, shape=2)

    @qd.kernel
    def k(start: dtype):
        for _ in range(1):
            at = 0
            for i in range(start, start + 2):
                out[at] = qd.cast(i * i, qd.i64)
                at += 1

    start = 2**20
    squares = [(start + j) ** 2 % (2**32 if dtype == qd.u32 else 2**64) for j in range(2)]
    return Run(k, args=(start,), expect={out: squares})
