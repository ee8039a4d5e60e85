"""Loops in loops in branches: what runs, how often, and what jumps leave."""

from adstack.conformance.case import Run, case


@case(rules=["control.while", "control.break"])
def break_and_continue_in_a_while(qd):
    out = qd.field(qd.i32, shape=12)

    @qd.kernel
    def k():
        for i in out:
            n, total = 0, 0
            while True:
                n += 1
                if n > i:
                    break
                if n % 3 == 0:
                    continue
                total += n
            out[i] = total

    return Run(k, expect={out: [sum(n for n in range(1, i + 1) if n % 3) for i in range(12)]})


@case(rules=["control.break"])
def a_break_leaves_the_innermost_loop_only(qd):
    out = qd.field(qd.i32, shape=(4, 5))

    @qd.kernel
    def k():
        for i in range(4):
            for j in range(5):
                for l in range(10):
                    if l == i * j:
                        break
                    out[i, j] += 1
                if j == 3:
                    break

    rows = [[min(i * j, 10) if j <= 3 else 0 for j in range(5)] for i in range(4)]
    return Run(k, expect={out: rows})


@case(rules=["control.break"])
def continue_in_a_parallel_loop_ends_the_iteration(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in out:
            if i % 2 == 0:
                continue
            out[i] = i

    return Run(k, expect={out: [0, 1, 0, 3, 0, 5]})


@case(rules=["control.break"])
def a_serialised_loop_may_be_left(qd):
    out = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k(n: qd.i32):
        qd.loop_config(serialize=True)
        for i in range(10):
            if i == n:
                break
            out[i] = i + 1

    return Run(k, args=(3,), expect={out: [1, 2, 3, 0, 0, 0, 0, 0, 0, 0]})


@case(rules=["control.while"])
def a_condition_is_evaluated_before_every_iteration(qd):
    asked, rounds = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())

    @qd.func
    def more(n):
        asked[None] += 1
        return n < 3

    @qd.kernel
    def k():
        for _ in range(1):
            n = 0
            while more(n):
                n += 1
                rounds[None] += 1

    return Run(k, expect={asked: 4, rounds: 3})


@case(rules=["control.while"])
def every_iteration_has_its_own_number_of_rounds(qd):
    steps = qd.field(qd.i32, shape=20)

    @qd.kernel
    def k():
        for i in steps:
            n = i + 1
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                steps[i] += 1

    def collatz(n):
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    return Run(k, expect={steps: [collatz(i + 1) for i in range(20)]})


@case(rules=["control.while", "control.break"])
def loops_inside_a_while_inside_a_loop(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in out:
            n, total = i, 0
            while n > 0:
                for j in range(10):
                    if j == n:
                        break
                    if j % 2 == 1:
                        continue
                    total += j
                n -= 1
            out[i] = total

    return Run(k, expect={out: [sum(j for n in range(1, i + 1) for j in range(0, n, 2)) for i in range(5)]})


@case(rules=["control.if"])
def a_ladder_takes_exactly_one_branch(qd):
    out, taken = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in out:
            if i < 2:
                out[i] = 10
                taken[0] += 1
            elif i < 3:
                out[i] = 20
                taken[1] += 1
            elif i < 7:
                if i % 2 == 1:
                    out[i] = 30
                else:
                    out[i] = 40
                taken[2] += 1
            else:
                taken[3] += 1

    return Run(k, expect={out: [10, 10, 20, 30, 40, 30, 40, 0], taken: [2, 1, 4, 1]})


@case(rules=["control.if"], dtypes=["u1", "i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def an_integer_condition_holds_unless_it_is_zero(qd, dtype):
    x, out = qd.field(dtype, shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            if x[i]:
                out[i] = 1
            else:
                out[i] = -1

    return Run(k, given={x: [0, 1, 0]}, expect={out: [-1, 1, -1]})


@case(rules=["control.ternary"])
def conditional_expressions_nest(qd):
    out = qd.field(qd.i32, shape=7)

    @qd.kernel
    def k():
        for i in out:
            out[i] = (1 if i < 2 else 2) if i < 4 else 3 if i < 6 else 4

    return Run(k, expect={out: [1, 1, 2, 2, 3, 3, 4]})


@case(rules=["control.ternary"])
def both_sides_have_their_common_type(qd):
    out = qd.field(qd.f32, shape=4)

    @qd.kernel
    def k():
        for i in out:
            out[i] = (i if i % 2 == 0 else i + 0.5) / 2

    return Run(k, expect={out: [0, 0.75, 1, 1.75]})


@case(rules=["control.chained"])
def a_long_chain_of_comparisons(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in out:
            if 0 < i <= 4 != 3 > 2:
                out[i] = 1

    return Run(k, expect={out: [0, 1, 1, 1, 1, 0]})


@case(rules=["control.chained"])
def the_middle_of_a_chain_is_evaluated_once(qd):
    asked, out = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

    @qd.func
    def middle(i):
        asked[None] += 1
        return i

    @qd.kernel
    def k():
        for i in range(3):
            if 0 < middle(i) < 2:
                out[i] = 1

    return Run(k, expect={asked: 3, out: [0, 1, 0]})


@case(rules=["control.chained"])
def a_chain_of_values_that_are_computed(qd):
    """Each is compared with its neighbours, in front of it and behind it."""
    x, asked, out = qd.field(qd.f32, shape=4), qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=4)

    @qd.func
    def twice(v):
        asked[None] += 1
        return 2.0 * v

    @qd.kernel
    def k():
        for i in range(4):
            if 0.0 < x[i] < twice(x[i]) < twice(x[i] + 1.0) != x[i] * 4.0 < 16.0:
                out[i] = 1

    return Run(k, given={x: [-1.0, 0.5, 1.0, 5.0]}, expect={out: [0, 1, 0, 0]})


@case(rules=["control.short-circuit"], params={"first": [0, 1]}, options={"short_circuit_operators": True})
def a_condition_that_does_not_matter_is_not_asked(qd, first):
    asked, out = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

    @qd.func
    def ask(value):
        asked[None] += 1
        return value

    @qd.kernel
    def k(a: qd.i32):
        for _ in range(1):
            out[0] = a != 0 and ask(1) != 0
            out[1] = a != 0 or ask(0) != 0
            out[2] = not (a != 0 and ask(1) != 0)

    return Run(k, args=(first,), expect={asked: 2 if first else 1, out: [first, first, 1 - first]})


@case(rules=["control.range"], dtypes=["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def bounds_of_every_integer_type(qd, dtype):
    lo, hi, out = qd.field(dtype, shape=()), qd.field(dtype, shape=()), qd.field(qd.i32, shape=12)

    @qd.kernel
    def k():
        for _ in range(1):
            for i in range(lo[None], hi[None]):
                out[i] += 1

    return Run(k, given={lo: 3, hi: 9}, expect={out: [0] * 3 + [1] * 6 + [0] * 3})


@case(rules=["control.ndrange"])
def ndrange_with_bounds_known_when_it_runs(qd):
    out = qd.field(qd.i32, shape=(5, 5))

    @qd.kernel
    def k(a: qd.i32, b: qd.i32):
        for i, j in qd.ndrange((a, b), b):
            out[i, j] = 1

    return Run(k, args=(1, 3), expect={out: [[int(1 <= i < 3 and j < 3) for j in range(5)] for i in range(5)]})


@case(rules=["control.ndrange"])
def an_empty_axis_makes_an_empty_box(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32):
        for i, j, l in qd.ndrange(3, n, (5, 2)):
            out[None] += 1
        for i, j in qd.ndrange((0, n), (n, 3)):
            out[None] += 1

    return Run(k, args=(0,), expect={out: 0})


@case(rules=["control.ndrange"])
def boxes_inside_loops_and_negative_bounds(qd):
    total = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in total:
            for dx, dy, dz in qd.ndrange((-1, 2), (-1, 2), (-i, i + 1)):
                total[i] += dx * dx + dy * dy * dz * dz

    def box(i):
        return sum(x * x + y * y * z * z for x in (-1, 0, 1) for y in (-1, 0, 1) for z in range(-i, i + 1))

    return Run(k, expect={total: [box(i) for i in range(4)]})


@case(rules=["control.ndrange", "control.field-loop"])
def grouped_boxes(qd):
    x, out = qd.field(qd.i32, shape=(3, 4)), qd.field(qd.i32, shape=(3, 4))

    @qd.kernel
    def k():
        for index in qd.grouped(x):
            for d in qd.grouped(qd.ndrange((-1, 2), (-1, 2))):
                near = index + d
                if 0 <= near[0] < 3 and 0 <= near[1] < 4:
                    out[index] += x[near]

    given = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]

    def around(i, j):
        return sum(sum(row[max(j - 1, 0) : j + 2]) for row in given[max(i - 1, 0) : i + 2])

    return Run(k, given={x: given}, expect={out: [[around(i, j) for j in range(4)] for i in range(3)]})


@case(rules=["control.field-loop"])
def a_loop_over_a_field_inside_a_loop(qd):
    x, sums = qd.field(qd.i32, shape=(2, 3)), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for n in sums:
            for i, j in x:
                sums[n] += n * x[i, j]

    return Run(k, given={x: [[1, 2, 3], [4, 5, 6]]}, expect={sums: [0, 21, 42, 63]})
