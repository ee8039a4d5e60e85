"""Loops that carry values, with any number of iterations, in every form that must agree."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, floats, real
from adstack.conformance.plain import exp, sin, sqrt


@case(rules=["grad.loop", "grad.meaning"], params={"n": [0, 1, 2, 17, 200]}, **BOUNDED)
def a_recurrence(qd, dtype, n):
    """y <- y + (c - y^2) / 64, n times: the reverse pass needs every y."""
    x, c, y = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s + (c[i] - s * s) * 0.015625
            y[i] = s

    def plain(x, c):
        for _ in range(n):
            x = [a + (b - a * a) / 64 for a, b in zip(x, c)]
        return x

    return agrees(k, plain, {x: [0.5, 0.25, 0.1], c: [0.25, 0.5, 0.3]}, [y], args=(n,))


@case(rules=["grad.loop"], params={"form": ["static", "dynamic", "func", "range", "while"]}, **BOUNDED)
def the_same_loop_in_every_form(qd, dtype, form):
    """Three steps of s <- s (c + sin s), written in five ways."""
    x, c, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def step(s, c):
        return s * (c + qd.sin(s))

    @qd.func
    def steps(s, c, n):
        for _ in range(n):
            s = step(s, c)
        return s

    @qd.kernel
    def static():
        for i in x:
            s = x[i]
            for _ in qd.static(range(3)):
                s = step(s, c[i])
            y[i] = s

    @qd.kernel
    def dynamic():
        for i in x:
            s = x[i]
            for _ in range(3):
                s = step(s, c[i])
            y[i] = s

    @qd.kernel
    def func():
        for i in x:
            y[i] = steps(x[i], c[i], 3)

    @qd.kernel
    def over_range():
        for i in range(4):
            s = x[i]
            for j in range(2, 5):
                s = step(s, c[i])
            y[i] = s

    @qd.kernel
    def over_while():
        for i in x:
            s, j = x[i], 0
            while j < 3:
                s = step(s, c[i])
                j += 1
            y[i] = s

    def plain(x, c):
        for _ in range(3):
            x = [a * (b + sin(a)) for a, b in zip(x, c)]
        return x

    kernels = {"static": static, "dynamic": dynamic, "func": func, "range": over_range, "while": over_while}
    return agrees(kernels[form], plain, {x: [0.5, -0.25, 1.1, 0.7], c: floats(4)}, [y])


@case(rules=["grad.loop"], params={"n": [0, 1, 2, 17]}, **BOUNDED)
def several_carried_values(qd, dtype, n):
    """Three values that feed each other; two are exchanged in every iteration."""
    x, y = real(qd, dtype, (2, 3)), real(qd, dtype, (2, 3))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(2):
            a, b, c = x[i, 0], x[i, 1], x[i, 2]
            for j in range(n):
                a, b = b, a
                c = 0.5 * c + a * b
                a = a * 0.75 + 0.125 * c * j
            y[i, 0], y[i, 1], y[i, 2] = a, b, c

    def plain(x):
        out = []
        for a, b, c in x:
            for j in range(n):
                a, b = b, a
                c = c / 2 + a * b
                a = a * 3 / 4 + c * j / 8
            out.append([a, b, c])
        return out

    return agrees(k, plain, {x: [[0.5, -0.75, 0.25], [1.0, 0.375, -0.5]]}, [y], args=(n,))


@case(rules=["grad.loop"], **BOUNDED)
def trip_counts_from_memory(qd, dtype):
    """Every iteration of the parallel loop has a trip count of its own, none and negative ones among them."""
    x, y = real(qd, dtype, 6), real(qd, dtype, 6)
    low, high = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)
    lows, highs = [0, 3, 5, -2, 1, 0], [0, 4, 2, 3, 18, 2]

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(low[i], high[i]):
                s = s * s * 0.25 + 0.125 * j
            y[i] = s

    def plain(x):
        out = []
        for s, low, high in zip(x, lows, highs):
            for j in range(low, high):
                s = s * s / 4 + j * 0.125
            out.append(s)
        return out

    given = {x: [0.5, -0.75, 0.25, 1.0, -0.125, 2.0]}
    return agrees(k, plain, given, [y], constant={low: lows, high: highs})


@case(rules=["grad.loop"], params={"n": [1, 2, 17]}, **BOUNDED)
def every_step_is_stored(qd, dtype, n):
    """The carried value is also an output of every iteration."""
    x, y = real(qd, dtype, 2), real(qd, dtype, (2, 17))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = qd.sin(s) + 0.5 * s
                y[i, j] = s * s

    def plain(x, y):
        rows = [list(row) for row in y]
        for s, row in zip(x, rows):
            for j in range(n):
                s = sin(s) + s / 2
                row[j] = s * s
        return rows

    return agrees(k, plain, {x: [0.5, -1.25], y: [[0.25] * 17] * 2}, [y], args=(n,))


@case(rules=["grad.loop"], params={"n": [0, 1, 17]}, **BOUNDED)
def what_changes_before_and_after_a_use(qd, dtype, n):
    """A value is used, changed, and used again inside one iteration."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s, total = x[i], x[i] * 0.0
            for _ in range(n):
                total += s * s
                s = 0.5 * qd.exp(-s)
                total = total * s + s
            y[i] = total + s

    def plain(x):
        out = []
        for s in x:
            total = 0 * s
            for _ in range(n):
                total = total + s * s
                s = exp(-s) / 2
                total = total * s + s
            out.append(total + s)
        return out

    return agrees(k, plain, {x: [0.5, -0.25, 1.5]}, [y], args=(n,))


@case(rules=["grad.loop"], **BOUNDED)
def loop_invariants_inside(qd, dtype):
    """What does not change in the loop is used in it nonlinearly."""
    x, w, y = real(qd, dtype, 3), real(qd, dtype, ()), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            scale = qd.sqrt(w[None])
            s = x[i]
            for _ in range(5):
                root = qd.exp(w[None] * 0.25)
                s = s * scale - root * s * s
            y[i] = s

    def plain(x, w):
        scale, root = sqrt(w), exp(w / 4)
        for _ in range(5):
            x = [s * scale - root * s * s for s in x]
        return x

    return agrees(k, plain, {x: [0.125, 0.25, -0.0625], w: 0.75}, [y])


@case(rules=["grad.loop", "grad.precision"], params={"n": [0, 1, 2, 17]}, modes=("forward", "reverse", "forward-mode"))
def sums_and_products_of_powers_of_two_are_exact(qd, n):
    """Nothing is rounded here, so the gradient is exact to the bit."""
    x, y = real(qd, qd.f32, 3), real(qd, qd.f32, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s, p = x[i], x[i]
            for j in range(n):
                s += 2.0 * p
                p = -0.5 * p
            y[i] = s - p

    def plain(x):
        p = x
        for _ in range(n):
            x = [s + 2 * q for s, q in zip(x, p)]
            p = [-q / 2 for q in p]
        return [s - q for s, q in zip(x, p)]

    return agrees(k, plain, {x: [1.0, -2.0, 0.5]}, [y], args=(n,))


@case(rules=["grad.loop"], **BOUNDED)
def a_serial_kernel(qd, dtype):
    """All in kernel-level code: the loop runs one iteration at a time."""
    x, y = real(qd, dtype, 5), real(qd, dtype, ())

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for _ in range(1):
            s = x[0]
            for i in range(1, 5):
                s = s * x[i] + qd.sin(s)
            y[None] = s

    def plain(x):
        s = x[0]
        for a in x[1:]:
            s = s * a + sin(s)
        return s

    return agrees(k, plain, {x: [0.5, 1.25, -0.75, 0.25, 1.5]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def an_inner_ndrange(qd, dtype):
    """A serial loop over a box of indices."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for a, b in qd.ndrange(3, (1, 3)):
                s = s * (0.5 + 0.25 * a) + qd.sin(s) * b
            y[i] = s

    def plain(x):
        for a in range(3):
            for b in range(1, 3):
                x = [s * (0.5 + 0.25 * a) + sin(s) * b for s in x]
        return x

    return agrees(k, plain, {x: [0.5, -0.25]}, [y])
