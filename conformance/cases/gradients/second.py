"""Second derivatives: forward mode around reverse mode gives Hessian-vector products at `.grad.dual`."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

TYPES = ["f32", "f64"]
DIRECTION = [1.0, -0.5, 2.0]


def hessian(qd, x, loss, program):
    """What computes the gradient of `loss` by `x` on a tape, and the gradient's derivative along the direction."""

    def run():
        with qd.ad.FwdMode(loss=loss, param=x, seed=DIRECTION), qd.ad.Tape(loss):
            program()

    return run


def cubes(x):
    """Sum of x^3, its gradient, and the Hessian, a diagonal of 6 x, times the direction."""
    return [(3 * a * a, 6 * a * v) for a, v in zip(x, DIRECTION, strict=True)]


@case(rules=["grad.second"], dtypes=TYPES)
def a_hessian_times_a_vector(qd, dtype):
    """x[i] meets x[j] in another kernel, through memory: all rows of the Hessian are full."""
    x, t, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype)

    @qd.kernel
    def square():
        for i in x:
            t[i] = x[i] * x[i]

    @qd.kernel
    def pairs():
        for i, j in qd.ndrange(3, 3):
            loss[None] += t[i] * x[j]

    def program():
        square()
        pairs()

    # S = sum of squares, T = sum: loss = S T, gradient 2 x T + S, derivative 2 v T + 2 x sum(v) + 2 x.v
    xs = [0.5, -1.0, 3.0]
    squares, total = 10.25, 2.5
    along, dot = 2.5, 0.5 + 0.5 + 6.0
    second = [2 * v * total + 2 * a * along + 2 * dot for a, v in zip(xs, DIRECTION, strict=True)]
    expect = [(loss, squares * total), (x.grad, [2 * a * total + squares for a in xs]), (x.grad.dual, second)]
    return Run(hessian(qd, x, loss, program), given={x: xs}, expect=expect)


@case(rules=["grad.second"], dtypes=TYPES, params={"how": ["for", "while"]})
def second_derivatives_through_adstacks(qd, dtype, how):
    """A carried value whose tangents the reverse loop needs, too: s <- s^2, two or three times."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            if qd.static(how == "for"):
                for _ in range(n):
                    s = s * s
            else:
                j = 0
                while j < n and s < 1000.0:
                    s = s * s
                    j += 1
            y[i] = s

    def run():
        with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
            k(2)
            y.grad.fill(1.0)
            k.grad(2)

    xs = [0.5, -1.0, 2.0]
    second = [12 * a * a * v for a, v in zip(xs, DIRECTION, strict=True)]
    return Run(run, given={x: xs}, expect=[(x.grad, [4 * a**3 for a in xs]), (x.grad.dual, second), (y.grad.dual, 0.0)])


@case(rules=["grad.second"], dtypes=TYPES)
def second_derivatives_of_steps_in_place(qd, dtype):
    """Launches overwrite values and tangents that the reverse passes of earlier ones need."""
    x, loss = real(qd, dtype, 3), real(qd, dtype)

    @qd.kernel
    def step():
        for i in x:
            x[i] = x[i] * x[i]

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def program():
        step()
        step()
        total()

    xs = [0.5, -1.0, 2.0]
    second = [12 * a * a * v for a, v in zip(xs, DIRECTION, strict=True)]
    expect = [(x, [a**4 for a in xs]), (x.grad, [4 * a**3 for a in xs]), (x.grad.dual, second)]
    return Run(hessian(qd, x, loss, program), given={x: xs}, expect=expect)


@case(rules=["grad.second"], dtypes=TYPES)
def second_derivatives_of_array_arguments(qd, dtype):
    """Ndarrays have duals of their gradients as fields do."""
    x, t = (qd.ndarray(dtype, shape=(3,), needs_grad=True, needs_dual=True) for _ in range(2))
    loss = real(qd, dtype)

    @qd.kernel
    def cube(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i] * a[i]

    @qd.kernel
    def total(b: qd.types.ndarray()):
        for i in b:
            loss[None] += b[i]

    def program():
        cube(x, t)
        total(t)

    xs = [0.5, -1.0, 3.0]
    first, second = zip(*cubes(xs), strict=True)
    return Run(hessian(qd, x, loss, program), given={x: xs}, expect=[(x.grad, [*first]), (x.grad.dual, [*second])])


def cubed(qd, dtype):
    """Two kernels that overwrite an array argument, of which one has to be logged."""

    @qd.kernel
    def whole(x: qd.types.ndarray(), s: dtype):
        for i in range(x.shape[0]):
            x[i] = x[i] * x[i] * x[i] * s

    @qd.kernel
    def logged(x: qd.types.ndarray(), s: dtype):
        qd.loop_config(serialize=True)
        for i in range(x.shape[0]):
            old = qd.atomic_exchange(x[i], 0.0)
            x[i] = old * old * old * s

    return whole, logged


@case(rules=["grad.second", "grad.kept"], dtypes=TYPES, params={"logs": [False, True], "by": ["position", "name"]})
def second_derivatives_of_array_arguments_in_place(qd, dtype, logs, by):
    """A launch in forward mode keeps what it overwrites of ndarrays, where no field has a gradient."""
    x, other = (qd.ndarray(dtype, shape=(3,), needs_grad=True, needs_dual=True) for _ in range(2))
    k = cubed(qd, dtype)[logs]

    def program():
        other.fill(4.0)
        with qd.ad.FwdMode(loss=x, param=x, seed=DIRECTION):
            k(x, 2.0) if by == "position" else k(s=2.0, x=x)
            k(other, 1.0)
            x.grad.fill(1.0)
            k.grad(x, 2.0)

    xs = [0.5, -1.0, 2.0]
    second = [12 * a * v for a, v in zip(xs, DIRECTION, strict=True)]
    return Run(program, given={x: xs}, expect=[(x.grad, [6 * a * a for a in xs]), (x.grad.dual, second)])


@case(rules=["grad.second", "grad.kept"], dtypes=TYPES, params={"by": ["position", "name"]})
def second_derivatives_of_array_arguments_loop_by_loop(qd, dtype, by):
    """What a loop overwrites in a field is kept as the next one found it."""
    x, z = qd.ndarray(dtype, shape=(3,), needs_grad=True, needs_dual=True), real(qd, dtype, 3)

    @qd.kernel
    def k(x: qd.types.ndarray(), s: dtype):
        for i in range(x.shape[0]):
            z[i] = x[i] * x[i] * s
        for i in z:
            z[i] = z[i] * z[i] * z[i]

    def program():
        with qd.ad.FwdMode(loss=z, param=x, seed=DIRECTION):
            k(x, 2.0) if by == "position" else k(s=2.0, x=x)
            z.grad.fill(1.0)
            k.grad(x, 2.0)

    xs = [0.5, -1.0, 2.0]
    second = [240 * a**4 * v for a, v in zip(xs, DIRECTION, strict=True)]
    return Run(program, given={x: xs}, expect=[(x.grad, [48 * a**5 for a in xs]), (x.grad.dual, second)])


@case(rules=["grad.second", "sizing.checkpoints"], options={"ad_stack_heap_limit": 1024})
def second_derivatives_with_checkpoints(qd):
    """A loop that keeps more than the heap may hold runs again from snapshots, tangents included."""
    x, y, w = real(qd, qd.f32, 3), real(qd, qd.f32, 3), real(qd, qd.f32, 4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(400):
                s = s * w[j % 4]
            y[i] = s * s

    def run():
        with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
            k()
            y.grad.fill(1.0)
            k.grad()

    # s = x: y = x^2, and d2 y / dx dw[j] = 4 x * 100 / w[j], of which the loop adds up one term for each use
    weights = [-200.0 * sum(DIRECTION) * 2] * 4
    expect = [(x.grad, 2.0), (x.grad.dual, [2 * v for v in DIRECTION]), (w.grad, -600.0), (w.grad.dual, weights)]
    return Run(run, given={x: 1.0, w: -1.0}, expect=expect)


@case(rules=["grad.second"], dtypes=TYPES)
def a_gradient_whose_adjoint_moves(qd, dtype):
    """The dual of an output's gradient is the derivative of the seed: d(2 x w)/dt = 2 (x' w + x w')."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * x[i]

    def run():
        with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
            k()
            y.grad.fill(4.0)
            y.grad.dual.fill(0.5)
            k.grad()

    xs = [0.5, -1.0, 3.0]
    second = [2 * (4 * v + 0.5 * a) for a, v in zip(xs, DIRECTION, strict=True)]
    expect = [(x.grad, [8 * a for a in xs]), (x.grad.dual, second), (y.grad, 4.0), (y.grad.dual, 0.5)]
    return Run(run, given={x: xs}, expect=expect)


@case(rules=["grad.second"])
def a_gradient_without_a_dual_is_an_error(qd):
    """What has a gradient and no dual would be constant in one of the two modes alone."""
    x, loss = real(qd, qd.f32, 3), real(qd, qd.f32)
    w = qd.field(qd.f32, shape=3, needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i] * w[i]

    return Run(hessian(qd, x, loss, k), raises=Raises("RuntimeError", "has a gradient and no dual"))


@case(rules=["grad.second"], params={"how": ["returned", "read"]})
def what_the_host_computes_has_no_second_derivative(qd, how):
    """Under a Tape inside of forward mode, a number of the host's can't be stored where it would be differentiated."""
    x, loss = real(qd, qd.f32, 3), real(qd, qd.f32)

    @qd.kernel
    def k() -> qd.f32:
        s = 0.0
        for i in range(3):
            s += x[i] * x[i]
        return s

    def program():
        loss[None] = 2.0 * (k() if how == "returned" else x[0])

    return Run(hessian(qd, x, loss, program), raises=Raises("RuntimeError", "no second derivatives of what the host"))


@case(rules=["grad.forward"], dtypes=TYPES)
def columns_of_a_jacobian(qd, dtype):
    """Nine columns, several of which a launch computes: y[i] = x[i]^4 x[8 - i] by a loop and a branch."""
    x, y, columns = real(qd, dtype, 9), real(qd, dtype, 9), qd.field(dtype, shape=(9, 9))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(3):
                if j < 2:
                    s = s * s
                else:
                    y[i] = s * x[8 - i]

    def run():
        columns.from_numpy(qd.ad.jacobian(k, y, x))

    xs = [0.5, -1.0, 2.0, 0.25, -0.5, 4.0, 1.0, -2.0, 8.0]
    expected = [[0.0] * 9 for _ in xs]
    for i, a in enumerate(xs):
        expected[i][i] += 4 * a**3 * xs[8 - i]
        expected[i][8 - i] += a**4
    return Run(run, given={x: xs}, expect=[(columns, expected), (x, xs)])


@case(rules=["grad.second"], dtypes=TYPES)
def columns_of_a_hessian(qd, dtype):
    """Nine columns, several of which a launch computes: of the sum of x[i]^4 x[8 - i], by a loop and a branch."""
    x, y, loss = real(qd, dtype, 9), real(qd, dtype, 9), real(qd, dtype)
    columns = qd.field(dtype, shape=(9, 9))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(3):
                if j < 2:
                    s = s * s
                else:
                    y[i] = s * x[8 - i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def program():
        y.fill(1.0)
        k()
        total()

    def run():
        columns.from_numpy(qd.ad.hessian(program, loss, x))

    xs = [0.5, -1.0, 2.0, 0.25, -0.5, 4.0, 1.0, -2.0, 8.0]
    expected = [[0.0] * 9 for _ in xs]
    for i, a in enumerate(xs):
        expected[i][i] += 12 * a**2 * xs[8 - i]
        expected[i][8 - i] += 4 * a**3
        expected[8 - i][i] += 4 * a**3
    return Run(run, given={x: xs}, expect=[(columns, expected), (x, xs)])


@case(rules=["grad.second"], dtypes=TYPES)
def columns_of_a_hessian_of_steps_in_place(qd, dtype):
    """What launches overwrite of array arguments comes back for all columns: the sum of x[i]^2 x[8 - i]^2."""
    x = qd.ndarray(dtype, shape=(9,), needs_grad=True, needs_dual=True)
    loss, columns = real(qd, dtype), qd.field(dtype, shape=(9, 9))

    @qd.kernel
    def square(a: qd.types.ndarray()):
        for i in a:
            a[i] = a[i] * a[i]

    @qd.kernel
    def total(a: qd.types.ndarray()):
        for i in a:
            loss[None] += a[i] * a[8 - i]

    def program():
        square(x)
        total(x)

    def run():
        columns.from_numpy(qd.ad.hessian(program, loss, x))

    xs = [0.5, -1.0, 2.0, 0.25, -0.5, 4.0, 1.0, -2.0, 8.0]
    expected = [[0.0] * 9 for _ in xs]
    for i, a in enumerate(xs):
        b = xs[8 - i]
        for row, column, number in ((i, i, 2 * b * b), (8 - i, 8 - i, 2 * a * a), (i, 8 - i, 4 * a * b)):
            expected[row][column] += number
        expected[8 - i][i] += 4 * a * b
    return Run(run, given={x: xs}, expect=[(columns, expected), (x, xs)])


@case(rules=["grad.second", "sizing.checkpoints"], options={"ad_stack_heap_limit": 4096})
def columns_of_a_hessian_with_checkpoints(qd):
    """Loops that keep more than the heap may hold: the sum of x[i] times the product of all x[j]^50, at 1 and -1."""
    x, y, loss = real(qd, qd.f32, 8), real(qd, qd.f32, 8), real(qd, qd.f32)
    columns = qd.field(qd.f32, shape=(8, 8))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(400):
                s = s * x[j % 8]
            y[i] = s

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def program():
        k()
        total()

    def run():
        columns.from_numpy(qd.ad.hessian(program, loss, x))

    xs = [1.0, 1.0, 1.0, -1.0] * 2
    expected = [[50 * (a + b) + sum(xs) * 2500 * a * b for b in xs] for a in xs]
    for i in range(8):
        expected[i][i] -= 50 * sum(xs)
    return Run(run, given={x: xs}, expect=[(columns, expected), (x, xs)])
