"""What changes between a launch and its gradient: whoever changes it, wherever it is, and whatever it is for."""

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
DEBUG = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "debug": True}}
FOUND = "as the launch found it"
X = [0.5, 3.0, -0.25, -1.5]


def integers(qd, kind, values):
    """An array argument of four integers, of shape (2, 2): whose memory the device may share, or has to copy."""
    array = np.array(values, np.int32).reshape(2, 2)
    if kind == "numpy":
        return array
    if kind == "fortran":
        return np.asfortranarray(array)
    data = qd.ndarray(qd.i32, shape=(2, 2))
    data.from_numpy(array)
    return data


def using(qd, dtype, use):
    """x, y, and a kernel for which an array of integers decides the trip counts, the places, or the factors."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def trips(n: qd.types.ndarray(ndim=2)):
        for i in x:
            a = 1.0
            for _ in range(n[i // 2, i % 2]):
                a *= x[i]
            y[None] += a

    @qd.kernel
    def places(n: qd.types.ndarray(ndim=2)):
        for i in x:
            y[None] += x[n[i // 2, i % 2]] * 2.0

    @qd.kernel
    def factors(n: qd.types.ndarray(ndim=2)):
        for i in x:
            y[None] += x[i] * n[i // 2, i % 2]

    return x, y, {"trips": trips, "places": places, "factors": factors}[use]


GRADIENTS = {"trips": [1.0, 1.0, 0.0, 6.75], "places": [2.0, 4.0, 0.0, 2.0], "factors": [1.0, 1.0, 0.0, 3.0]}


def changed_argument(qd, dtype, kind, use):
    x, y, k = using(qd, dtype, use)
    n = integers(qd, kind, [1, 1, 0, 3])

    def program():
        for _ in range(3):
            k(n)
        n[1, 1] = 2
        y.grad.fill(1.0)
        k.grad(n)

    error = "StaleBoundError" if use == "trips" else "DataAccessError"
    return Run(program, given={x: X}, raises=Raises(error, f"[1, 1] {FOUND}, 3; it was changed to 2 since by the host"))


ARGUMENTS = {"kind": ["ndarray", "numpy", "fortran"], "use": ["trips", "places", "factors"]}


@case(rules=["grad.changed", "grad.stale-bound"], params=ARGUMENTS, **PLAIN)
def an_array_argument_that_the_host_changed(qd, dtype, kind, use):
    """Also where a launch works on a copy of it: what the array held then is known."""
    return changed_argument(qd, dtype, kind, use)


@case(rules=["grad.changed", "grad.stale-bound"], params=ARGUMENTS, **DEBUG)
def an_array_argument_that_the_host_changed_in_debug_mode(qd, dtype, kind, use):
    """As without it."""
    return changed_argument(qd, dtype, kind, use)


@case(rules=["grad.changed"], params=ARGUMENTS, **PLAIN)
def an_array_argument_that_is_as_it_was(qd, dtype, kind, use):
    """Changed before each launch, and changed back before the gradient: nothing is refused."""
    x, y, k = using(qd, dtype, use)
    n = integers(qd, kind, [2, 2, 2, 2])

    def program():
        for trips in (0, 2, 3):
            for at, v in (((0, 0), 1), ((0, 1), 1), ((1, 0), 0), ((1, 1), trips)):
                n[at] = v
            k(n)
        n[1, 1] = 7
        n[1, 1] = 3
        y.grad.fill(1.0)
        k.grad(n)

    return Run(program, given={x: X}, expect=[(x.grad, GRADIENTS[use])])


@case(rules=["grad.kept"], params={"kind": ARGUMENTS["kind"], "then": ["kept", "changed"]}, **PLAIN)
def an_array_argument_of_the_last_launch_of_a_tape(qd, dtype, kind, then):
    """What the tape launches after it writes nothing that it needs; what the host writes may be refused."""
    x, y, k = using(qd, dtype, "factors")
    n = integers(qd, kind, [1, 1, 0, 3])

    @qd.kernel
    def more():
        for i in x:
            y[None] += x[i]

    def program():
        with qd.ad.Tape(y):
            k(n)
            more()
        if then == "changed":
            n[1, 1] = 2
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k.grad(n)

    if then == "changed":
        return Run(program, given={x: X}, raises=Raises("DataAccessError", "others since, which were not kept"))
    return Run(program, given={x: X}, expect=[(x.grad, GRADIENTS["factors"])])


@case(rules=["grad.snapshot"], params=ARGUMENTS, dtypes=["f64"], options={"default_fp": "dtype", "ad_snapshot": True})
def an_array_argument_that_changed_is_put_back(qd, dtype, kind, use):
    """A snapshot has array arguments as the launch found them; the host's array keeps its new value."""
    x, y, k = using(qd, dtype, use)
    n = integers(qd, kind, [1, 1, 0, 3])

    def program():
        k(n)
        n[1, 1] = 2
        y.grad.fill(1.0)
        k.grad(n)
        assert n[1, 1] == 2

    return Run(program, given={x: X}, expect=[(x.grad, GRADIENTS[use])])


@case(rules=["grad.stale-bound"], params={"use": ["while", "cast", "branch"], "who": ["host", "kernel"]}, **PLAIN)
def a_real_number_that_decides_and_changed(qd, dtype, use, who):
    """A float that ends a loop, bounds one, or chooses a side."""
    x, y, t = real(qd, dtype, 4), real(qd, dtype, ()), qd.field(dtype, shape=())

    @qd.kernel
    def loops():
        for i in x:
            a = 1.5 + x[i] * x[i]
            while a < t[None]:
                a = a * a
            y[None] += a

    @qd.kernel
    def counts():
        for i in x:
            a = x[i]
            for _ in range(qd.cast(t[None], qd.i32)):
                a *= x[i]
            y[None] += a

    @qd.kernel
    def chooses():
        for i in x:
            if x[i] < t[None]:
                y[None] += x[i] * x[i]

    @qd.kernel
    def more():
        t[None] *= 8.0

    k = {"while": loops, "cast": counts, "branch": chooses}[use]

    def program():
        k()
        if who == "host":
            t[None] = 8.0
        else:
            more()
        y.grad.fill(1.0)
        k.grad()

    return Run(program, given={x: X, t: 1.75}, raises=Raises("StaleBoundError", FOUND))


def places(qd, dtype):
    x, y, ix = real(qd, dtype, 4), real(qd, dtype, 4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def gather():
        for i in x:
            y[i] = x[ix[i]] * 2.0

    @qd.kernel
    def scatter():
        for i in x:
            y[ix[i]] += x[i] * 2.0

    @qd.kernel
    def factor():
        for i in x:
            y[i] = x[i] * ix[i]

    @qd.kernel
    def turn():
        for i in ix:
            if ix[i] == 3:
                ix[i] += 1 - ix[i]

    return x, y, ix, {"gather": gather, "scatter": scatter, "factor": factor}, turn


@case(
    rules=["grad.changed"], params={"use": ["gather", "scatter", "factor"], "who": ["host", "fill", "kernel"]}, **PLAIN
)
def an_integer_that_says_where_or_how_much_changed(qd, dtype, use, who):
    """Indices of loads and of stores, and factors: written by the host, or by a kernel under a condition."""
    x, y, ix, kernels, turn = places(qd, dtype)

    def program():
        for _ in range(2):
            kernels[use]()
        if who == "host":
            ix[2] = 1
        elif who == "fill":
            ix.fill(1)
        else:
            turn()
        y.grad.fill(1.0)
        kernels[use].grad()

    return Run(program, given={x: X, ix: [1, 0, 3, 2]}, raises=Raises("DataAccessError", FOUND))


@case(rules=["grad.changed"], params={"who": ["host", "fill", "kernel", "atomic"]}, **PLAIN)
def an_ndarray_that_is_multiplied_and_changed(qd, dtype, who):
    """Arrays that the device shares, like fields: the host's writes, and those of other kernels with them."""
    a, b = (qd.ndarray(dtype, shape=4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i]

    @qd.kernel
    def halve(a: qd.types.ndarray()):
        for i in a:
            if a[i] > 1.0:
                a[i] = a[i] * 0.5

    @qd.kernel
    def add(a: qd.types.ndarray()):
        for i in a:
            a[i] += i - 1.0

    def program():
        for i in range(4):
            a[i] = X[i]
        for _ in range(3):
            k(a, b)
        b.grad.fill(1.0)
        k.grad(a, b)
        assert a.grad.to_numpy().tolist() == [1.0, 6.0, -0.5, -3.0]
        if who == "host":
            a[1] = 2.0
        elif who == "fill":
            a.fill(2.0)
        else:
            (halve if who == "kernel" else add)(a)
        k.grad(a, b)

    return Run(program, raises=Raises("DataAccessError", FOUND))


@case(rules=["grad.changed"], **PLAIN)
def calls_with_other_arguments_are_told_apart(qd, dtype):
    """Each gradient is about the last launch with its own array and number; only what that one needs must stand."""
    y = real(qd, dtype, ())
    a, b = (qd.ndarray(dtype, shape=2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(a: qd.types.ndarray(), s: qd.i32):
        for i in a:
            y[None] += a[i] * a[i] * s

    def program():
        for data, v in ((a, 3.0), (b, 5.0)):
            data.fill(v)
            for s in (1, 2):
                k(data, s)
        y.grad.fill(1.0)
        a.fill(7.0)
        k(a, 2)
        k.grad(b, 1)
        k.grad(a, 2)
        assert (a.grad[0], b.grad[0]) == (28.0, 10.0)
        k.grad(a, 1)

    return Run(program, raises=Raises("DataAccessError", f"{FOUND}, 3.0; it was changed to 7.0"))


def in_place(qd, dtype, form):
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def square(s: dtype):
        for i in x:
            x[i] = s * x[i] * x[i]

    @qd.kernel
    def sweeps(s: dtype):
        for i in x:
            for _ in range(3):
                x[i] = s * x[i] * x[i]

    @qd.kernel
    def stages(s: dtype):
        for i in x:
            x[i] = s * x[i] * x[i]
        for i in x:
            x[i] = x[i] * x[i]

    @qd.kernel
    def old_value(s: dtype):
        for i in x:
            old = qd.atomic_add(x[i], s)
            x[i] = old * old

    @qd.kernel
    def product(s: dtype):
        for i in x:
            x[i] *= x[i] * s

    return x, y, locals()[form]


DERIVATIVES = {
    "square": lambda x, s: 2 * s * x,
    "sweeps": lambda x, s: 8 * s**7 * x**7,
    "stages": lambda x, s: 4 * s**2 * x**3,
    "old_value": lambda x, s: 2 * x,
    "product": lambda x, s: 2 * s * x,
}


@case(rules=["grad.kept"], params={"form": list(DERIVATIVES)}, **PLAIN)
def a_launch_keeps_what_it_overwrites(qd, dtype, form):
    """Launches in place with several numbers: each gradient is that of its own time, in any order, and again."""
    x, _, k = in_place(qd, dtype, form)

    def program():
        found = {}
        for s in (1.0, -0.5, 2.0, 1.0):
            found[s] = x.to_numpy()
            k(s)
            if s == 2.0:
                x.fill(0.5)
        now = x.to_numpy()
        for s in (2.0, 1.0, -0.5, 1.0):
            x.grad.fill(1.0)
            k.grad(s)
            assert x.grad.to_numpy().tolist() == DERIVATIVES[form](found[s], s).tolist()
            assert x.to_numpy().tolist() == now.tolist()

    return Run(program, given={x: [0.5, 1.0, -0.5, -1.0]})


@case(rules=["grad.changed"], params={"launched": [False, True]}, **PLAIN)
def gradients_that_are_placed_after_launches(qd, dtype, launched):
    """What those launches read is not known: there must be another; from then on changes are noticed."""
    x, y = qd.field(dtype), qd.field(dtype)
    qd.root.dense(qd.i, 4).place(x)
    qd.root.place(y)

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    def program():
        for _ in range(3):
            k()
        qd.root.dense(qd.i, 4).place(x.grad)
        qd.root.place(y.grad)
        y.grad[None] = 1.0
        if launched:
            k()
            k.grad()
            assert x.grad.to_numpy().tolist() == [2 * v for v in X]
            x[2] = 7.0
        k.grad()

    changed = f"[2] {FOUND}, -0.25; it was changed to 7.0 since by the host" if launched else "do: launch k on its own"
    return Run(program, given={x: X}, raises=Raises("DataAccessError", changed))
