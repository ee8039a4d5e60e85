"""The rest of the language in reverse: early continues, wide indices, half precision, library calls, arguments."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import absolute, exp, sin, sqrt


@case(rules=["grad.loop", "grad.precision"], params={"n": [0, 1, 5]}, **{**BOUNDED, "dtypes": ["f16"]})
def a_recurrence_in_half_precision(qd, dtype, n):
    """Eleven bits, and a bound that knows it."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = s * s * 0.5 + 0.25 * x[i]
            y[i] = s

    def plain(x):
        out = []
        for a in x:
            s = a
            for _ in range(n):
                s = s * s / 2 + a / 4
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y], args=(n,))


@case(rules=["grad.loop"], **BOUNDED)
def iterations_of_the_parallel_loop_that_end_early(qd, dtype):
    """continue in the parallel loop, before and after a serial one."""
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)

    @qd.kernel
    def k():
        for i in x:
            if x[i] < 0.0:
                continue
            s = x[i]
            for _ in range(i):
                s = qd.sin(s) + s
            if s > 2.0:
                y[i] = s * s
                continue
            y[i] = s + 1.0

    def plain(x, y):
        out = list(y)
        for i, s in enumerate(x):
            if s < 0:
                continue
            for _ in range(i):
                s = sin(s) + s
            out[i] = s * s if s > 2 else s + 1
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.1, 0.3], y: 0.25}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def wide_counters_and_offsets(qd, dtype):
    """64-bit bounds far from zero; the index enters the value."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(start: qd.i64):
        for i in x:
            s = x[i]
            for j in range(start, start + 3):
                s = s * s * 0.25 + qd.cast(j % 4, dtype)
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for j in range(2**40, 2**40 + 3):
                s = s * s / 4 + j % 4
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y], args=(2**40,))


@case(rules=["grad.loop"], params={"depth": [3, 5]}, **BOUNDED)
def loops_five_deep(qd, dtype, depth):
    """Each level has a statement of its own."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k(n: qd.i32, m: qd.i32):
        for i in x:
            s = x[i]
            for a in range(2):
                s = s * 0.75
                for b in range(n):
                    s = s + 0.125 * a
                    for c in range(2):
                        s = s * s * 0.5
                        for d in range(m):
                            s = s + 0.25
                            for e in range(m):
                                s = qd.sin(s) * (0.5 + 0.25 * e) + 0.125 * c
            y[i] = s

    m = 1 if depth == 3 else 2

    def plain(x):
        out = []
        for s in x:
            for a in range(2):
                s = s * 0.75
                for _ in range(2):
                    s = s + 0.125 * a
                    for c in range(2):
                        s = s * s / 2
                        for _ in range(m):
                            s = s + 0.25
                            for e in range(m):
                                s = sin(s) * (0.5 + 0.25 * e) + 0.125 * c
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75]}, [y], args=(2, m))


@case(rules=["grad.table"], params={"function": ["clamp", "mix", "sign", "fract", "step"]}, **BOUNDED)
def functions_made_of_others(qd, dtype, function):
    """math.clamp, mix, sign, fract and step, in a loop."""
    x, w, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def applied(a, b):
        r = a
        if qd.static(function == "clamp"):
            r = qd.math.clamp(a, -0.5, b)
        if qd.static(function == "mix"):
            r = qd.math.mix(a, b, 0.25)
        if qd.static(function == "sign"):
            r = qd.math.sign(a) * b
        if qd.static(function == "fract"):
            r = qd.math.fract(a) * b
        if qd.static(function == "step"):
            r = qd.math.step(b, a) * a
        return r

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = applied(s, w[i]) + 0.375 * s
            y[i] = s

    exact = {
        "clamp": lambda a, b: b if a > b else (a if a > -0.5 else -0.5),
        "mix": lambda a, b: a * 0.75 + b * 0.25,
        "sign": lambda a, b: b * ((a > 0) - (a < 0)),
        "fract": lambda a, b: (a % 1) * b,
        "step": lambda a, b: a * (a >= b),
    }[function]

    def plain(x, w):
        out = []
        for s, b in zip(x, w):
            for _ in range(3):
                s = exact(s, b) + s * 0.375
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.3, -0.8, 1.7, 0.6], w: [0.7, 0.9, 1.1, 0.4]}, [y], args=(3,))


@case(rules=["grad.table"], params={"n": [2, 3]}, **BOUNDED)
def inverses_and_determinants(qd, dtype, n):
    """Of a matrix built from inputs."""
    x, y = real(qd, dtype, (3, 3)), real(qd, dtype, (3, 3))

    @qd.kernel
    def k():
        for _ in range(1):
            m = qd.Matrix([[x[a, b] for b in range(n)] for a in range(n)])
            inverse = m.inverse()
            det = m.determinant()
            for a in qd.static(range(n)):
                for b in qd.static(range(n)):
                    y[a, b] = inverse[a, b] + det * m[b, a]

    def minor(m, i, j):
        rest = [[m[a][b] for b in range(n) if b != j] for a in range(n) if a != i]
        return determinant(rest) * (1 if (i + j) % 2 == 0 else -1)

    def determinant(m):
        if len(m) == 1:
            return m[0][0]
        total = 0
        for j in range(len(m)):
            rest = [[row[b] for b in range(len(m)) if b != j] for row in m[1:]]
            total = total + m[0][j] * determinant(rest) * (1 if j % 2 == 0 else -1)
        return total

    def plain(x, y):
        m = [row[:n] for row in x[:n]]
        det = determinant(m)
        out = [list(row) for row in y]
        for a in range(n):
            for b in range(n):
                out[a][b] = minor(m, b, a) / det + det * m[b][a]
        return out

    return agrees(k, plain, {x: [[2.0, -0.75, 0.5], [1.25, 1.5, -0.5], [0.25, 0.75, 3.0]], y: 0.0}, [y])


@case(rules=["grad.load"], **{**BOUNDED, "modes": ("forward", "reverse")})
def arrays_as_arguments(qd, dtype):
    """Arrays with gradients, of scalars and of vectors, in a dynamic loop."""
    a = qd.ndarray(dtype, shape=(4,), needs_grad=True)
    v = qd.Vector.ndarray(2, dtype, shape=(4,), needs_grad=True)
    y = qd.ndarray(dtype, shape=(4,), needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray(), v: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
        for i in a:
            s = a[i]
            for j in range(n):
                s = s * v[i][0] + qd.sin(s) * v[(i + j) % 4][1]
            y[i] = s

    def plain(a, v):
        out = []
        for i, s in enumerate(a):
            for j in range(3):
                s = s * v[i][0] + sin(s) * v[(i + j) % 4][1]
            out.append(s)
        return out

    given = {a: [0.5, -0.75, 1.25, 0.2], v: [[0.5, 0.25], [-0.75, 1.5], [1.1, -0.3], [0.9, 0.6]]}
    return agrees(k, plain, given, [y], args=(a, v, y, 3))


@case(rules=["grad.loop"], **EXACT)
def integer_powers_with_a_carried_exponent(qd, dtype):
    """x ** j for an integer j that the loop counts."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i] * 0.0
            for j in range(n):
                s += x[i] ** j * (j + 1)
            y[i] = s

    def plain(x):
        return [sum((a**j * (j + 1) for j in range(4)), 0) for a in x]

    return agrees(k, plain, {x: [0.5, -1.5, 2.0]}, [y], args=(4,))


@case(rules=["grad.choice"], **BOUNDED)
def a_chain_of_ternaries(qd, dtype):
    """Nested conditional expressions, with walrus and comprehension beside them."""
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            parts = [s * c for c in range(1, 4)]
            y[i] = (t := s * s) + (parts[0] if s > 1.0 else (qd.exp(t) if s > 0.0 else parts[2] * t)) * parts[1]

    def plain(x):
        out = []
        for s in x:
            t = s * s
            side = s if s > 1 else (exp(t) if s > 0 else 3 * s * t)
            out.append(t + side * (2 * s))
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.2, -1.5]}, [y])


@case(rules=["grad.meaning", "grad.bound"], params={"n": [3, 17]}, **BOUNDED)
def a_sum_of_many_terms_of_both_signs(qd, dtype, n):
    """Cancellation: the bound grows with the magnitudes, not with the result."""
    x, y = real(qd, dtype, n), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[None] += qd.sqrt(qd.abs(x[i])) * (1.0 if i % 2 == 0 else -1.0)

    def plain(x, y):
        for i, a in enumerate(x):
            y = y + sqrt(absolute(a)) * (1 if i % 2 == 0 else -1)
        return y

    return agrees(k, plain, {x: [0.3 + 0.1 * i * (-1) ** (i // 2) for i in range(n)], y: 0.7}, [y])
