"""More of what a loop's body may be, in every form of the loop: loops inside it, what it keeps, what it calls."""

from adstack.conformance.case import case
from adstack.conformance.forms import Loop, forms
from adstack.conformance.gradients import TRANSPOSED


@case(rules=["grad.loop"], params={"how": forms(16)}, **TRANSPOSED)
def two_loops_in_the_body(qd, dtype, how):
    """The first counts how often the second runs."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        count = 0
        for k in range(j % 3):
            if s > 0.5:
                count += 1
            s = s + (c[i] - s) * 0.00390625
        for k in range(count + 1):
            s = s - s * s * c[(i + k) % 4] * 0.001953125
        return s

    def exact(s, c, i, j):
        count = 0
        for k in range(j % 3):
            count += s > 0.5
            s = s + (c[i] - s) / 256
        for k in range(count + 1):
            s = s - s * s * c[(i + k) % 4] / 512
        return s

    return loop.run(step, exact)


@case(rules=["grad.loop"], params={"how": forms(18)}, **TRANSPOSED)
def loops_of_two_kinds_inside_each_other(qd, dtype, how):
    """A range around a while, around a condition that ends both."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        for k in range(j % 3):
            m = 0
            while m < k + 1:
                s = s + (c[i] - s * s) * 0.00390625
                if s > 0.75:
                    break
                m += 1
            if s > 0.7:
                break
        return s * (1.0 - 0.001953125 * c[i])

    def exact(s, c, i, j):
        for k in range(j % 3):
            m = 0
            while m < k + 1:
                s = s + (c[i] - s * s) / 256
                if s > 0.75:
                    break
                m += 1
            if s > 0.7:
                break
        return s * (1 - c[i] / 512)

    return loop.run(step, exact)


@case(rules=["grad.loop", "grad.local"], params={"how": forms(19)}, **TRANSPOSED)
def the_value_before_last(qd, dtype, how):
    """Each value is made of the two before it."""
    loop = Loop(qd, dtype, how, width=2)
    c = loop.c

    @qd.func
    def step(v, i, j):
        return qd.Vector([v[0] + (v[0] * v[1] - v[1] * c[i]) * 0.00390625, v[0]])

    return loop.run(step, lambda v, c, i, j: [v[0] + (v[0] * v[1] - v[1] * c[i]) / 256, v[0]])


@case(rules=["grad.loop", "grad.local"], params={"how": forms(21)}, **TRANSPOSED)
def values_that_change_places(qd, dtype, how):
    """All three go round, and one of them changes."""
    loop = Loop(qd, dtype, how, width=3)
    c = loop.c

    @qd.func
    def step(v, i, j):
        a, b, r = v[0], v[1], v[2]
        if j % 4 != 1:
            a, b, r = b, r, a
        return qd.Vector([a - a * b * c[i] * 0.00390625, b, r])

    def exact(v, c, i, j):
        a, b, r = v
        if j % 4 != 1:
            a, b, r = b, r, a
        return [a - a * b * c[i] / 256, b, r]

    return loop.run(step, exact)


@case(rules=["grad.choice"], params={"how": forms(22)}, **TRANSPOSED)
def choices_without_branches(qd, dtype, how):
    """A conditional expression on a chained comparison, and select."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        a = s * s if -0.4 < s < 0.6 else s * c[i]
        return s - qd.select(s > 0.1, a, s * a) * 0.00390625

    def exact(s, c, i, j):
        a = s * s if s > -0.4 and s < 0.6 else s * c[i]
        return s - (a if s > 0.1 else s * a) / 256

    return loop.run(step, exact)


@case(rules=["grad.loop", "grad.choice"], params={"how": forms(23)}, **TRANSPOSED)
def a_function_with_two_ends(qd, dtype, how):
    """The body calls a function that calls another, by one of two ways."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def pulled(s, to):
        return s + (to - s) * (to + s) * 0.00390625

    @qd.func
    def guided(s, to):
        r = s
        if s < to:
            r = pulled(s, to)
        else:
            r = pulled(s, to * 0.5) - 0.0009765625
        return r

    @qd.func
    def step(s, i, j):
        return guided(guided(s, c[i]), c[j % 4])

    def exact(s, c, i, j):
        for to in (c[i], c[j % 4]):
            half = to if s < to else to / 2
            moved = s + (half - s) * (half + s) / 256
            s = moved if s < to else moved - 1 / 1024
        return s

    return loop.run(step, exact)
