"""Real functions: typed, by value, and calling themselves as deep as the values say."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.real-func"])
def a_real_function_has_its_own_copies_and_returns_early(qd):
    point = qd.types.struct(v=qd.math.vec2, n=qd.i32)

    @qd.real_func
    def moved(p: point, by: qd.f32) -> point:
        p.v += by
        for i in range(5):
            if i > p.v.x:
                p.n = i
                return p
        p.n = -1
        return p

    @qd.func
    def twice(p):
        return moved(moved(p, 1), 0.25)

    @qd.kernel
    def k(x: qd.f32) -> qd.types.vector(4, qd.f32):
        p = point(v=qd.math.vec2(x, 2.5), n=7)
        q = twice(p)
        return qd.Vector([q.v.x, q.v.y, q.n, p.v.x + p.n])

    return [Run(k, args=(0.5,), returns=[1.75, 3.75, 2, 7.5]), Run(k, args=(9.0,), returns=[10.25, 3.75, -1, 16])]


def tree(n, tag, log):
    """What `walk` of the next case does, in Python."""
    s = 0
    log.append(100 * n + tag)
    for j in range(n):
        if j == 2:
            continue
        s += tree(n - 1, j, log) * (j + 1)
        if s > 30:
            break
    w = n
    while w > 1 and tree(0, w, log) < 5:
        w -= 1
        s += w
    return s + 1


@case(rules=["control.recursion"], params={"n": [0, 3]})
def calls_in_loops_and_conditions_run_in_their_order(qd, n):
    log, count = qd.field(qd.i32, shape=20), qd.field(qd.i32, shape=())

    @qd.real_func
    def walk(n: qd.i32, tag: qd.i32) -> qd.i32:
        s = 0
        log[qd.atomic_add(count[None], 1)] = 100 * n + tag
        for j in range(n):
            if j == 2:
                continue
            s += walk(n - 1, j) * (j + 1)
            if s > 30:
                break
        w = n
        while w > 1 and walk(0, w) < 5:
            w -= 1
            s += w
        return s + 1

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return walk(n, 7)

    lines = []
    result = tree(n, 7, lines)
    return Run(k, args=(n,), returns=result, expect={log: lines + [0] * (20 - len(lines)), count: len(lines)})


@case(rules=["control.recursion"])
def functions_that_call_each_other_return_several_values(qd):
    out = qd.Vector.field(2, qd.f32, shape=5)

    @qd.real_func
    def even(n: qd.i32) -> (qd.i32, qd.f32):
        if n == 0:
            return 1, 0.5
        a, b = odd(n - 1)
        return a, b + 1

    @qd.real_func
    def odd(n: qd.i32) -> (qd.i32, qd.f32):
        if n == 0:
            return 0, 0.25
        a, b = even(n - 1)
        return a, b + 1

    @qd.kernel
    def k():
        for i in out:
            a, b = even(i)
            out[i] = qd.Vector([a, b])

    return Run(k, expect={out: [[1, 0.5], [0, 1.25], [1, 2.5], [0, 3.25], [1, 4.5]]})


@case(rules=["control.recursion"], options={"cpu_lanes": 4})
def halves_of_an_array_are_sorted_by_calls(qd):
    """No result; neighbouring iterations recurse to different depths."""
    x, rows = qd.field(qd.i32, shape=(3, 8)), 3

    @qd.real_func
    def sort(r: qd.i32, lo: qd.i32, hi: qd.i32):
        if hi - lo < 2:
            return
        at = lo
        for i in range(lo + 1, hi):
            if x[r, i] < x[r, lo]:
                at += 1
                v = x[r, at]
                x[r, at] = x[r, i]
                x[r, i] = v
        v = x[r, lo]
        x[r, lo] = x[r, at]
        x[r, at] = v
        sort(r, lo, at)
        sort(r, at + 1, hi)

    @qd.kernel
    def k():
        for r in range(rows):
            sort(r, 0, 8)

    values = [[5, 3, 8, 1, 9, 2, 7, 0], [0, 1, 2, 3, 4, 5, 6, 7], [4, 4, 1, 1, 3, 3, 2, 2]]
    return Run(k, given={x: values}, expect={x: [sorted(row) for row in values]})


@case(rules=["control.recursion"])
def a_recursion_deeper_than_it_may_be_is_an_error(qd):
    @qd.real_func(max_depth=8)
    def deep(n: qd.i32) -> qd.i32:
        return 0 if n == 0 else deep(n - 1) + 1

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return deep(n)

    return [Run(k, args=(7,), returns=7), Run(k, args=(8,), raises=Raises("AssertionError", "max_depth"))]
