"""Loops that end when data say so: while, break and continue."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import cos, sin


@case(rules=["grad.loop"], **BOUNDED)
def while_until_a_value_is_small(qd, dtype):
    """The condition looks at the carried value; iterations differ between elements, one has none."""
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            while s > 1.0:
                s = s * s * 0.125 + s * 0.25
            y[i] = s * s

    def plain(x):
        out = []
        for s in x:
            while s > 1:
                s = s * s / 8 + s / 4
            out.append(s * s)
        return out

    return agrees(k, plain, {x: [0.5, 1.25, 3.0, 5.5, 5.75]}, [y])


@case(rules=["grad.loop"], params={"form": ["break", "condition", "flag"]}, **BOUNDED)
def newton_iterations_for_a_root(qd, dtype, form):
    """Cube roots by Newton's method, ended by a residual, in three ways of writing it."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def with_break():
        for i in x:
            r = x[i] * 0.5
            for _ in range(50):
                e = r * r * r - x[i]
                if e < 0.0625:
                    break
                r = r - e / (3.0 * r * r)
            y[i] = r

    @qd.kernel
    def with_condition():
        for i in x:
            r = x[i] * 0.5
            while r * r * r - x[i] >= 0.0625:
                r = r - (r * r * r - x[i]) / (3.0 * r * r)
            y[i] = r

    @qd.kernel
    def with_flag():
        for i in x:
            r, going = x[i] * 0.5, True
            while going:
                e = r * r * r - x[i]
                if e < 0.0625:
                    going = False
                else:
                    r = r - e / (3.0 * r * r)
            y[i] = r

    def plain(x):
        out = []
        for a in x:
            r = a / 2
            while r * r * r - a >= 0.0625:
                r = r - (r * r * r - a) / (3 * r * r)
            out.append(r)
        return out

    kernel = {"break": with_break, "condition": with_condition, "flag": with_flag}[form]
    return agrees(kernel, plain, {x: [8.5, 3.0, 20.0, 2.0]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def while_true_with_several_breaks_and_continues(qd, dtype):
    """Ends that depend on a count and on a value, and iterations cut short."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s, n = x[i], 0
            while True:
                n += 1
                if n > 8:
                    break
                if n % 3 == 0:
                    s = s + 0.25
                    continue
                s = qd.sin(s) * 1.5
                if s < 0.0:
                    s = s * s
                    break
                s = s * 1.125
            y[i] = s * n

    def plain(x):
        out = []
        for s in x:
            n = 0
            while True:
                n += 1
                if n > 8:
                    break
                if n % 3 == 0:
                    s = s + 0.25
                    continue
                s = sin(s) * 1.5
                if s < 0:
                    s = s * s
                    break
                s = s * 1.125
            out.append(s * n)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 3.5]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def break_out_of_one_of_two_loops(qd, dtype):
    """The inner loop breaks, the outer goes on with what the inner left."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(4):
                for m in range(5):
                    if s > 2.0 or m > j:
                        break
                    s = s * 1.25 + s * s * 0.25
                s = 0.75 * s
            y[i] = s

    def plain(x):
        out = []
        for s in x:
            for j in range(4):
                for m in range(5):
                    if s > 2 or m > j:
                        break
                    s = s * 1.25 + s * s / 4
                s = s * 0.75
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5]}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def a_while_in_a_while(qd, dtype):
    """Both end by values; the inner one runs differently often each time."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            s, total = x[i], x[i] * 0.0
            while total < 4.0:
                t = s
                while t > 0.5:
                    t = t * t * 0.5 * qd.cos(t)
                    total += 0.25 * t * s
                s = s + 0.25 + t * 0.125
                total += s
            y[i] = total

    def plain(x):
        out = []
        for s in x:
            total = 0 * s
            while total < 4:
                t = s
                while t > 0.5:
                    t = t * t / 2 * cos(t)
                    total = total + t * s / 4
                s = s + 0.25 + t / 8
                total = total + s
            out.append(total)
        return out

    return agrees(k, plain, {x: [0.75, 1.1, 0.3]}, [y])


@case(rules=["grad.loop", "grad.integer"], **BOUNDED)
def while_over_integers_that_steer_floats(qd, dtype):
    """Steps of the Collatz sequence decide which of two maps is applied."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)
    start = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            n, s = start[i], x[i]
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                    s = qd.sin(s) + 0.5
                else:
                    n = 3 * n + 1
                    s = s * s * 0.5
            y[i] = s

    def plain(x):
        out = []
        for s, n in zip(x, [1, 3, 6, 7]):
            while n != 1:
                s = sin(s) + 0.5 if n % 2 == 0 else s * s / 2
                n = n // 2 if n % 2 == 0 else 3 * n + 1
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.9]}, [y], constant={start: [1, 3, 6, 7]})


@case(rules=["grad.loop"], **BOUNDED)
def a_condition_that_computes(qd, dtype):
    """What the condition assigns is used in the body: it runs once more often than the body."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            s, e = x[i], x[i]
            while (e := s * s - 1.0) > 0.25:
                s = s - 0.25 * e
            y[i] = s * e

    def plain(x):
        out = []
        for s in x:
            while (e := s * s - 1) > 0.25:
                s = s - e / 4
            out.append(s * e)
        return out

    return agrees(k, plain, {x: [0.5, 1.75, 2.25]}, [y])


@case(rules=["grad.local", "grad.loop"], params={"loop": ["while", "nest"]}, **BOUNDED)
def counts_that_come_from_a_local_array_that_the_loop_writes(qd, dtype, loop):
    """How often the loop runs is counted ahead; what it stores on the way must not be there when it runs in earnest."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def until():
        for i in x:
            a = qd.Vector([0.0] * 20)
            for j in range(20):
                a[j] = x[i] * 0.125 * j
            c = 0
            while c < 40 and a[c % 20] < 1.5:
                a[c % 20] = a[c % 20] * 1.25 + a[(c + 3) % 20] * 0.0625
                c += 1
            s = 0.0
            for j in range(20):
                s += a[j] * a[(j + 1) % 20]
            y[i] = s

    @qd.kernel
    def nest():
        for i in x:
            a = qd.Vector([0.0] * 20)
            m = qd.Vector([1] * 20)
            for j in range(20):
                a[j] = x[i] * 0.125 * j
            for c in range(40):
                for _ in range(m[c % 20]):
                    a[c % 20] = a[c % 20] * 0.75 + a[(c + 3) % 20] * a[(c + 3) % 20] * 0.0625
                m[c % 20] += c % 2
            s = 0.0
            for j in range(20):
                s += a[j] * m[j]
            y[i] = s

    def plain_until(x):
        out = []
        for v in x:
            a = [v * j / 8 for j in range(20)]
            c = 0
            while c < 40 and a[c % 20] < 1.5:
                a[c % 20] = a[c % 20] * 5 / 4 + a[(c + 3) % 20] / 16
                c += 1
            out.append(sum(a[j] * a[(j + 1) % 20] for j in range(20)))
        return out

    def plain_nest(x):
        out = []
        for v in x:
            a, m = [v * j / 8 for j in range(20)], [1] * 20
            for c in range(40):
                for _ in range(m[c % 20]):
                    a[c % 20] = a[c % 20] * 3 / 4 + a[(c + 3) % 20] * a[(c + 3) % 20] / 16
                m[c % 20] += c % 2
            out.append(sum(a[j] * m[j] for j in range(20)))
        return out

    kernel, plain = (until, plain_until) if loop == "while" else (nest, plain_nest)
    return agrees(kernel, plain, {x: [0.25, 0.5, 0.75]}, [y])
