"""`return` under run-time control flow: what a function gives, and what is not run after it."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.return"])
def a_func_returns_from_branches(qd):
    out = qd.field(qd.i32, shape=8)

    @qd.func
    def size(a):
        if a < 0:
            if a < -2:
                return -100
            return -1
        elif a == 0:
            return 0
        a *= 2
        if a > 4:
            return 100
        return a

    @qd.kernel
    def k():
        for i in out:
            out[i] = size(i - 4)

    return Run(k, expect={out: [-100, -100, -1, -1, 0, 2, 4, 100]})


@case(rules=["control.return", "control.break"])
def a_return_ends_all_loops_around_it(qd):
    out, steps = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)

    @qd.func
    def find(i):
        for a, b in qd.ndrange(2, 3):
            if b == 2:
                continue
            for c in range(3):
                steps[i] += 1
                if c > i:
                    break
                if 4 * a + 2 * b + c == i:
                    return 100 * a + 10 * b + c
        return -1

    @qd.kernel
    def k():
        for i in out:
            out[i] = find(i)

    return Run(k, expect={out: [0, 1, 2, 11, 12, 101], steps: [1, 2, 3, 5, 6, 8]})


@case(rules=["control.return"], params={"n": [0, 1, 27]})
def a_while_loop_that_only_a_return_ends(qd, n):
    @qd.func
    def collatz(n):
        steps = 0
        while True:
            if n <= 1:
                return steps
            steps += 1
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return collatz(n)

    return Run(k, args=(n,), returns={0: 0, 1: 0, 27: 111}[n])


@case(rules=["control.return"], params={"n": [0, 2, 5]})
def a_kernel_returns_early(qd, n):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        if n == 0:
            return -1
        qd.loop_config(serialize=True)
        for i in range(5):
            if i == n:
                return 10 * i
            out[i] = 7
        return 99

    return Run(k, args=(n,), returns={0: -1, 2: 20, 5: 99}[n], expect={out: [7] * n + [0] * (5 - n)})


@case(rules=["control.return"])
def a_return_of_nothing_skips_the_rest(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.func
    def fill(i):
        if i % 2 == 0:
            return
        out[i] += 5
        if i == 3:
            return
        out[i] += 10

    @qd.kernel
    def k():
        for i in range(4):
            fill(i)

    return Run(k, expect={out: [0, 15, 0, 5]})


@case(rules=["control.return", "types.promotion"])
def returned_values_meet_in_their_common_type(qd):
    out = qd.field(qd.f64, shape=3)

    @qd.func
    def pick(i, x):
        if i == 0:
            return 1
        if i == 1:
            return x
        return qd.i64(2**40)

    @qd.kernel
    def k(x: qd.f64):
        for i in range(3):
            out[i] = pick(i, x) / 4

    return Run(k, args=(0.1,), expect={out: [0.25, 0.025, 2.0**38]})


@case(rules=["control.return"])
def an_annotation_converts_every_return(qd):
    out = qd.field(qd.f32, shape=2)

    @qd.func
    def whole(x) -> qd.i32:
        if x > 2.0:
            return x
        return 1.75

    @qd.kernel
    def k():
        for i in range(2):
            out[i] = whole(3.5 * i) / 2

    return Run(k, expect={out: [0.5, 1.5]})


@case(rules=["control.return"])
def vectors_structs_and_tuples_are_returned_early(qd):
    out = qd.field(qd.f32, shape=(3, 5))
    pair = qd.types.struct(v=qd.types.vector(2, qd.f32), w=qd.f32)

    @qd.func
    def pick(i):
        if i == 0:
            return qd.Vector([1, 2]), pair(v=qd.Vector([3.0, 4.0]), w=5.0)
        for j in range(3):
            if j == i:
                return qd.Vector([0.5, j]), pair(v=qd.Vector([0.0, 1.5]), w=j)
        return qd.Vector([7, 8]), pair(v=qd.Vector([9.0, 10.0]), w=11.0)

    @qd.kernel
    def k():
        for i in range(3):
            a, s = pick(2 * i)
            out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = a[0], a[1], s.v[0], s.v[1], s.w

    return Run(k, expect={out: [[1, 2, 3, 4, 5], [0.5, 2, 0, 1.5, 2], [7, 8, 9, 10, 11]]})


@case(rules=["control.return", "control.static"])
def a_return_under_a_runtime_condition_in_a_static_loop(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.func
    def place(i):
        seen = 0
        for c in qd.static(range(5)):
            if i == c:
                return 10 * c + seen
            if qd.static(c == 1):
                continue
            if qd.static(c == 3):
                break
            seen += 1
        return -seen

    @qd.kernel
    def k():
        for i in out:
            out[i] = place(i)

    return Run(k, expect={out: [0, 11, 21, 32, -2, -2]})


@case(rules=["control.return"])
def a_return_in_a_func_that_a_condition_calls(qd):
    @qd.func
    def small(i):
        if i < 3:
            return True
        return False

    @qd.kernel
    def k() -> qd.i32:
        i = 0
        while small(i) and small(i - 1):
            i += 1
        return i

    return Run(k, returns=3)


@case(rules=["control.return"])
def a_return_inside_a_parallel_loop_is_an_error(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        for i in range(n):
            if i == 3:
                return 1
        return 0

    return Run(k, args=(1,), raises=Raises("CompilationError", "Return inside non-static if/for is not supported"))


@case(rules=["control.return"], params={"form": ["no end", "nothing", "shapes"]})
def a_function_that_returns_a_value_on_some_ways_only_is_an_error(qd, form):
    @qd.func
    def no_end(a):
        if a > 0:
            return 1

    @qd.func
    def nothing(a):
        if a > 0:
            return
        return 1

    @qd.func
    def shapes(a):
        if a > 0:
            return 1
        return qd.Vector([1, 2])

    f = {"no end": no_end, "nothing": nothing, "shapes": shapes}[form]

    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return f(a)

    return Run(k, args=(1,), raises=Raises("CompilationError"))
