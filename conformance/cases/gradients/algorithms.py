"""Algorithms differentiated as they stand: elimination, sorting, relaxation, several tasks with serial code between."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import sqrt


@case(rules=["grad.local", "grad.loop"], **BOUNDED)
def a_determinant_by_elimination(qd, dtype):
    """A local matrix is eliminated in place, three loops deep, at runtime indices."""
    x, y = real(qd, dtype, (3, 3)), real(qd, dtype, ())

    @qd.kernel
    def k():
        for _ in range(1):
            a = qd.Matrix([[x[r, c] for c in range(3)] for r in range(3)])
            for p in range(3):
                for i in range(p + 1, 3):
                    f = a[i, p] / a[p, p]
                    for j in range(p, 3):
                        a[i, j] = a[i, j] - f * a[p, j]
            d = x[0, 0] * 0.0 + 1.0
            for p in range(3):
                d = d * a[p, p]
            y[None] = d

    def plain(m):
        total = 0
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            total = total + m[0][a] * (m[1][b] * m[2][c] - m[1][c] * m[2][b])
        return total

    return agrees(k, plain, {x: [[2.0, -0.75, 0.5], [1.25, 1.5, -0.5], [0.25, 0.75, 3.0]]}, [y])


@case(rules=["grad.local", "grad.choice"], **EXACT)
def a_sort_by_exchanges(qd, dtype):
    """The adjoint of a sorted element goes to where it came from."""
    x, y = real(qd, dtype, (2, 5)), real(qd, dtype, (2, 5))

    @qd.kernel
    def k():
        for r in range(2):
            a = qd.Vector([x[r, c] for c in range(5)])
            for i in range(5):
                for j in range(4 - i):
                    if a[j] > a[j + 1]:
                        a[j], a[j + 1] = a[j + 1], a[j]
            for c in range(5):
                y[r, c] = a[c] * a[c] * (c + 1)

    def plain(x):
        return [[a * a * (c + 1) for c, a in enumerate(sorted(row))] for row in x]

    return agrees(k, plain, {x: [[0.5, -0.25, 1.0, 0.75, 0.125], [1.0, 2.0, -1.0, 0.25, 0.5]]}, [y])


@case(rules=["grad.overwritten"], params={"sweeps": [1, 3]}, **BOUNDED)
def relaxation_in_place(qd, dtype, sweeps):
    """Gauss-Seidel on a tape: each element is overwritten with what its neighbours are by then."""
    x, loss = real(qd, dtype, 5), real(qd, dtype, ())

    @qd.kernel
    def relax(n: qd.i32):
        for _ in range(1):
            for _k in range(n):
                for i in range(1, 4):
                    x[i] = 0.25 * (x[i - 1] * x[i - 1] + x[i + 1]) + 0.5 * x[i]

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += x[i] * (i + 1)

    def run():
        relax(sweeps)
        relax(1)
        measure()

    def plain(x):
        x = list(x)
        for _ in range(sweeps + 1):
            for i in range(1, 4):
                x[i] = (x[i - 1] * x[i - 1] + x[i + 1]) / 4 + x[i] / 2
        return sum((a * (i + 1) for i, a in enumerate(x)), 0)

    return agrees(run, plain, {x: [0.5, 0.7, 0.9, 1.1, 0.4]}, [loss], loss=loss)


@case(rules=["grad.local", "grad.loop"], **BOUNDED)
def sums_of_several_tasks_that_use_each_other(qd, dtype):
    """Kernel-level locals, added to in parallel loops, and computed with between them."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        a = x[0] * 0.0
        for i in x:
            a += x[i] * x[i]
        b = qd.sqrt(a)
        for i in x:
            a += b * x[i]
        for i in x:
            y[i] = a * b * x[i]

    def plain(x):
        a = sum((v * v for v in x), 0)
        b = sqrt(a)
        a = a + sum((b * v for v in x), 0)
        return [a * b * v for v in x]

    return agrees(k, plain, {x: [0.5, -0.75, 1.2]}, [y])


@case(rules=["grad.load", "grad.store"], **BOUNDED)
def serial_statements_between_parallel_loops(qd, dtype):
    """Elements are read and written by the kernel itself, between two of its loops."""
    x, t, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            t[i] = x[i] * x[i]
        a = t[0] * t[1]
        t[2] = a * t[3]
        for i in x:
            y[None] += t[i] * a

    def plain(x, y):
        t = [a * a for a in x]
        a = t[0] * t[1]
        t[2] = a * t[3]
        return y + sum((b * a for b in t), 0), t

    return agrees(k, plain, {x: [0.5, 1.7, 2.9, -0.3], y: 0.2}, [y, t])


@case(rules=["grad.overwritten"], **BOUNDED)
def a_loss_that_is_transformed_in_place(qd, dtype):
    """The square root of the loss is stored over it."""
    x, loss = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def add():
        for i in x:
            loss[None] += x[i] * x[i]

    @qd.kernel
    def finish():
        for _ in range(1):
            loss[None] = qd.sqrt(loss[None]) * x[0]

    def run():
        add()
        finish()

    return agrees(run, lambda x: sqrt(sum((a * a for a in x), 0)) * x[0], {x: [0.5, 0.7, 0.9]}, [loss], loss=loss)
