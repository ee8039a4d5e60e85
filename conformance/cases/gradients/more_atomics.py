"""Atomic operations inside loops and branches, on elements that many iterations share."""

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real


@case(rules=["grad.atomic"], **BOUNDED)
def additions_from_nested_loops_and_branches(qd, dtype):
    """A histogram with weights: the place is chosen by a branch, the value by a loop."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(3):
                s = s * s * 0.5 + 0.25 * x[i]
                if s > 0.25:
                    y[0] += s * j
                else:
                    y[1] += s * s

    def plain(x, y):
        out = list(y)
        for a in x:
            s = a
            for j in range(3):
                s = s * s / 2 + a / 4
                if s > 0.25:
                    out[0] = out[0] + s * j
                else:
                    out[1] = out[1] + s * s
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 0.9], y: [0.5, 0.25]}, [y])


@case(rules=["grad.atomic"], **EXACT)
def a_sum_into_a_local_of_the_kernel(qd, dtype):
    """`total += v` in a parallel loop is an atomic addition to a shared local."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        total = x[0] * 2.0
        for i in x:
            total += x[i] * x[i]
        y[None] = total * 4.0

    def plain(x):
        return (2 * x[0] + sum((a * a for a in x), 0)) * 4

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 2.0]}, [y])


@case(rules=["grad.atomic", "grad.overwritten"], params={"form": ["product", "exchange"]}, modes=("reverse",))
def what_an_atomic_loses_is_refused_or_right(qd, form):
    """The product and the exchange forget what was there: without a launch that kept it the gradient is refused."""
    x, y = real(qd, qd.f32, 3), real(qd, qd.f32, ())

    @qd.kernel
    def product():
        for i in x:
            qd.atomic_mul(y[None], x[i])

    @qd.kernel
    def square_of_old():
        for i in x:
            old = qd.atomic_add(y[None], x[i])
            x[i] = old * old

    def run():
        kernel = product if form == "product" else square_of_old
        kernel.grad()

    return Run(run, given={x: 2.0, y: 3.0}, raises=Raises("AdstackError"))


@case(rules=["grad.atomic", "grad.overwritten"], params={"form": ["shared", "own"]}, **BOUNDED)
def products_on_a_tape(qd, dtype, form):
    """Each factor gets the product of the others, also where one of them is 0."""
    x, z, y, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype), real(qd, dtype)

    @qd.kernel
    def shared():
        for i in x:
            qd.atomic_mul(y[None], x[i])

    @qd.kernel
    def own():
        for i in x:
            for j in range(2):
                qd.atomic_mul(z[i], x[i] + j)

    @qd.kernel
    def measure():
        for i in z:
            loss[None] += z[i] * z[i] * (i + 1)
        loss[None] += y[None]

    def run():
        (shared if form == "shared" else own)()
        measure()

    def plain(x, z, y):
        for i, a in enumerate(x):
            if form == "shared":
                y = y * a
            else:
                z[i] = z[i] * a * (a + 1)
        return y + sum((a * a * (i + 1) for i, a in enumerate(z)), 0)

    return agrees(run, plain, {x: [2.5, 0.0, -1.25], z: [0.5, 0.75, 1.5], y: 3.0}, [loss], loss=loss)


@case(rules=["grad.atomic"], params={"n": [1, 3]}, **EXACT)
def additions_to_elements_that_the_same_iteration_reads_never(qd, dtype, n):
    """Scatter to neighbours with wrap-around, n times in one iteration."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            for j in range(n):
                y[(i + j) % 4] += x[i] * (j + 1)
                y[(i + 3) % 4] -= x[i] * 0.5

    def plain(x, y):
        out = list(y)
        for i, a in enumerate(x):
            for j in range(n):
                out[(i + j) % 4] = out[(i + j) % 4] + a * (j + 1)
                out[(i + 3) % 4] = out[(i + 3) % 4] - a / 2
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.5, 2.0], y: [1.0, 2.0, 3.0, 4.0]}, [y], args=(n,))


@case(rules=["grad.atomic", "grad.loop"], **EXACT)
def a_running_maximum_in_a_loop(qd, dtype):
    """max of a local over a loop: the winner's iteration gets the adjoint."""
    x, y = real(qd, dtype, (2, 4)), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in range(2):
            best = x[i, 0]
            for j in range(1, 4):
                best = qd.max(best, x[i, j] * (j + 1))
            y[i] = best * best

    gradient = Gradient(
        seed={y: [1.5, -2.0]},
        expect={x: [[0.0, 0.0, 2 * 6.0 * 1.5 * 3, 0.0], [2 * 5.0 * -2.0, 0.0, 0.0, 0.0]], y: 0.0},
        forward_seed={x: [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]},
        forward_expect={y: [2 * 6.0 * 9.0, 2 * 5.0 * 5.0]},
    )
    given = {x: [[1.0, 2.5, 2.0, 1.25], [5.0, 1.0, -3.0, 0.5]]}
    return Run(k, given=given, expect={y: [36.0, 25.0]}, gradient=gradient)
