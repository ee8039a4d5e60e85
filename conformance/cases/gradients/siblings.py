"""Consecutive loops in one block, and loops over fields with loops and branches inside."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import cos, exp, sin


@case(rules=["grad.loop"], params={"n": [0, 1, 2, 17]}, **BOUNDED)
def two_loops_one_after_the_other(qd, dtype, n):
    """What the first leaves is where the second starts; a value between them is used inside the second."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = qd.sin(s) + 0.125 * j
            between = s * s
            for _ in range(n + 1):
                s = s * between * 0.5 + 0.25
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for j in range(n):
                s = sin(s) + 0.125 * j
            between = s * s
            for _ in range(n + 1):
                s = s * between / 2 + 0.25
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y], args=(n,))


@case(rules=["grad.loop", "grad.integer"], **BOUNDED)
def a_loop_whose_bound_an_earlier_loop_made(qd, dtype):
    """The count, the truncation of a float and the bound of a nested loop all come from before."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s, n = x[i], 0
            for j in range(4):
                s = s * 1.25 + 0.125
                if s > 1.0:
                    n += 1
            m = qd.cast(s, qd.i32)
            for a in range(n):
                for b in range(m + a):
                    s = s * 0.5 + qd.cos(s) * 0.25 * b
            y[i] = s * s

    def plain(x):
        out = []
        for s in x:
            n = 0
            for _ in range(4):
                s = s * 1.25 + 0.125
                n += s > 1
            m = int(s)
            for a in range(n):
                for b in range(m + a):
                    s = s / 2 + cos(s) * (0.25 * b)
            out.append(s * s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.3, 0.9]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def siblings_inside_a_loop_and_a_branch(qd, dtype):
    """Pairs of loops nested in a loop, and in both sides of a branch."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(3):
                t = s
                for _ in range(j):
                    t = t * t * 0.5
                if t > 0.1:
                    for _ in range(2):
                        s = s + 0.25 * t
                    for _ in range(j + 1):
                        s = s * 0.75
                else:
                    for _ in range(2):
                        s = qd.exp(s * 0.25) * t + s
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for j in range(3):
                t = s
                for _ in range(j):
                    t = t * t / 2
                if t > 0.1:
                    for _ in range(2):
                        s = s + t / 4
                    for _ in range(j + 1):
                        s = s * 0.75
                else:
                    for _ in range(2):
                        s = exp(s / 4) * t + s
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.2]}, [y])


@case(rules=["grad.loop", "grad.load"], **BOUNDED)
def parallel_loops_that_hand_values_on_through_memory(qd, dtype):
    """Three tasks: the second reads what the first wrote at other indices, the third sums up."""
    x, t, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            t[i] = qd.sin(x[i]) * x[(i + 1) % 4]
        for i in t:
            y[None] += t[i] * t[3 - i] * x[i]

    def plain(x, y):
        t = [sin(x[i]) * x[(i + 1) % 4] for i in range(4)]
        for i in range(4):
            y = y + t[i] * t[3 - i] * x[i]
        return y, t

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.2], y: 0.5}, [y, t])


@case(rules=["grad.loop", "grad.local"], **BOUNDED)
def values_of_the_kernel_between_parallel_loops(qd, dtype):
    """A local of the kernel sums over one parallel loop, and scales the next."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        total = x[0] * 0.0
        for i in x:
            total += x[i] * x[i]
        factor = qd.exp(-total)
        for i in x:
            y[i] = x[i] * factor + total

    def plain(x):
        total = sum((a * a for a in x), 0)
        return [a * exp(-total) + total for a in x]

    return agrees(k, plain, {x: [0.5, -0.75, 0.25, 0.2]}, [y])


@case(rules=["grad.local", "grad.loop"], **BOUNDED)
def a_local_of_the_kernel_that_a_later_loop_adds_to(qd, dtype):
    """The first loop reads it, the second adds to it, the third reads it again: each at its own time."""
    x, y, z = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        total = x[0] * 2.0
        for i in x:
            y[i] = qd.sin(total) * x[i]
        for i in x:
            total += x[i] * x[i]
        for i in x:
            z[i] = qd.cos(total) * x[i]

    def plain(x):
        total = 2 * x[0]
        y = [sin(total) * a for a in x]
        total = total + sum((a * a for a in x), 0)
        return y, [cos(total) * a for a in x]

    return agrees(k, plain, {x: [0.5, -0.75, 0.25, 0.2]}, [y, z])


@case(rules=["grad.loop"], params={"form": ["field", "grouped", "ndrange"]}, **BOUNDED)
def a_loop_over_a_field_of_two_axes(qd, dtype, form):
    """An if and a loop inside, and a second loop over the field that reads what the first stored."""
    x, t, y = real(qd, dtype, (2, 3)), real(qd, dtype, (2, 3)), real(qd, dtype, (2, 3))

    @qd.func
    def some(s, n):
        if s > 0.0:
            for _ in range(n):
                s = s * s * 0.5 + 0.125
        return s

    @qd.kernel
    def field():
        for i, j in x:
            t[i, j] = some(x[i, j], j)
        for i, j in y:
            y[i, j] = t[i, j] * t[1 - i, j]

    @qd.kernel
    def grouped():
        for at in qd.grouped(x):
            t[at] = some(x[at], at[1])
        for at in qd.grouped(y):
            y[at] = t[at] * t[1 - at[0], at[1]]

    @qd.kernel
    def ndrange():
        for i, j in qd.ndrange(2, 3):
            t[i, j] = some(x[i, j], j)
        for i, j in qd.ndrange(2, (0, 3)):
            y[i, j] = t[i, j] * t[1 - i, j]

    def plain(x):
        t = [list(row) for row in x]
        for row in t:
            for j in range(3):
                for _ in range(j if row[j] > 0 else 0):
                    row[j] = row[j] * row[j] / 2 + 0.125
        return [[t[i][j] * t[1 - i][j] for j in range(3)] for i in range(2)], t

    kernel = {"field": field, "grouped": grouped, "ndrange": ndrange}[form]
    return agrees(kernel, plain, {x: [[0.5, 0.75, 1.25], [0.2, -0.5, 1.5]]}, [y, t])
