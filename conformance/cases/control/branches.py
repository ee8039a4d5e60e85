"""Branches, while, break and continue."""

from adstack.conformance.case import Gradient, Raises, Run, case


@case(rules=["control.while"])
def while_runs_until_its_condition_fails(qd):
    """Steps of the Collatz sequence down to 1."""
    start, steps = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in start:
            n = start[i]
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps[i] += 1

    return Run(k, given={start: [1, 2, 3, 6, 7, 27]}, expect={steps: [0, 1, 7, 8, 16, 111]})


@case(rules=["control.break"])
def break_leaves_the_innermost_loop(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in range(5):
            for j in range(10):
                if j == i:
                    break
                for m in range(10):
                    if m > 1:
                        break
                    out[i] += 1

    return Run(k, expect={out: [0, 2, 4, 6, 8]})


@case(rules=["control.break"])
def continue_skips_the_rest_of_an_iteration(qd):
    odd, steps = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(4):
            if i == 2:
                continue
            n = 0
            while n < 9:
                n += 1
                if n % 2 == 0:
                    continue
                odd[i] += n
            steps[i] = n

    return Run(k, expect={odd: [25, 25, 0, 25], steps: [9, 9, 0, 9]})


@case(rules=["control.break"])
def while_true_ends_with_break(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            n = 1
            while True:
                n *= 2
                if n > 10 * (i + 1):
                    break
            out[i] = n

    return Run(k, expect={out: [16, 32, 32]})


@case(rules=["control.break"])
def break_out_of_a_parallel_loop_is_an_error(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in range(5):
            if i == 3:
                break
            out[i] = 1

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["control.if"])
def exactly_one_branch_runs(qd):
    x, out = qd.field(qd.i32, shape=5), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            if x[i] < 0:
                out[i] += 1
            elif x[i] == 0:
                out[i] += 10
            elif x[i] > 100:
                out[i] += 100
            else:
                out[i] += 1000

    return Run(k, given={x: [-5, 0, 101, 100, 1]}, expect={out: [1, 10, 100, 1000, 1000]})


@case(rules=["control.if"])
def a_float_condition_is_an_error(qd):
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        if x[None]:
            x[None] = 1.0

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["control.short-circuit"])
def the_second_operand_is_evaluated_only_if_it_matters(qd):
    x, both, either, asked = (qd.field(qd.i32, shape=4) for _ in range(4))

    @qd.func
    def small(i):
        asked[i] += 1
        return x[i] < 3

    @qd.kernel
    def k():
        for i in x:
            if x[i] > 1 and small(i):
                both[i] = 1
            if x[i] > 1 or small(i):
                either[i] = 1

    expect = {both: [0, 0, 1, 0], either: [1, 1, 1, 1], asked: [1, 1, 1, 1]}
    return Run(k, given={x: [0, 1, 2, 3]}, expect=expect)


@case(rules=["control.short-circuit"])
def the_operand_that_decides_is_the_value(qd):
    x = qd.field(qd.i32, shape=3)
    either, both, first, mixed = (qd.field(qd.i32, shape=3) for _ in range(4))

    @qd.kernel
    def k():
        for i in x:
            either[i] = (x[i] > 100) or 5
            both[i] = x[i] > 2 and x[i]
            first[i] = x[i] and 7
            mixed[i] = (x[i] > 2 and x[i] < 100 and 20) or x[i] - 1

    expect = {either: [5, 5, 1], both: [0, 3, 200], first: [0, 7, 7], mixed: [-1, 20, 199]}
    return Run(k, given={x: [0, 3, 200]}, expect=expect)


@case(rules=["control.short-circuit"])
def conditions_ask_for_the_truth_of_operands(qd):
    x, out = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            if x[i] > 1 and x[i] - 2:
                out[i] += 1
            if x[i] < 1 or x[i] - 1:
                out[i] += 10
            if not (x[i] and x[i] > 2):
                out[i] += 100

    return Run(k, given={x: [0, 1, 2, 3]}, expect={out: [110, 100, 110, 11]})


@case(rules=["control.short-circuit", "grad.choice"], modes=("forward", "reverse", "forward-mode"))
def the_operand_that_decides_has_the_gradient(qd):
    x, y = (qd.field(qd.f32, shape=3, needs_grad=True, needs_dual=True) for _ in range(2))
    n = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = (n[i] > 0 and x[i] * x[i]) + (n[i] > 1 or qd.exp(x[i] - 2.0) * 3.0)

    gradient = Gradient(seed={y: 1.0}, expect={x: [3, 7, 4]}, forward_seed={x: 1.0}, forward_expect={y: [3, 7, 4]})
    return Run(k, given={x: 2, n: [0, 1, 2]}, expect={y: [3, 7, 5]}, gradient=gradient)


@case(rules=["control.chained"])
def chained_comparisons_hold_together(qd):
    x, inside, falling = qd.field(qd.i32, shape=5), qd.field(qd.i32, shape=5), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            if 1 <= x[i] < 4:
                inside[i] = 1
            if 3 > x[i] >= 1 != 0:
                falling[i] = 1

    given = {x: [0, 1, 3, 4, 2]}
    return Run(k, given=given, expect={inside: [0, 1, 1, 0, 1], falling: [0, 1, 0, 0, 1]})


@case(rules=["control.ternary"])
def a_conditional_expression_evaluates_one_side(qd):
    x, out, asked = (qd.field(qd.i32, shape=3) for _ in range(3))

    @qd.func
    def reciprocal(i):
        asked[i] += 1
        return 100 // x[i]

    @qd.kernel
    def k():
        for i in x:
            out[i] = reciprocal(i) if x[i] != 0 else -1

    return Run(k, given={x: [0, 5, -3]}, expect={out: [-1, 20, -34], asked: [0, 1, 1]})


@case(rules=["control.scope"])
def what_a_block_defines_is_unknown_after_it(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32):
        if n > 0:
            inner = 1
        out[None] = inner

    return Run(k, args=(1,), raises=Raises("CompilationError", "inner"))


@case(rules=["control.while", "arith.wrap"], params={"dtype": ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]})
def a_counter_that_starts_near_the_end_of_its_type_wraps(qd, dtype):
    """The first trip is known when compiling, and so would be the number of trips if numbers did not wrap."""
    to = getattr(qd, dtype)
    bits, signed = int(dtype[1:]), dtype.startswith("i")
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    first, least = most - 5, -most if signed else 5
    trips, last = qd.field(qd.i32, shape=()), qd.field(to, shape=())

    @qd.kernel
    def k():
        n = to(first)
        while n > least:
            n += 1
            trips[None] += 1
        last[None] = n

    return Run(k, expect={trips: 6, last: -most - 1 if signed else 0})


@case(rules=["control.if", "grad.loop"], dtypes=["f32", "f64"], modes=["forward", "reverse"])
def a_selection_by_the_condition_of_the_branch_that_it_is_in(qd, dtype):
    """What is chosen is known inside of the branch, also where it is simplified there first."""
    x, y = (qd.field(dtype, shape=4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            low = i < n
            if low:
                chosen = qd.select(low, x[i] * 1.0, x[0])
                y[i] = 2.0 * chosen * chosen
            else:
                y[i] = 3.0 * qd.select(low, x[0], 1.0 * x[i] * 1.0)

    gradient = Gradient(seed={y: 1.0}, expect={x: [2.0, 4.0, 3.0, 3.0]})
    return Run(k, args=(2,), given={x: [0.5, 1.0, 2.0, 4.0]}, expect={y: [0.5, 2.0, 6.0, 12.0]}, gradient=gradient)
