"""Loops in loops: bounds that are indices of loops around them, or computed from them."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import sin


@case(rules=["grad.loop"], params={"n": [0, 1, 2, 5]}, **BOUNDED)
def the_bound_is_an_outer_index(qd, dtype, n):
    """range(j) inside range(n)."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                for _ in range(j):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    def plain(x):
        for j in range(n):
            for _ in range(j):
                x = [s * s / 2 + s / 4 for s in x]
        return x

    return agrees(k, plain, {x: [0.5, -0.75, 1.5]}, [y], args=(n,))


@case(rules=["grad.loop"], params={"n": [1, 3]}, **BOUNDED)
def bounds_through_arithmetic_three_deep(qd, dtype, n):
    """range(j + 1) and range(j, 2 * m + 1), with statements before, between and after."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = s + 0.125 * j
                for m in range(j + 1):
                    s = 0.5 * s * s
                    for p in range(j, 2 * m + 1):
                        s = qd.sin(s) * (0.5 + 0.25 * p)
                    s = s + 0.5
                s = s * 1.25
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for j in range(n):
                s = s + 0.125 * j
                for m in range(j + 1):
                    s = s * s / 2
                    for p in range(j, 2 * m + 1):
                        s = sin(s) * (0.5 + 0.25 * p)
                    s = s + 0.5
                s = s * 1.25
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75]}, [y], args=(n,))


@case(rules=["grad.loop"], params={"form": ["range", "field", "func"]}, **BOUNDED)
def the_bound_is_the_parallel_index(qd, dtype, form):
    """Iteration i does i steps, and steps of steps."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def triangle(s, i):
        for j in range(i):
            for _ in range(j, i):
                s = s * s * 0.5 - 0.25
        return s

    @qd.kernel
    def over_range():
        for i in range(4):
            s = x[i]
            for j in range(i):
                for _ in range(j, i):
                    s = s * s * 0.5 - 0.25
            y[i] = s

    @qd.kernel
    def over_field():
        for i in x:
            s = x[i]
            for j in range(i):
                for _ in range(j, i):
                    s = s * s * 0.5 - 0.25
            y[i] = s

    @qd.kernel
    def with_func():
        for i in x:
            y[i] = triangle(x[i], i)

    def plain(x):
        out = []
        for i, s in enumerate(x):
            for j in range(i):
                for _ in range(j, i):
                    s = s * s / 2 - 0.25
            out.append(s)
        return out

    kernel = {"range": over_range, "field": over_field, "func": with_func}[form]
    return agrees(kernel, plain, {x: [0.5, -0.75, 1.5, 1.25]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def a_triangular_sum_of_products(qd, dtype):
    """Each pair once: sum over i of sum over j < i of x_i x_j (x_i - x_j)."""
    x, y = real(qd, dtype, 5), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            for j in range(i):
                y[None] += x[i] * x[j] * (x[i] - x[j])

    def plain(x, y):
        for i in range(5):
            for j in range(i):
                y = y + x[i] * x[j] * (x[i] - x[j])
        return y

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 0.1, 2.0], y: 0.25}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def a_static_loop_around_a_dynamic_one_and_inside(qd, dtype):
    """Unrolled and rolled loops in each other."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for a in qd.static(range(2)):
                for j in range(n):
                    for b in qd.static(range(2)):
                        s = s * (0.5 + 0.25 * a) + qd.sin(s + b) * 0.25 * j
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for a in range(2):
                for j in range(3):
                    for b in range(2):
                        s = s * (0.5 + 0.25 * a) + sin(s + b) * (0.25 * j)
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5]}, [y], args=(3,))


@case(rules=["grad.loop"], params={"n": [0, 1, 4]}, **BOUNDED)
def the_bound_changes_inside_the_outer_loop(qd, dtype, n):
    """The trip count of the inner loop is carried by the outer one."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s, m = x[i], 1
            for j in range(n):
                for _ in range(m):
                    s = 0.5 * s * s + 0.125
                m = (m * 2 + j) % 5
            y[i] = s * m

    def plain(x):
        out = []
        for s in x:
            m = 1
            for j in range(n):
                for _ in range(m):
                    s = s * s / 2 + 0.125
                m = (m * 2 + j) % 5
            out.append(s * m)
        return out

    return agrees(k, plain, {x: [0.5, -0.75]}, [y], args=(n,))


@case(rules=["grad.loop"], **BOUNDED)
def an_accumulator_that_starts_anew_in_every_outer_iteration(qd, dtype):
    """A matrix times a vector, three times, through a nonlinearity."""
    x, w, y = real(qd, dtype, 3), real(qd, dtype, (3, 3)), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in range(3):
            total = x[i] * 0.0
            for a in range(3):
                row = x[i] * 0.0
                for b in range(3):
                    row += w[a, b] * x[b]
                total = total * 0.5 + row * row * x[i]
            y[None] += total

    def plain(x, w, y):
        for i in range(3):
            total = 0 * x[0]
            for a in range(3):
                row = w[a][0] * x[0] + w[a][1] * x[1] + w[a][2] * x[2]
                total = total / 2 + row * row * x[i]
            y = y + total
        return y

    given = {x: [0.5, -0.75, 1.25], w: [[0.5, 1.0, -0.25], [0.3, 0.7, 1.5], [-1.0, 0.25, 0.125]], y: 0.5}
    return agrees(k, plain, given, [y])
