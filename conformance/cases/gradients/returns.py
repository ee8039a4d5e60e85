"""`return` under run-time control flow, differentiated."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import sin


@case(rules=["control.return", "grad.loop"], **EXACT)
def a_func_that_returns_from_branches(qd, dtype):
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)

    @qd.func
    def f(a):
        if a < 0.0:
            return 0
        b = a * a
        if b > 4.0:
            return b * a
        return b + a

    @qd.kernel
    def k():
        for i in x:
            y[i] = f(x[i]) * 2.0

    def f_plain(a):
        if a < 0:
            return 0 * a
        return a * a * a if a * a > 4 else a * a + a

    return agrees(k, lambda x: [2 * f_plain(a) for a in x], {x: [-1.5, 0.5, 1.25, 3.0, 2.5]}, [y])


@case(rules=["control.return", "grad.loop"], params={"form": ["for", "while"]}, **BOUNDED)
def a_func_that_returns_from_nested_loops(qd, dtype, form):
    """The element decides in which iteration of which loop; one comes to the end."""
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)

    @qd.func
    def in_for(a, i):
        s = a
        for j in range(4):
            for m in range(3):
                if 3 * j + m == i:
                    return s * a, s + 1.0
                s = qd.sin(s) + 0.5 * s
            s *= 1.25
        return s, a

    @qd.func
    def in_while(a, i):
        s = a
        j = 0
        while j < 4:
            m = 0
            while True:
                if 3 * j + m == i:
                    return s * a, s + 1.0
                if m == 3:
                    break
                s = qd.sin(s) + 0.5 * s
                m += 1
            s *= 1.25
            j += 1
        return s, a

    f = {"for": in_for, "while": in_while}[form]

    @qd.kernel
    def k():
        for i in x:
            a, b = f(x[i], 4 * i - 1)
            y[i] = a + b * b

    def f_plain(a, i):
        s = a
        for j in range(4):
            for m in range(4 if form == "while" else 3):
                if 3 * j + m == i:
                    return s * a, s + 1
                if m < 3:
                    s = sin(s) + s / 2
            s = s * 5 / 4
        return s, a

    def plain(x):
        pairs = [f_plain(a, 4 * i - 1) for i, a in enumerate(x)]
        return [a + b * b for a, b in pairs]

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 2.0, -1.5]}, [y])


@case(rules=["control.return", "grad.loop"], params={"n": [0, 2, 9]}, **EXACT)
def a_kernel_that_returns_early(qd, dtype, n):
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(n: qd.i32):
        if n == 0:
            return
        qd.loop_config(serialize=True)
        for i in range(4):
            if i == n:
                return
            y[None] += x[i] * x[i]
        y[None] *= 2.0

    def plain(x, y):
        if n == 0:
            return y
        for i in range(4):
            if i == n:
                return y
            y = y + x[i] * x[i]
        return y * 2

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 2.0], y: 1.0}, [y], args=(n,))


@case(rules=["control.func", "grad.loop"], **BOUNDED)
def a_func_that_calls_itself_while_compiling(qd, dtype):
    """Horner's rule by recursion over the degree, left early where the element is small."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def horner(n: qd.template(), a):
        if qd.static(n == 0):
            return 1.0
        if a < 0.75 - 0.25 * n:
            return a
        return horner(n - 1, a) * a + qd.sin(a) / n

    @qd.kernel
    def k():
        for i in x:
            y[i] = horner(4, x[i])

    def plain_horner(n, a):
        if n == 0:
            return 1
        if a < 0.75 - 0.25 * n:
            return a
        return plain_horner(n - 1, a) * a + sin(a) / n

    return agrees(k, lambda x: [plain_horner(4, a) for a in x], {x: [0.5, -0.5, 1.25, -1.5]}, [y])
