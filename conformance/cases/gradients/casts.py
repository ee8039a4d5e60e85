"""Types: casts between floats pass gradients; integers, steps and stop_grad stop them."""

from adstack.conformance.case import Gradient, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real

MODES = ("forward", "reverse", "forward-mode")


@case(rules=["grad.integer"], **EXACT)
def a_cast_to_an_integer_stops_the_gradient(qd, dtype):
    """The truncated part is constant, the rest is not."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * 2.0 + qd.cast(x[i] * 4.0, qd.i32) * x[i] + qd.cast(x[i], qd.i32)

    def plain(x):
        return [a * 2 + int(a * 4) * a + int(a) for a in x]

    return agrees(k, plain, {x: [0.625, -1.75, 2.5, 3.25]}, [y])


@case(rules=["grad.integer", "grad.precision"], modes=MODES)
def a_cast_between_floats_passes_the_gradient(qd):
    """f32 to f64 and back: the adjoint is converted like the value."""
    x, y = real(qd, qd.f32, 3), real(qd, qd.f64, 3)

    @qd.kernel
    def k():
        for i in x:
            wide = qd.cast(x[i], qd.f64) * 3.0
            y[i] = wide + qd.cast(qd.cast(wide, qd.f32) * x[i], qd.f64)

    def plain(x):
        return [3 * a + 3 * a * a for a in x]

    return agrees(k, plain, {x: [0.625, -1.75, 2.5]}, [y])


@case(rules=["grad.precision"], modes=("forward", "reverse"))
def an_adjoint_has_the_precision_of_its_value(qd):
    """An adjoint of 1 + 2^-40 reaches an f32 as 1; a sum of two such in f32 is 2."""
    x, y = real(qd, qd.f32, 2), real(qd, qd.f64, 2)

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.cast(x[i], qd.f64)

    near_one = 1 + 2.0**-40
    gradient = Gradient(seed={y: [near_one, -near_one]}, expect={x: [1.0, -1.0], y: 0.0})
    return Run(k, given={x: [0.5, 2.0]}, expect={y: [0.5, 2.0]}, gradient=gradient)


@case(rules=["grad.stops"], params={"op": ["floor", "ceil", "round", "floordiv", "compare", "bits"]}, **EXACT)
def steps_have_no_gradient(qd, dtype, op):
    """y = 4 x + step(x) x: the step is a constant factor."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.func
    def step(a):
        r = a * 0.0
        if qd.static(op == "floor"):
            r = qd.floor(a)
        if qd.static(op == "ceil"):
            r = qd.ceil(a)
        if qd.static(op == "round"):
            r = qd.round(a)
        if qd.static(op == "floordiv"):
            r = a // 0.5
        if qd.static(op == "compare"):
            r = qd.select(a > 0.0, 1.0, 0.0)
        if qd.static(op == "bits"):
            r = qd.cast((qd.cast(a * 8.0, qd.i32) >> 1) & 5, dtype)
        return r

    @qd.kernel
    def k():
        for i in x:
            y[i] = 4.0 * x[i] + step(x[i]) * x[i]

    steps = {
        "floor": [0, -2, 2, 3],
        "ceil": [1, -1, 3, 4],
        "round": [1, -2, 3, 3],
        "floordiv": [1, -4, 4, 6],
        "compare": [1, 0, 1, 1],
        "bits": [0, 1, 0, 5],
    }[op]
    values = [0.625, -1.75, 2.375, 3.25]
    if op == "round":
        steps = [1, -2, 2, 3]
    if op == "bits":
        steps = [(int(v * 8) >> 1) & 5 for v in values]

    def plain(x):
        return [4 * a + n * a for a, n in zip(x, steps)]

    return agrees(k, plain, {x: values}, [y])


@case(rules=["grad.stops"], **BOUNDED)
def a_remainder_is_one_along_its_first_operand(qd, dtype):
    """x % w: 1 in x, -floor(x / w) in w."""
    x, w, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] % w[i]

    def plain(x, w):
        return [a % b for a, b in zip(x, w)]

    return agrees(k, plain, {x: [0.625, -1.75, 2.5, 3.25], w: [0.5, 0.75, -1.5, 5.0]}, [y])


@case(rules=["grad.integer"], **EXACT)
def integers_computed_beside_floats(qd, dtype):
    """Counters, indices and integer fields carry nothing, however they are mixed with floats."""
    x, y, n = real(qd, dtype, 4), real(qd, dtype, 4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            count = 0
            for j in range(4):
                if x[i] > j * 0.5:
                    count += j + 1
            n[i] = count
            y[i] = count * x[i] + n[(i + 1) % 4] * 0.0 + i

    def plain(x):
        return [sum(j + 1 for j in range(4) if a > j * 0.5) * a + i for i, a in enumerate(x)]

    return agrees(k, plain, {x: [0.625, 1.75, 1.25, 3.25]}, [y])


@case(rules=["grad.constant"], **EXACT)
def a_value_whose_gradient_is_stopped(qd, dtype):
    """stop_grad gives a number, or a vector, as a constant: once, carried by a loop, and of what is no variable."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(2):
                v = qd.stop_grad(v) * x[i] + v
            w = qd.ad.stop_grad(qd.Vector([v, x[i]])) * x[i] * qd.stop_grad(2.0)
            y[i] = w[0] + w[1] + qd.stop_grad(x[i] + i) + qd.stop_grad(i)

    values = [1.0, 0.5, -2.0]
    carried = [a * (1 + a) ** 2 for a in values]
    slopes = [2 * (v + a) for v, a in zip(carried, values, strict=True)]
    gradient = Gradient(
        seed={y: [1.0, -2.0, 0.5]},
        expect={x: [slopes[0], -2.0 * slopes[1], 0.5 * slopes[2]]},
        forward_seed={x: [1.0, 4.0, -0.5]},
        forward_expect={y: [slopes[0], 4.0 * slopes[1], -0.5 * slopes[2]]},
    )
    out = [a * s + a + 2 * i for i, (a, s) in enumerate(zip(values, slopes, strict=True))]
    return Run(k, given={x: values}, expect={y: out}, gradient=gradient)
