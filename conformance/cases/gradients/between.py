"""Between a launch and its gradient: what the launch, or somebody after it, has overwritten."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import EXACT, agrees, real

SNAPSHOT = {**EXACT, "modes": ("forward", "reverse"), "options": {"default_fp": "dtype", "ad_snapshot": True}}
PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
DEBUG = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "debug": True}}
SAVED = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "ad_snapshot": True}}


@case(rules=["grad.snapshot", "grad.overwritten"], **SNAPSHOT)
def squares_in_place(qd, dtype):
    """x = x * x at 3 with an adjoint of 1 gives 6."""
    x = real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            x[i] = x[i] * x[i]

    return agrees(k, lambda x: [a * a for a in x], {x: [3.0, -0.5, 0.25]}, [x])


@case(rules=["grad.snapshot", "grad.log"], **SNAPSHOT)
def trip_counts_that_the_kernel_runs_down(qd, dtype):
    """The loop's bound is overwritten in the loop, with what is multiplied there."""
    x, n = real(qd, dtype, 4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            for _ in range(n[i]):
                x[i] = x[i] * x[i] + 0.5
                n[i] = n[i] - 1

    def plain(x):
        made = []
        for a, trips in zip(x, (2, 0, 1, 3)):
            for _ in range(trips):
                a = a * a + 1 / 2
            made.append(a)
        return made

    return agrees(k, plain, {x: [0.5, 3.0, -0.25, -1.5]}, [x], constant={n: [2, 0, 1, 3]})


@case(rules=["grad.snapshot", "grad.log", "grad.ties"], **SNAPSHOT)
def a_maximum_that_starts_anew(qd, dtype):
    """The place of an atomic maximum is reset by the same kernel, and read by its last loop."""
    x, y, top = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        s = 1.0
        top[None] = -8.0
        for i in x:
            qd.atomic_max(top[None], x[i])
        s = top[None]
        for i in x:
            y[i] = x[i] * s

    def plain(x, y):
        s = max(x)
        return [a * s for a in x]

    return agrees(k, plain, {x: [0.5, 3.0, -0.25, -1.5], y: 0.0}, [y])


@case(rules=["grad.last-launch", "grad.snapshot"], **SAVED)
def launches_are_taken_back_last_first(qd, dtype):
    """Three launches in place, then their gradients in reverse order; asking once more changes nothing."""
    x = real(qd, dtype, 2)

    @qd.kernel
    def step(t: qd.i32):
        for i in x:
            x[i] = x[i] * x[i] + t

    def program():
        for t in range(3):
            step(t)
        x.grad.fill(1.0)
        for t in range(2, -1, -1):
            step.grad(t)

    # 0.5 -> 0.25 -> 1.0625 and -1 -> 1 -> 2
    expect = [(x.grad, [8 * 0.5 * 0.25 * 1.0625, 8 * -1.0 * 1.0 * 2.0])]
    return Run(program, given={x: [0.5, -1.0]}, expect=expect)


def powers(qd, dtype):
    """y is the sum of x[i] ** n[i]."""
    x, y, n = real(qd, dtype, 4), real(qd, dtype, ()), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(first: qd.i32):
        for i in range(first, 4):
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a

    return x, y, n, k


def changed(qd, dtype, how):
    """A bound that somebody changes between the launch and its gradient."""
    x, y, n, k = powers(qd, dtype)

    @qd.kernel
    def more():
        n[2] += 1

    def program():
        for _ in range(3):
            k(0)
        if how == "fill":
            n.fill(5)
        elif how == "element":
            n[2] = 5
        else:
            more()
        y.grad.fill(1.0)
        k.grad(0)

    given = {x: [0.5, 3.0, -0.25, -1.5], n: [2, 0, 1, 3]}
    return Run(program, given=given, raises=Raises("StaleBoundError", "as the launch found it"))


@case(rules=["grad.stale-bound"], params={"how": ["fill", "element", "kernel"]}, **PLAIN)
def a_bound_that_changed(qd, dtype, how):
    """Whoever changes it, and however."""
    return changed(qd, dtype, how)


@case(rules=["grad.stale-bound"], params={"how": ["fill", "element", "kernel"]}, **DEBUG)
def a_bound_that_changed_in_debug_mode(qd, dtype, how):
    """Whoever changes it, and however."""
    return changed(qd, dtype, how)


def as_they_were(qd, dtype):
    """The same elements written again, and others that the launch does not read."""
    x, y, n, k = powers(qd, dtype)

    def program():
        k(1)
        n.fill(7)
        for i, trips in enumerate((9, 0, 1, 3)):
            n[i] = trips
        y.grad.fill(1.0)
        k.grad(1)

    given = {x: [0.5, 3.0, -0.25, -1.5], n: [2, 0, 1, 3]}
    return Run(program, given=given, expect=[(x.grad, [0.0, 0.0, 1.0, 3 * 1.5 * 1.5])])


@case(rules=["grad.stale-bound"], **PLAIN)
def bounds_that_are_as_they_were(qd, dtype):
    """The same elements written again, and others that the launch does not read."""
    return as_they_were(qd, dtype)


@case(rules=["grad.stale-bound"], **DEBUG)
def bounds_that_are_as_they_were_in_debug_mode(qd, dtype):
    """The same elements written again, and others that the launch does not read."""
    return as_they_were(qd, dtype)


@case(rules=["grad.snapshot", "grad.stale-bound"], **SAVED)
def what_changed_is_put_back(qd, dtype):
    """A snapshot has the bounds, and what is multiplied, as the launch found them."""
    x, y, n, k = powers(qd, dtype)

    def program():
        k(0)
        n.fill(7)
        x.fill(100.0)
        y.grad.fill(1.0)
        k.grad(0)

    expect = [(x.grad, [2 * 0.5, 0.0, 1.0, 3 * 1.5 * 1.5]), (x, 100.0), (n, 7)]
    return Run(program, given={x: [0.5, 3.0, -0.25, -1.5], n: [2, 0, 1, 3]}, expect=expect)


@case(rules=["grad.changed"], params={"who": ["host", "kernel"]}, **PLAIN)
def an_element_that_changed(qd, dtype, who):
    """An element that the gradient needs, and that is another one now, is found wherever it is."""
    x, y, where = real(qd, dtype, 6), real(qd, dtype, ()), qd.field(qd.i32, shape=2)

    @qd.kernel
    def gather():
        for i in where:
            y[None] += x[where[i]] * x[where[i]]

    @qd.kernel
    def scatter():
        x[where[1]] = 9.0

    def program():
        gather()
        if who == "host":
            x[3] = 9.0
        else:
            scatter()
        x.grad.fill(1.0)
        gather.grad()

    given = {x: [0.5, 3.0, -0.25, -1.5, 1.0, 2.0], where: [1, 3]}
    return Run(program, given=given, raises=Raises("DataAccessError", "[3]"))


@case(rules=["grad.kept", "grad.overwritten"], **DEBUG)
def indices_that_meet_nothing(qd, dtype):
    """What is overwritten depends on indices: the launch keeps it, whether or not it overwrites something."""
    x, where = real(qd, dtype, 6), qd.field(qd.i32, shape=2)

    @qd.kernel
    def move():
        for _ in range(1):
            for i in range(2):
                x[where[i]] = x[i] * x[i]

    def program():
        move()
        x.grad.fill(1.0)
        move.grad()

    given = {x: [0.5, 3.0, -0.25, -1.5, 1.0, 2.0], where: [4, 2]}
    return Run(program, given=given, expect=[(x.grad, [2.0, 7.0, 0.0, 1.0, 0.0, 1.0])])


@case(rules=["grad.log", "grad.overwritten"], dtypes=["f64"], options={"default_fp": "dtype"})
def nothing_is_refused_under_a_tape(qd, dtype):
    """Values that loops in place pass on to each other, and random numbers, are those of the launch."""
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        s = 0.0
        for i in x:
            x[i] = x[i] * x[i]
            s += x[i]
        for i in x:
            x[i] = x[i] * s + 0.0 * qd.random()
            y[None] += x[i]

    def program():
        with qd.ad.Tape(y):
            k()

    # y = (sum of squares) ** 2
    total = 0.25 + 4.0 + 2.25
    expect = [(x.grad, [4 * 0.5 * total, 4 * -2.0 * total, 4 * 1.5 * total])]
    return Run(program, given={x: [0.5, -2.0, 1.5]}, expect=expect)


@case(rules=["grad.random", "grad.kept", "grad.log"], params={"taped": [False, True]}, **PLAIN)
def numbers_that_a_launch_draws_are_the_same_in_its_gradient(qd, dtype, taped):
    """What was drawn is stored, so that the gradient can be compared with it, to the bit."""
    x, y, loss = real(qd, dtype, 6), real(qd, dtype, 6), real(qd, dtype, ())
    drawn, apart = qd.field(dtype, shape=6), qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for i in x:
            u = 0.5 + qd.random(dtype)
            drawn[i] = u
            y[i] = x[i] * u * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    @qd.kernel
    def compare():
        for i in x:
            slope = 2.0 * (x[i] * drawn[i])
            qd.atomic_max(apart[0], abs(x.grad[i] - slope))
            qd.atomic_max(apart[1], abs(x.grad[i]))

    def program():
        if taped:
            with qd.ad.Tape(loss):
                k()
                total()
        else:
            k()
            y.grad.fill(1.0)
            k.grad()
        compare()
        return apart[0] == 0.0 and apart[1] > 0.25

    return Run(program, given={x: [0.5, 0.25, -0.5, 1.0, 0.75, 2.0]}, returns=True)


@case(rules=["grad.changed"], params={"who": ["host", "kernel"]}, **PLAIN)
def an_input_that_is_certainly_another_one(qd, dtype, who):
    """The field that a kernel multiplied is filled with other numbers before the kernel's gradient."""
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def squares():
        for i in x:
            y[None] += x[i] * x[i]

    @qd.kernel
    def clear():
        for i in x:
            x[i] = 0.0

    def program():
        for _ in range(3):
            squares()
        if who == "host":
            x.fill(0.0)
        else:
            clear()
        y.grad.fill(1.0)
        squares.grad()

    return Run(program, given={x: [0.5, -2.0, 1.5]}, raises=Raises("DataAccessError", "[0] as the launch found it"))


@case(rules=["grad.changed"], **PLAIN)
def inputs_that_are_put_back_by_hand(qd, dtype):
    """Who keeps what each step started from, and puts it back before the step's gradient, is right."""
    x, y, old = real(qd, dtype, 3), real(qd, dtype, ()), qd.field(dtype, shape=(3, 3))

    @qd.kernel
    def save(t: qd.i32):
        for i in x:
            old[t, i] = x[i]

    @qd.kernel
    def add(t: qd.i32):
        for i in x:
            y[None] += x[i] * x[i] * t

    @qd.kernel
    def double():
        for i in x:
            x[i] = 2.0 * x[i]

    @qd.kernel
    def load(t: qd.i32):
        for i in x:
            x[i] = old[t, i]

    def program():
        for t in range(3):
            save(t)
            add(t)
            double()
        y.grad.fill(1.0)
        for t in range(2, -1, -1):
            load(t)
            x.grad.fill(0.0)
            add.grad(t)
            assert x.grad.to_numpy().tolist() == [2 * t * v * 2**t for v in (0.5, -2.0, 1.5)]

    return Run(program, given={x: [0.5, -2.0, 1.5]}, expect=[(x, [0.5, -2.0, 1.5])])


@case(rules=["grad.last-launch"], params={"times": [1, 4]}, **PLAIN)
def a_launch_with_other_arguments_before_there_were_gradients(qd, dtype, times):
    """What it found is not known, however often the gradients of later launches have been asked for."""
    x, y = qd.field(dtype), qd.field(dtype)
    qd.root.dense(qd.i, 4).place(x)
    qd.root.place(y)

    @qd.kernel
    def k(s: qd.i32):
        for i in x:
            y[None] += x[i] * x[i] * s

    def program():
        k(2)
        k(1)
        x.fill(5.0)
        qd.root.dense(qd.i, 4).place(x.grad)
        qd.root.place(y.grad)
        for _ in range(times):
            k(1)
        for _ in range(times):
            x.grad.fill(0.0)
            y.grad[None] = 1.0
            k.grad(1)
            assert x.grad.to_numpy().tolist() == [10.0] * 4
        k.grad(2)

    return Run(program, given={x: [3.0] * 4}, raises=Raises("DataAccessError", "do: launch k on its own"))
