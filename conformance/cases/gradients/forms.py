"""What a loop's body may be: each step as a static, dynamic, field, `while` loop, in a function, in serial code, ..."""

from adstack.conformance.case import case
from adstack.conformance.forms import Loop, forms
from adstack.conformance.gradients import TRANSPOSED
from adstack.conformance.plain import absolute, atan2, exp, sin, sqrt, tanh


@case(rules=["grad.loop", "grad.forward"], params={"how": forms(0)}, **TRANSPOSED)
def growth(qd, dtype, how):
    """A product of the carried value with itself."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (c[i] - s) * s * 0.015625

    return loop.run(step, lambda s, c, i, j: s + (c[i] - s) * s / 64)


@case(rules=["grad.loop", "grad.table"], params={"how": forms(1)}, **TRANSPOSED)
def a_pendulum(qd, dtype, how):
    """A function whose derivative has to be formed at every value on the way."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (c[i] - qd.sin(s)) * 0.015625

    return loop.run(step, lambda s, c, i, j: s + (c[i] - sin(s)) / 64)


@case(rules=["grad.loop", "grad.integer"], params={"how": forms(2)}, **TRANSPOSED)
def the_index_enters(qd, dtype, how):
    """The value depends on how far the loop is, by a factor and by a remainder."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (c[i] * (j % 5) - s * s) * 0.0078125

    return loop.run(step, lambda s, c, i, j: s + (c[i] * (j % 5) - s * s) / 128)


@case(rules=["grad.choice"], params={"how": forms(3)}, **TRANSPOSED)
def a_branch_on_the_carried_value(qd, dtype, how):
    """The branch of every iteration is taken again backwards."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        r = s
        if s > c[i]:
            r = s - s * s * 0.00390625
        else:
            r = s + (1.25 + s) * c[i] * 0.001953125
        return r

    def exact(s, c, i, j):
        return s - s * s / 256 if s > c[i] else s + (s + 1.25) * c[i] / 512

    return loop.run(step, exact)


@case(rules=["grad.choice"], params={"how": forms(4)}, **TRANSPOSED)
def and_or_over_the_carried_value(qd, dtype, how):
    """Conditions of two parts, one of the value and one of the index."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        r = s + c[i] * 0.001953125
        if s < 0.8 and j % 3 != 0:
            r = s + (c[i] - s * s) * 0.0078125
        elif s > 1.1 or j % 7 == 3:
            r = s - s * s * c[i] * 0.00390625
        return r

    def exact(s, c, i, j):
        if s < 0.8 and j % 3 != 0:
            return s + (c[i] - s * s) / 128
        return s - s * s * c[i] / 256 if s > 1.1 or j % 7 == 3 else s + c[i] / 512

    return loop.run(step, exact)


@case(rules=["grad.loop"], params={"how": forms(5)}, **TRANSPOSED)
def an_inner_loop_as_long_as_the_index_says(qd, dtype, how):
    """A bound that is computed from an index around."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        for k in range(j % 4):
            s = s + (c[i] - s * s) * 0.0009765625 * (k + 1)
        return s

    def exact(s, c, i, j):
        for k in range(j % 4):
            s = s + (c[i] - s * s) * (k + 1) / 1024
        return s

    return loop.run(step, exact)


@case(rules=["grad.loop"], params={"how": forms(6)}, **TRANSPOSED)
def an_inner_while(qd, dtype, how):
    """How long it runs depends on the carried value."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        t = s * 2.0
        while t > 0.7:
            t = t * t * 0.125 + t * 0.25
        return s + (c[i] * t - s) * 0.001953125

    def exact(s, c, i, j):
        t = s * 2
        while t > 0.7:
            t = t * t / 8 + t / 4
        return s + (c[i] * t - s) / 512

    return loop.run(step, exact)


@case(rules=["grad.loop", "grad.choice"], params={"how": forms(7)}, **TRANSPOSED)
def an_inner_loop_with_continue_and_break(qd, dtype, how):
    """One iteration is passed over, and the value may end the loop."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        for k in range(5):
            if k == j % 3:
                continue
            if s > 0.9:
                break
            s = s + c[i] * (1.0 + s * s) * 0.0001220703125
        return s - s * s * s * 0.00390625

    def exact(s, c, i, j):
        for k in range(5):
            if k == j % 3:
                continue
            if s > 0.9:
                break
            s = s + c[i] * (s * s + 1) / 8192
        return s - s * s * s / 256

    return loop.run(step, exact)


@case(rules=["grad.choice", "grad.table"], params={"how": forms(8)}, **TRANSPOSED)
def extremes_and_magnitudes(qd, dtype, how):
    """max, min and abs of the carried value."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        top = qd.max(s, c[i] * 0.5)
        low = qd.min(s * s, 0.3 + c[i])
        return s + (qd.abs(s - 0.33) + top - low - c[i] * 0.75) * 0.00390625

    def exact(s, c, i, j):
        top = s if s > c[i] / 2 else c[i] / 2
        limit = c[i] + 0.3
        low = s * s if s * s < limit else limit
        return s + (absolute(s - 0.33) + top - low - c[i] * 0.75) / 256

    return loop.run(step, exact)


@case(rules=["grad.loop", "grad.local"], params={"how": forms(9)}, **TRANSPOSED)
def a_vector_that_turns(qd, dtype, how):
    """A vector is rebuilt from its own components."""
    loop = Loop(qd, dtype, how, width=2)
    c = loop.c

    @qd.func
    def step(v, i, j):
        return qd.Vector(
            [v[0] - v[1] * c[i] * 0.0078125, v[1] + v[0] * c[i] * 0.0078125 - v[1] * v[1] * v[1] * 0.0078125]
        )

    def exact(v, c, i, j):
        return [v[0] - v[1] * c[i] / 128, v[1] + v[0] * c[i] / 128 - v[1] * v[1] * v[1] / 128]

    return loop.run(step, exact)


@case(rules=["grad.loop", "grad.local"], params={"how": forms(10)}, **TRANSPOSED)
def a_matrix_times_a_vector(qd, dtype, how):
    """A product, a dot product and a norm in every iteration."""
    loop = Loop(qd, dtype, how, width=2)
    c = loop.c

    @qd.func
    def step(v, i, j):
        m = qd.Matrix([[1.0, c[i] * 0.0078125], [-0.0078125 * v[0], 1.0]])
        return m @ v - v * (v.dot(v) * 0.00390625) + qd.Vector([c[i], 0.5]) * 0.001953125

    def exact(v, c, i, j):
        dot = v[0] * v[0] + v[1] * v[1]
        first = v[0] + c[i] * v[1] / 128 - v[0] * dot / 256 + c[i] / 512
        return [first, v[1] - v[0] * v[0] / 128 - v[1] * dot / 256 + 1 / 1024]

    return loop.run(step, exact)


@case(rules=["grad.local"], params={"how": forms(11)}, **TRANSPOSED)
def a_component_that_the_index_picks(qd, dtype, how):
    """A vector is read and written at places that are only known at run time."""
    loop = Loop(qd, dtype, how, width=3)
    c = loop.c

    @qd.func
    def step(v, i, j):
        w = v
        for k in range(2):
            w[(i + j + k) % 3] = w[(j + 2 * k) % 3] * 0.03125 + w[(i + j + k) % 3] * (1.0 - c[i] * 0.03125)
        return w

    def exact(v, c, i, j):
        w = list(v)
        for k in range(2):
            w[(i + j + k) % 3] = w[(j + 2 * k) % 3] / 32 + w[(i + j + k) % 3] * (1 - c[i] / 32)
        return w

    return loop.run(step, exact)


@case(rules=["grad.load"], params={"how": forms(12)}, **TRANSPOSED)
def gathered_with_the_index(qd, dtype, how):
    """The constants of other iterations are read: their gradients add up."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (c[(i + 3 * j) % 4] - s * c[j % 4]) * s * 0.015625

    return loop.run(step, lambda s, c, i, j: s + (c[(i + 3 * j) % 4] - s * c[j % 4]) * s / 64)


@case(rules=["grad.load", "grad.integer"], params={"how": forms(13)}, **TRANSPOSED)
def gathered_with_the_value(qd, dtype, how):
    """The carried value, cut to an integer, picks the constant that changes it."""
    loop = Loop(qd, dtype, how, low=0.1)
    c = loop.c

    @qd.func
    def step(s, i, j):
        at = qd.cast(s * 8.0, qd.i32) % 4
        return s + (c[at] * s - s * s * 0.75) * 0.001953125

    def exact(s, c, i, j):
        return s + (c[int(s * 8) % 4] * s - s * s * 0.75) / 512

    return loop.run(step, exact)


@case(rules=["grad.table"], params={"how": forms(14)}, **TRANSPOSED)
def quotients_and_roots(qd, dtype, how):
    """What divides depends on the carried value."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (c[i] / (1.0 + s * s) - qd.sqrt(2.5 + s) + 1.0) * 0.015625

    return loop.run(step, lambda s, c, i, j: s + (c[i] / (s * s + 1) - sqrt(s + 2.5) + 1) / 64)


@case(rules=["grad.table"], params={"how": forms(15, unrolled=5)}, **TRANSPOSED)
def exponentials_and_angles(qd, dtype, how):
    """exp, tanh and atan2 of the carried value and the constant."""
    loop = Loop(qd, dtype, how)
    c = loop.c

    @qd.func
    def step(s, i, j):
        return s + (qd.exp(-s) - qd.tanh(c[i] * s) - qd.atan2(s, c[i])) * 0.001953125

    return loop.run(step, lambda s, c, i, j: s + (exp(-s) - tanh(c[i] * s) - atan2(s, c[i])) / 512)
