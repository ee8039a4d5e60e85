"""Branches around loops and inside them: the side that was taken is the side that is differentiated."""

from adstack.conformance.case import Gradient, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import exp, log, sin, sqrt


@case(rules=["grad.loop", "grad.choice"], params={"form": ["inline", "func"]}, **BOUNDED)
def an_if_around_a_loop(qd, dtype, form):
    """A runtime condition around a loop with carried values; other elements pass by."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def some(s, n):
        if s > 0.25:
            for j in range(n):
                s = s * s * 0.5 + 0.125 * j
        return s

    @qd.kernel
    def inline(n: qd.i32):
        for i in x:
            s = x[i]
            if s > 0.25:
                for j in range(n):
                    s = s * s * 0.5 + 0.125 * j
            y[i] = s * s

    @qd.kernel
    def func(n: qd.i32):
        for i in x:
            s = some(x[i], n)
            y[i] = s * s

    def plain(x):
        out = []
        for s in x:
            if s > 0.25:
                for j in range(5):
                    s = s * s / 2 + 0.125 * j
            out.append(s * s)
        return out

    return agrees({"inline": inline, "func": func}[form], plain, {x: [0.5, -0.75, 1.5, 0.125]}, [y], args=(5,))


@case(rules=["grad.loop", "grad.choice"], **BOUNDED)
def a_loop_in_both_branches(qd, dtype):
    """Each side has a loop of its own, with its own trip count."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if i % 2 == 0:
                for _ in range(3):
                    s = qd.sin(s) + s
            else:
                for j in range(i + 2):
                    s = s * s * 0.25 + j
            y[i] = s

    def plain(x):
        out = []
        for i, s in enumerate(x):
            for j in range(3 if i % 2 == 0 else i + 2):
                s = sin(s) + s if i % 2 == 0 else s * s / 4 + j
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 0.125]}, [y])


@case(rules=["grad.loop", "grad.choice"], params={"n": [0, 1, 2, 17]}, **BOUNDED)
def a_condition_that_the_loop_carries(qd, dtype, n):
    """The branch of an iteration depends on what the iterations before it did."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            up = s < 0.5
            for _ in range(n):
                if up:
                    s = s * 1.25 + 0.125
                else:
                    s = s * s * 0.5
                up = s < 0.5
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for _ in range(n):
                s = s * 1.25 + 0.125 if s < 0.5 else s * s / 2
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.35, -0.75, 1.5, 0.125]}, [y], args=(n,))


@case(rules=["grad.choice"], params={"form": ["and", "or", "not"]}, **BOUNDED)
def short_circuits_in_a_loop(qd, dtype, form):
    """Conditions with and, or and not over carried values."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def with_and():
        for i in x:
            s = x[i]
            for j in range(6):
                if s < 1.0 and j % 2 == 0:
                    s = s * 1.5 + 0.25
                else:
                    s = s * s * 0.25
            y[i] = s

    @qd.kernel
    def with_or():
        for i in x:
            s = x[i]
            for j in range(6):
                if s < 0.25 or j % 3 == 0:
                    s = s * 1.5 + 0.25
                else:
                    s = s * s * 0.25
            y[i] = s

    @qd.kernel
    def with_not():
        for i in x:
            s = x[i]
            for j in range(6):
                if not (s > 1.0 or j == 3):
                    s = s * 1.5 + 0.25
                else:
                    s = s * s * 0.25
            y[i] = s

    holds = {
        "and": lambda s, j: s < 1 and j % 2 == 0,
        "or": lambda s, j: s < 0.25 or j % 3 == 0,
        "not": lambda s, j: not (s > 1 or j == 3),
    }[form]

    def plain(x):
        out = []
        for s in x:
            for j in range(6):
                s = s * 1.5 + 0.25 if holds(s, j) else s * s / 4
            out.append(s)
        return out

    kernel = {"and": with_and, "or": with_or, "not": with_not}[form]
    return agrees(kernel, plain, {x: [0.3, -0.85, 1.6, 0.125]}, [y])


@case(rules=["grad.choice"], **BOUNDED)
def three_ways_and_loops_in_one_of_them(qd, dtype):
    """elif: values that both sides define, and a loop in the middle one."""
    x, y = real(qd, dtype, 6), real(qd, dtype, 6)

    @qd.kernel
    def k():
        for i in x:
            s, t = x[i], 2.0 * x[i]
            if s < -0.5:
                t = s * s
            elif s < 0.5:
                for j in range(3):
                    t = t * s + j
                    if j == 1:
                        s = s * t
            else:
                s, t = t * s, s
            y[i] = s * t

    def plain(x):
        out = []
        for s in x:
            t = 2 * s
            if s < -0.5:
                t = s * s
            elif s < 0.5:
                for j in range(3):
                    t = t * s + j
                    if j == 1:
                        s = s * t
            else:
                s, t = t * s, s
            out.append(s * t)
        return out

    return agrees(k, plain, {x: [-0.75, -0.25, 0.125, 0.375, 0.75, 1.5]}, [y])


@case(rules=["grad.choice", "grad.connected"], params={"form": ["if", "ternary", "select", "max"]}, **EXACT)
def nothing_leaks_out_of_the_side_not_taken(qd, dtype, form):
    """sqrt has an infinite derivative at 0: where it is not chosen, the gradient is what the other side says."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def with_if():
        for i in x:
            s = 4.0 * x[i]
            if x[i] > 0.0:
                s = qd.sqrt(x[i])
            y[i] = s

    @qd.kernel
    def with_ternary():
        for i in x:
            y[i] = qd.sqrt(x[i]) if x[i] > 0.0 else 4.0 * x[i]

    @qd.kernel
    def with_select():
        for i in x:
            y[i] = qd.select(x[i] > 0.0, qd.sqrt(x[i]), 4.0 * x[i])

    @qd.kernel
    def with_max():
        for i in x:
            y[i] = qd.max(qd.sqrt(x[i]), qd.select(x[i] > 0.0, x[i] * 0.0, 1.0 + 4.0 * x[i]) - 1.0)

    kernel = {"if": with_if, "ternary": with_ternary, "select": with_select, "max": with_max}[form]
    if form == "max":  # at 0 the right operand wins the tie; below, sqrt is NaN, and the number wins
        values, slopes = [0.0, 0.5, -1.0], [4.0, 1.0, 4.0]
    else:
        values, slopes = [0.0, 0.5, -1.0], [4.0, 1.0, 4.0]
    gradient = Gradient(
        seed={y: [3.0, 0.5, -2.0]},
        expect={x: [3 * slopes[0], 0.5 * slopes[1], -2 * slopes[2]], y: 0.0},
        forward_seed={x: [1.5, -2.0, 0.25]},
        forward_expect={y: [1.5 * slopes[0], -2 * slopes[1], 0.25 * slopes[2]]},
    )
    return Run(kernel, given={x: [0.0, 0.25, -0.25]}, expect={y: values}, gradient=gradient)


@case(rules=["grad.choice"], **BOUNDED)
def undefined_functions_behind_a_guard_in_a_loop(qd, dtype):
    """log and a quotient, each guarded by the condition that makes it defined."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s, total = x[i], x[i] * 0.0
            for _ in range(4):
                if s > 0.5:
                    total += qd.log(s) / (s - 0.25)
                if s != 0.0:
                    total += qd.exp(-1.0 / (s * s))
                s = s - 0.5
            y[i] = total

    def plain(x):
        out = []
        for s in x:
            total = 0 * s
            for _ in range(4):
                if s > 0.5:
                    total = total + log(s) / (s - 0.25)
                if s != 0:
                    total = total + exp(-1 / (s * s))
                s = s - 0.5
            out.append(total)
        return out

    return agrees(k, plain, {x: [1.0, 0.75, 1.7, -0.4]}, [y])


@case(rules=["grad.choice"], **BOUNDED)
def a_branch_on_what_another_branch_made(qd, dtype):
    """The second condition depends on values that the first one chose."""
    x, w, y = real(qd, dtype, 5), real(qd, dtype, ()), real(qd, dtype, 5)

    @qd.kernel
    def k():
        for i in x:
            s = x[i] * w[None]
            if x[i] > 0.5:
                s = qd.sqrt(s)
            if s > 0.7:
                s = s * s * x[i]
            y[i] = s + w[None]

    def plain(x, w):
        out = []
        for a in x:
            s = a * w
            if a > 0.5:
                s = sqrt(s)
            if s > 0.7:
                s = s * s * a
            out.append(s + w)
        return out

    return agrees(k, plain, {x: [0.3, 0.6, 0.7, 1.5, -0.5], w: 0.75}, [y])


@case(rules=["grad.choice"], **BOUNDED)
def a_chained_comparison_in_a_loop(qd, dtype):
    """A carried value inside or outside an interval."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(6):
                if -0.5 < s < 0.75:
                    s = s * 1.5 + 0.25
                else:
                    s = s * s * 0.25
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for _ in range(6):
                s = s * 1.5 + 0.25 if -0.5 < s < 0.75 else s * s / 4
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.3, -0.85, 1.6, 0.125]}, [y])
