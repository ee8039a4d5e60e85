"""What kernels return: its adjoint in `.grad()`, and what the host makes of it under a Tape and in forward mode."""

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import EXACT, agrees, real

PLAIN = {"dtypes": ["f32", "f64"], "options": {"default_fp": "dtype"}}
SAVED = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "ad_snapshot": True}}
DEBUG = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "debug": True}}
GIVEN = [0.5, 3.0, -0.25, -1.5]
CUBES = [3 * a * a for a in GIVEN]


def cubes(qd, dtype):
    """A field, and a kernel that returns the sum of the cubes of its elements."""
    x = real(qd, dtype, 4)

    @qd.kernel
    def k() -> dtype:
        s = 0.0
        for i in x:
            s += x[i] * x[i] * x[i]
        return s

    return x, k


@case(rules=["grad.returned"], modes=("forward", "reverse"), **PLAIN)
def a_kernel_that_returns_its_loss(qd, dtype):
    """One real number is seeded with 1."""
    x, k = cubes(qd, dtype)
    loss = sum(a**3 for a in GIVEN)
    return Run(k, given={x: GIVEN}, returns=loss, gradient=Gradient(expect={x: CUBES}))


def asked_twice(qd, dtype):
    """An adjoint of 1, then another one of -2."""
    x, k = cubes(qd, dtype)

    def program():
        k()
        k.grad()
        k.grad(seed=-2.0)

    return Run(program, given={x: GIVEN}, expect=[(x.grad, [-c for c in CUBES])])


@case(rules=["grad.returned"], **PLAIN)
def seeds_add_up(qd, dtype):
    """An adjoint of 1, then another one of -2."""
    return asked_twice(qd, dtype)


@case(rules=["grad.returned", "grad.snapshot"], **SAVED)
def seeds_with_a_snapshot(qd, dtype):
    """An adjoint of 1, then another one of -2, of a launch that is remembered."""
    return asked_twice(qd, dtype)


@case(rules=["grad.returned", "grad.changed"], **DEBUG)
def seeds_in_debug_mode(qd, dtype):
    """An adjoint of 1, then another one of -2, of a launch that is checked."""
    return asked_twice(qd, dtype)


@case(rules=["grad.returned", "grad.overwritten"], **SAVED)
def a_loss_of_what_is_overwritten(qd, dtype):
    """The kernel returns what it computes from elements that it overwrites."""
    x = real(qd, dtype, 4)

    @qd.kernel
    def k() -> dtype:
        s = 0.0
        for i in x:
            s += x[i] * x[i]
            x[i] = x[i] * x[i] * x[i]
        return s * x[0]

    def program():
        k()
        k.grad(seed=2.0)

    squares = sum(a * a for a in GIVEN)
    first = [2 * 2 * a * GIVEN[0] ** 3 for a in GIVEN]
    first[0] += 2 * squares * 3 * GIVEN[0] ** 2
    return Run(program, given={x: GIVEN}, expect=[(x.grad, first), (x, [a**3 for a in GIVEN])])


@case(rules=["grad.returned"], **PLAIN)
def a_parameter_called_seed(qd, dtype):
    """It is passed by position; the keyword is the adjoint."""
    x = real(qd, dtype, ())

    @qd.kernel
    def k(seed: dtype) -> dtype:
        return x[None] * seed

    def program():
        k(3.0)
        k.grad(3.0, seed=0.5)

    return Run(program, given={x: 2.0}, expect=[(x.grad, 1.5)])


@case(rules=["grad.returned"], params={"form": ["vector", "matrix", "tuple", "struct"]}, **PLAIN)
def adjoints_of_several_numbers(qd, dtype, form):
    """Vectors, matrices, tuples and structs take an adjoint for every number; integers take None."""
    x = real(qd, dtype, 4)
    pair = qd.types.struct(a=dtype, n=qd.i32, b=qd.types.vector(2, dtype))

    @qd.kernel
    def vector() -> qd.types.vector(2, dtype):
        return qd.Vector([x[0] * x[1], x[2] * x[3]])

    @qd.kernel
    def matrix() -> qd.types.matrix(2, 1, dtype):
        return qd.Matrix([[x[0] * x[1]], [x[2] * x[3]]])

    @qd.kernel
    def several() -> (dtype, qd.i32, dtype):
        return x[0] * x[1], qd.cast(x[1], qd.i32), x[2] * x[3]

    @qd.kernel
    def struct() -> pair:
        return pair(a=x[0] * x[1], n=3, b=[x[2] * x[3], 1.0])

    kernel, seed = {
        "vector": (vector, [2.0, -1.0]),
        "matrix": (matrix, [[2.0], [-1.0]]),
        "tuple": (several, (2.0, None, -1.0)),
        "struct": (struct, {"a": 2.0, "b": [-1.0, 8.0]}),
    }[form]

    def program():
        kernel()
        kernel.grad(seed=seed)

    return Run(program, given={x: GIVEN}, expect=[(x.grad, [6.0, 1.0, 1.5, 0.25])])


@case(rules=["grad.returned"], **PLAIN)
def memory_and_what_is_returned(qd, dtype):
    """Adjoints of memory and of the returned number are propagated together."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k() -> dtype:
        s = 0.0
        for i in x:
            y[i] = x[i] * x[i]
            s += 3.0 * x[i]
        return s

    def program():
        k()
        y.grad.fill(1.0)
        k.grad(seed=2.0)

    return Run(program, given={x: GIVEN}, expect=[(x.grad, [2 * a + 6.0 for a in GIVEN]), (y.grad, 0.0)])


@case(rules=["grad.returned"], params={"use": ["returned", "stored", "index"]}, **PLAIN)
def a_sum_whose_derivative_looks_at_nothing(qd, dtype, use):
    """The sum is a local that iterations share; its value is nobody's business in reverse, and nor is x."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def returned() -> dtype:
        s = 0.0
        for i in x:
            s += 3.0 * x[i]
        return s

    @qd.kernel
    def stored():
        s = 0.0
        for i in x:
            s += 3.0 * x[i]
        y[None] = s

    @qd.kernel
    def index() -> dtype:
        s = 0.0
        for i in x:
            s += x[i] * i
            x[i] = 0.0
        return s

    def program():
        y.grad.fill(1.0)
        kernel = {"returned": returned, "stored": stored, "index": index}[use]
        kernel()
        x.fill(7.0)
        kernel.grad(**({} if use == "stored" else {"seed": 1.0}))

    return Run(program, given={x: GIVEN}, expect=[(x.grad, [0.0, 1.0, 2.0, 3.0] if use == "index" else [3.0] * 4)])


@case(rules=["grad.returned"], **PLAIN)
def control_flow_before_a_return(qd, dtype):
    """A branch, a loop whose trips depend on values, and a function that returns."""
    x = real(qd, dtype, 4)

    @qd.func
    def half(v):
        return 0.5 * v

    @qd.kernel
    def k(n: qd.i32) -> dtype:
        v = x[0]
        if x[1] > 0.0:
            v = half(v) * x[1]
        else:
            v = -v
        trips = 0
        while trips < n:
            v = v * x[2] + x[3]
            trips += 1
        return v

    def program():
        k(2)
        k.grad(2)

    # ((a b / 2) c + d) c + d
    a, b, c, d = GIVEN
    return Run(program, given={x: GIVEN}, expect=[(x.grad, [b / 2 * c * c, a / 2 * c * c, a * b * c + d, c + 1])])


@case(rules=["grad.returned"], params={"form": ["several", "adjoints", "shape"]}, dtypes=["f64"])
def an_adjoint_that_is_not_clear(qd, dtype, form):
    """What nobody but the caller can know is asked for."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def pair() -> qd.types.vector(2, dtype):
        return qd.Vector([x[0], x[1]])

    @qd.kernel
    def both() -> dtype:
        y[None] += x[0]
        return x[1]

    def program():
        if form == "several":
            pair.grad()
        elif form == "shape":
            pair.grad(seed=1.0)
        else:
            y.grad[None] = 1.0
            both.grad()

    phrase = {"several": "pass seed=", "shape": "elements of shape (2,)", "adjoints": "seed=0.0 to leave it out"}[form]
    return Run(program, raises=Raises("ArgumentError" if form == "shape" else "RuntimeError", phrase))


@case(rules=["grad.returned"], params={"form": ["unknown", "missing", "nested"]}, dtypes=["f64"])
def adjoints_by_names_that_are_not_those_of_members(qd, dtype, form):
    """Neither a name that is mistyped nor one that was forgotten counts as an adjoint of 0."""
    x = real(qd, dtype, 2)
    inner = qd.types.struct(u=dtype, k=qd.i32)
    outer = qd.types.struct(force=dtype, n=qd.i32, inner=inner)

    @qd.kernel
    def k() -> outer:
        return outer(force=x[0], n=1, inner=inner(u=x[1], k=2))

    seed, phrase = {
        "unknown": ({"force": 1.0, "inner": None, "torque": 2.0}, "has torque"),
        "missing": ({"inner": {"u": 1.0}}, "lacks force"),
        "nested": ({"force": 1.0, "inner": {"v": 1.0}}, "has v"),
    }[form]

    def program():
        k()
        k.grad(seed=seed)

    return Run(program, given={x: [1.5, 2.5]}, raises=Raises("ArgumentError", phrase))


# ---- under a Tape, and in forward mode


@case(rules=["grad.linked", "grad.forward"], **EXACT)
def a_returned_loss_is_stored(qd, dtype):
    """The host stores what a kernel returns."""
    x, k = cubes(qd, dtype)
    loss = real(qd, dtype)

    def program():
        loss[None] = k()

    return agrees(program, lambda x: sum(a * a * a for a in x), {x: GIVEN}, [loss], loss=loss)


@case(rules=["grad.linked", "grad.forward"], **EXACT)
def returned_numbers_are_computed_with(qd, dtype):
    """Sums, differences, products, quotients and powers of what kernels return, and what is in memory by then."""
    x, k = cubes(qd, dtype)
    loss = real(qd, dtype)

    @qd.kernel
    def pair(n: qd.i32) -> qd.types.vector(2, dtype):
        return qd.Vector([x[n] * x[n + 1], x[n]])

    def program():
        loss[None] = 2 * k() + 0.5
        loss[None] += pair(0)[0] - k() / 4
        v, w = pair(2), pair(1)
        loss[None] = loss[None] - v[0] * w[1] ** 2 + abs(-v[1]) + max(v[1], w[1]) + (v - w).dot(w)

    def plain(x):
        total = sum(a * a * a for a in x)
        made = 2 * total + 0.5 + x[0] * x[1] - total / 4
        last = (x[2] * x[3] - x[1] * x[2]) * (x[1] * x[2]) + (x[2] - x[1]) * x[1]
        return made - x[2] * x[3] * x[1] * x[1] - x[2] + x[1] + last

    return agrees(program, plain, {x: GIVEN}, [loss], loss=loss)


@case(rules=["grad.linked", "grad.forward"], **EXACT)
def kernels_read_what_the_host_stored(qd, dtype):
    """Elements of vectors, whole elements and whole fields take returned numbers, and kernels go on with them."""
    x, k = cubes(qd, dtype)
    w = qd.Vector.field(2, dtype, shape=3, needs_grad=True, needs_dual=True)
    y, loss = real(qd, dtype, 2), real(qd, dtype)

    @qd.kernel
    def evaluate():
        for i in w:
            loss[None] += w[i][0] * w[i][1]
        for i in y:
            loss[None] += y[i] * y[i]

    def program():
        total = k()
        w.fill(qd.Vector([0.5 * total, 2.0]))
        w[1] = [x[3], total]
        w[2][0] = x[0] * x[1]
        y.fill(total)
        y[1] = x[2]
        evaluate()

    def plain(x):
        total = sum(a * a * a for a in x)
        return total + x[3] * total + 2 * x[0] * x[1] + total * total + x[2] * x[2]

    return agrees(program, plain, {x: GIVEN}, [loss], loss=loss)


@case(rules=["grad.linked"], **PLAIN)
def the_host_overwrites_what_it_stored(qd, dtype):
    """A store consumes: what was there before has no adjoint, whoever stored it, and whatever was stored."""
    x, k = cubes(qd, dtype)
    y, loss = real(qd, dtype, 2), real(qd, dtype)

    @qd.kernel
    def evaluate():
        loss[None] += y[0] * y[1]

    def program():
        with qd.ad.Tape(loss):
            y[0] = k()
            y[1] = k()
            y[0] = 2.0
            x[0] = 4.0
            evaluate()
            y[1] = x[1]
            print(f"{float(k()):.1f}")
            evaluate()

    return Run(
        program,
        given={x: GIVEN},
        expect=[
            (x.grad, [2 * CUBES[0], 2 * CUBES[1] + 2.0, 2 * CUBES[2], 2 * CUBES[3]]),
            (y.grad, [23.734375 + 3.0, 0.0]),
        ],
    )


@case(rules=["grad.unlinked"], params={"form": ["argument", "float", "custom"]}, dtypes=["f64"])
def what_can_not_be_linked(qd, dtype, form):
    """A scalar argument, a loss that was made of plain numbers, and what comes out of a gradient of the user's."""
    x, k = cubes(qd, dtype)
    loss = real(qd, dtype)

    @qd.kernel
    def scale(a: dtype):
        loss[None] += a * x[0]

    @qd.ad.grad_replaced
    def custom():
        return k()

    @qd.ad.grad_for(custom)
    def custom_grad():
        k.grad()

    def program():
        with qd.ad.Tape(loss):
            if form == "argument":
                scale(k())
            elif form == "float":
                loss[None] = float(k())
            else:
                loss[None] = custom()

    phrase = {
        "argument": "depends on what k returned, and scalar arguments have no gradient",
        "float": "nothing that the Tape recorded computes its loss",
        "custom": "it comes from inside custom, which has a gradient of its own",
    }[form]
    return Run(program, raises=Raises("RuntimeError", phrase))


@case(rules=["grad.unlinked", "grad.constant"], **EXACT)
def arguments_that_are_constant(qd, dtype):
    """Trip counts, what does not reach a gradient, and what the user says is a constant may come from kernels."""
    x, k = cubes(qd, dtype)
    loss = real(qd, dtype)
    n = qd.field(dtype, shape=())

    @qd.kernel
    def scale(a: dtype, trips: qd.i32, note: dtype):
        n[None] = note
        for _ in range(1):
            for _ in range(trips):
                loss[None] += a * x[0]

    def program():
        scale(float(k()), int(k() * 0.0) + 2, k())

    total = sum(a**3 for a in GIVEN)
    return agrees(program, lambda x: 2 * total * x[0], {x: GIVEN}, [loss], loss=loss)
