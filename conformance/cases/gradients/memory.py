"""Loads, stores and atomics: which element the adjoint goes to, and what it finds there."""

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, floats, real
from adstack.conformance.plain import sin

EACH = ("forward", "reverse", "forward-mode")


@case(rules=["grad.load"], **EXACT)
def every_read_adds_to_the_gradient(qd, dtype):
    """The gradient of an element that is only read starts from what it was."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in y:
            y[i] = 2.0 * x[0] + x[i % 2] * x[1]

    # y = [2 a + a b, 2 a + b b, 2 a + a b] at a = 3, b = -0.5, weights 1.5, -2, 0.25
    gradient = Gradient(
        seed={y: [1.5, -2.0, 0.25], x: [10.0, 20.0]},
        expect={x: [10 + 1.75 * 1.5 - 4, 20 + 1.75 * 3 + 2], y: 0.0},
        forward_seed={x: [2.0, -3.0]},
        forward_expect={y: [4 - 1 - 9, 4 + 3, 4 - 1 - 9]},
    )
    return Run(k, given={x: [3.0, -0.5]}, expect={y: [4.5, 6.25, 4.5]}, gradient=gradient)


@case(rules=["grad.store"], **EXACT)
def a_store_consumes_and_an_addition_keeps(qd, dtype):
    """After the reverse pass the overwritten element's gradient is 0, the added-to one's is unchanged."""
    x, y, z = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            y[i] = 4.0 * x[i]
            z[i] += 8.0 * x[i]

    gradient = Gradient(
        seed={y: [1.5, -2.0], z: [0.5, 3.0]},
        expect={x: [6.0 + 4.0, -8.0 + 24.0], y: 0.0, z: [0.5, 3.0]},
        forward_seed={x: [2.0, -3.0]},
        forward_expect={y: [8.0, -12.0], z: [16.0, -24.0]},
    )
    given = {x: [3.0, -0.5], y: 7.0, z: 1.0}
    return Run(k, given=given, expect={y: [12.0, -2.0], z: [25.0, -3.0]}, gradient=gradient)


@case(rules=["grad.store"], **EXACT)
def two_stores_to_one_element(qd, dtype):
    """The first of them has no effect, so it has no gradient."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def k():
        for _ in range(1):
            y[None] = 16.0 * x[0]
            y[None] = 4.0 * x[1]

    gradient = Gradient(
        seed={y: -2.5},
        expect={x: [0.0, -10.0], y: 0.0},
        forward_seed={x: [2.0, -3.0]},
        forward_expect={y: -12.0},
    )
    return Run(k, given={x: [3.0, -0.5]}, expect={y: -2.0}, gradient=gradient)


@case(rules=["grad.store", "grad.load"], **BOUNDED)
def a_value_stored_is_read_again(qd, dtype):
    """A later statement of the iteration reads what an earlier one stored: nothing is lost, nothing refused."""
    x, t, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            t[i] = x[i] * x[i]
            y[i] = t[i] * x[i] + qd.sin(t[i])

    def plain(x):
        return [a * a * a + sin(a * a) for a in x], [a * a for a in x]

    return agrees(k, plain, {x: floats(4)}, [y, t])


@case(rules=["grad.meaning", "grad.store"], **BOUNDED)
def one_field_holds_a_history(qd, dtype):
    """x[t + 1] from x[t] in one field: all entries are there when the reverse pass needs them."""
    x, w = real(qd, dtype, (6, 3)), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in range(3):
            for t in range(5):
                x[t + 1, i] = x[t, i] * w[i] + qd.sin(x[t, i])

    def plain(x, w):
        rows = [list(row) for row in x]
        for t in range(5):
            rows[t + 1] = [a * b + sin(a) for a, b in zip(rows[t], w)]
        return rows

    start = [[0.5, -0.75, 1.25]] + [[0.25] * 3] * 5
    return agrees(k, lambda w, x: plain(x, w), {w: [0.5, 0.75, -0.25], x: start}, [x])


@case(rules=["grad.load", "grad.atomic"], params={"form": ["atomic", "augmented"]}, **BOUNDED)
def gather_and_scatter_with_indices_from_memory(qd, dtype, form):
    """Elements repeat on both sides."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 3)
    source, target = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)
    sources, targets = [0, 2, 2, 3, 1, 0], [1, 1, 0, 2, 2, 1]

    @qd.kernel
    def atomic():
        for i in source:
            qd.atomic_add(y[target[i]], x[source[i]] * x[source[i]] * (i + 1))

    @qd.kernel
    def augmented():
        for i in source:
            y[target[i]] += x[source[i]] * x[source[i]] * (i + 1)

    def plain(x, y):
        out = list(y)
        for i, (a, b) in enumerate(zip(sources, targets)):
            out[b] = out[b] + x[a] * x[a] * (i + 1)
        return out

    kernel = atomic if form == "atomic" else augmented
    given = {x: [0.5, -0.75, 1.25, 0.2], y: [0.5, 0.25, 0.125]}
    return agrees(kernel, plain, given, [y], constant={source: sources, target: targets})


@case(rules=["grad.load", "grad.integer"], **BOUNDED)
def a_walk_along_links(qd, dtype):
    """The index of the next load is carried by the loop, with a branch that stays where it is."""
    x, y = real(qd, dtype, 5), real(qd, dtype, 5)
    link = qd.field(qd.i32, shape=5)
    links = [2, 0, 4, 1, 1]

    @qd.kernel
    def k():
        for i in y:
            at, s = i, x[i] * 0.0 + 1.0
            for j in range(6):
                s = s * x[at] + 0.5
                if s < 1.0:
                    at = link[at]
            y[i] = s

    def plain(x):
        out = []
        for i in range(5):
            at, s = i, 1
            for _ in range(6):
                s = s * x[at] + 0.5
                if s < 1:
                    at = links[at]
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 0.2, 0.9]}, [y], constant={link: links})


@case(rules=["grad.atomic"], params={"form": ["max", "min"]}, **EXACT)
def an_atomic_extreme_gives_to_the_winner(qd, dtype, form):
    """Of the values and what was there before, only the one that stayed gets the adjoint."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 2)

    @qd.kernel
    def maximum():
        for i in x:
            qd.atomic_max(y[i // 2], 2.0 * x[i])

    @qd.kernel
    def minimum():
        for i in x:
            qd.atomic_min(y[i // 2], 2.0 * x[i])

    kernel, sign = (maximum, 1) if form == "max" else (minimum, -1)
    gradient = Gradient(seed={y: [1.5, -2.5]}, expect={x: [0.0, 3.0, 0.0, 0.0], y: [0.0, -2.5]})
    if form == "min":
        gradient = Gradient(seed={y: [1.5, -2.5]}, expect={x: [0.0, 3.0, 0.0, 0.0], y: [0.0, -2.5]})
    given = {x: [sign * v for v in (0.5, 2.0, 1.0, -3.0)], y: [sign * 1.0, sign * 4.0]}
    run = Run(kernel, given=given, expect={y: [sign * 4.0, sign * 4.0]}, gradient=gradient)
    forward = Gradient(gradient.seed, gradient.expect, {x: [2.0, -3.0, 0.25, 1.0]}, {y: [-6.0, 0.0]})
    return Run(run.kernel, given=run.given, expect=run.expect, gradient=forward)


@case(rules=["grad.atomic"], **EXACT)
def an_atomic_subtraction(qd, dtype):
    """The adjoint of what is subtracted is negated."""
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[None] -= x[i] * (i + 1)

    def plain(x, y):
        return y - x[0] - 2 * x[1] - 3 * x[2]

    return agrees(k, plain, {x: [0.5, -2.0, 4.0], y: 1.5}, [y])


@case(rules=["grad.atomic"], **EXACT)
def the_old_value_of_an_addition_carries_a_gradient(qd, dtype):
    """What an atomic addition returns is a load of the element before it."""
    x, y, z = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            z[i] = 2.0 * qd.atomic_add(y[i], 4.0 * x[i])

    def plain(x, y):
        return [2 * b for b in y], [b + 4 * a for a, b in zip(x, y)]

    return agrees(k, plain, {x: [0.5, -2.0], y: [1.5, 3.0]}, [z, y])


@case(rules=["grad.overwritten"], params={"form": ["square", "loop", "augmented"]}, modes=("reverse",))
def a_value_lost_for_good_is_refused(qd, form):
    """`x[i] = x[i] * x[i]`: the reverse pass needs the old value, and without a launch nobody has kept it."""
    x = real(qd, qd.f32, 3)

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @qd.kernel
    def loop():
        for i in x:
            for _ in range(3):
                x[i] = x[i] * x[i]

    @qd.kernel
    def augmented():
        for i in x:
            x[i] *= x[i]

    kernel = {"square": square, "loop": loop, "augmented": augmented}[form]

    def run():
        kernel.grad()

    return Run(run, given={x: 3.0}, raises=Raises("DataAccessError", "Breaks the global data access rule"))


@case(rules=["grad.overwritten"], params={"form": ["square", "loop", "augmented"]}, **BOUNDED)
def a_value_lost_is_recovered_by_a_tape(qd, dtype, form):
    """The same kernels on a tape, and in forward mode, are differentiated at the values they computed with."""
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i] * 0.5

    @qd.kernel
    def loop():
        for i in x:
            for _ in range(3):
                x[i] = x[i] * x[i] * 0.5

    @qd.kernel
    def augmented():
        for i in x:
            x[i] *= x[i] * 0.5

    @qd.kernel
    def total():
        for i in x:
            y[None] += x[i] * (i + 1)

    change = {"square": square, "loop": loop, "augmented": augmented}[form]

    def run():
        change()
        total()

    def plain(x):
        for _ in range(3 if form == "loop" else 1):
            x = [a * a / 2 for a in x]
        return x[0] + 2 * x[1] + 3 * x[2]

    return agrees(run, plain, {x: [3.0, 0.5, -1.25]}, [y], loss=y)


@case(rules=["grad.constant"], **EXACT)
def a_place_without_a_gradient_is_constant(qd, dtype):
    """Also where the launch writes to it and reads it back; and so are scalar arguments."""
    x, t, y = real(qd, dtype, 3), qd.field(dtype, shape=3), real(qd, dtype, 3)

    @qd.kernel
    def k(a: dtype):
        for i in x:
            t[i] = 8.0 * x[i]
            y[i] = t[i] + a * x[i]

    gradient = Gradient(
        seed={y: [1.5, -2.0, 0.5]},
        expect={x: [3.75, -5.0, 1.25], y: 0.0},
        forward_seed={x: [2.0, 4.0, -1.0]},
        forward_expect={y: [5.0, 10.0, -2.5]},
    )
    return Run(k, (2.5,), given={x: [1.0, 2.0, -4.0]}, expect={y: [10.5, 21.0, -42.0]}, gradient=gradient)


@case(rules=["grad.local"], params={"n": [0, 1, 5]}, **BOUNDED)
def local_arrays_with_runtime_indices(qd, dtype, n):
    """A vector that is written and read at indices only known at run time, more than once."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            a = qd.Vector([x[i], x[i] * 2.0, x[i] * x[i], 0.5])
            for j in range(n):
                at = (3 * j + i) % 4
                a[at] = a[(j + 1) % 4] * a[at] + 0.25
            y[i] = a[0] + a[1] * a[2] + a[3]

    def plain(x):
        out = []
        for i, s in enumerate(x):
            a = [s, 2 * s, s * s, 0.5]
            for j in range(n):
                at = (3 * j + i) % 4
                a[at] = a[(j + 1) % 4] * a[at] + 0.25
            out.append(a[0] + a[1] * a[2] + a[3])
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y], args=(n,))


@case(rules=["grad.random"], dtypes=["f32", "f64"], modes=("reverse", "forward-mode"))
def random_numbers_are_constants(qd, dtype):
    """What is drawn is added: nothing depends on it."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i] + qd.random(dtype)

    gradient = Gradient(
        seed={y: [1.5, -2.0, 0.5]},
        expect={x: [1.5, 8.0, 3.0], y: 0.0},
        forward_seed={x: [2.0, 4.0, -1.0]},
        forward_expect={y: [2.0, -16.0, -6.0]},
    )
    return Run(k, given={x: [0.5, -2.0, 3.0]}, gradient=gradient)


@case(rules=["grad.random", "grad.overwritten"], modes=("reverse",))
def random_numbers_that_would_have_to_be_drawn_again_are_refused(qd):
    """Only the forward launch has seen them: without one there is nothing to differentiate."""
    x, y = real(qd, qd.f32, 3), real(qd, qd.f32, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.random(qd.f32) * x[i]

    def run():
        k.grad()

    return Run(run, given={x: 1.0}, raises=Raises("DataAccessError", "Breaks the global data access rule"))


@case(rules=["grad.random"], dtypes=["f32", "f64"])
def random_numbers_that_were_stored(qd, dtype):
    """Drawn by one kernel, used by the next: the gradient of r x is r."""
    x, r, loss = real(qd, dtype, 3), qd.field(dtype, shape=3), real(qd, dtype, ())
    difference = qd.field(dtype, shape=3)

    @qd.kernel
    def draw():
        for i in r:
            r[i] = qd.random(dtype)

    @qd.kernel
    def use():
        for i in x:
            loss[None] += r[i] * x[i] * x[i]

    @qd.kernel
    def compare():
        for i in x:
            difference[i] = x.grad[i] - r[i] * 4.0

    def run():
        with qd.ad.Tape(loss):
            draw()
            use()
        compare()

    return Run(run, given={x: 2.0}, expect={difference: 0.0})
