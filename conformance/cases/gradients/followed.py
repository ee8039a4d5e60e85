"""Tapes that do again what an earlier one has done, that nearly do, and that do something else."""

from adstack.conformance.case import Run, case
from adstack.conformance.gradients import real

TYPES = ["f32", "f64"]


@case(rules=["grad.followed", "grad.overwritten"], dtypes=TYPES)
def tapes_of_one_kind_have_gradients_of_their_own_numbers(qd, dtype):
    """Three tapes of the same calls with other numbers: elements that later calls overwrite are kept in each."""
    x, loss, slope = real(qd, dtype, 2), real(qd, dtype, ()), real(qd, dtype, (3, 2))

    @qd.kernel
    def step(c: dtype):
        for i in x:
            x[i] = c * x[i] * x[i]

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def run():
        for k, c in enumerate((1.0, 2.0, 0.5)):
            x[0], x[1] = 2.0, -1.0
            with qd.ad.Tape(loss):
                step(c)
                step(1.0)
                total()
            for i in range(2):
                slope[k, i] = x.grad[i]

    # c x^2, then its square: 4 c^2 x^3
    return Run(run, expect=[(slope, [[32.0, -4.0], [128.0, -16.0], [8.0, -1.0]]), (x, [4.0, 0.25])])


@case(rules=["grad.followed"], dtypes=TYPES, params={"steps": [1, 2, 3]})
def a_tape_that_is_shorter_than_the_one_before_is_its_own(qd, dtype, steps):
    """Calls that do not come do not count, and those after them do."""
    x, loss = real(qd, dtype, (4, 2)), real(qd, dtype, ())

    @qd.kernel
    def step(t: qd.i32):
        for i in range(2):
            x[t + 1, i] = 2 * x[t, i] * x[t, i]

    @qd.kernel
    def total(t: qd.i32):
        for i in range(2):
            loss[None] += x[t, i]

    def run():
        for count in (3, 3, steps, steps):
            with qd.ad.Tape(loss):
                for t in range(count):
                    step(t)
                total(count)

    # 2 x^2 at 1/2 is 1/2 again, with a slope of 2; at 1 it grows: 1, 2, 8, 128 with slopes of 4, 8, 32
    slopes = {1: [2.0, 4.0], 2: [4.0, 32.0], 3: [8.0, 1024.0]}[steps]
    given = {x: [[0.5, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]}
    return Run(run, given=given, expect=[(x.grad, [slopes, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])])


@case(rules=["grad.followed", "grad.overwritten"], dtypes=TYPES, params={"when": [0, 1, 2]})
def the_host_writes_in_one_of_several_tapes(qd, dtype, when):
    """What it writes is an input in that tape, and nothing in the others."""
    x, loss, slope = real(qd, dtype, ()), real(qd, dtype, ()), real(qd, dtype, 3)

    @qd.kernel
    def square():
        for _ in range(1):
            x[None] = x[None] * x[None]

    @qd.kernel
    def total():
        for _ in range(1):
            loss[None] += x[None]

    def run():
        for k in range(3):
            x[None] = 2.0
            with qd.ad.Tape(loss):
                square()
                if k == when:
                    x[None] = 3.0
                square()
                total()
            slope[k] = x.grad[None]

    return Run(run, expect=[(slope, [6.0 if k == when else 32.0 for k in range(3)])])


@case(rules=["grad.followed"], dtypes=TYPES)
def an_exception_inside_a_tape_leaves_nothing_for_the_next(qd, dtype):
    """The second tape ends early; the third one is like the first."""
    x, loss = real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def square():
        for _ in range(1):
            x[None] = x[None] * x[None]

    @qd.kernel
    def total():
        for _ in range(1):
            loss[None] += x[None]

    def run():
        for k in range(4):
            x[None] = 2.0
            try:
                with qd.ad.Tape(loss):
                    square()
                    if k in (1, 2):
                        raise KeyError(k)
                    square()
                    total()
            except KeyError:
                pass

    return Run(run, expect=[(x.grad, 32.0), (x, 16.0)])


@case(rules=["grad.followed"], dtypes=TYPES)
def bounds_that_change_from_tape_to_tape(qd, dtype):
    """How often a loop runs stands in memory that the host writes before each tape."""
    x, loss, slope, n = real(qd, dtype, ()), real(qd, dtype, ()), real(qd, dtype, 4), qd.field(qd.i32, shape=())

    @qd.kernel
    def power():
        for _ in range(1):
            p = x[None]
            for _ in range(n[None]):
                p = p * x[None]
            loss[None] += p

    def run():
        x[None] = 2.0
        for k in range(4):
            n[None] = k
            with qd.ad.Tape(loss):
                power()
            slope[k] = x.grad[None]

    return Run(run, expect=[(slope, [1.0, 4.0, 12.0, 32.0])])


@case(rules=["grad.followed", "grad.overwritten"], dtypes=TYPES)
def a_reverse_mode_that_runs_parts_of_its_launch_again_leaves_what_was_kept(qd, dtype):
    """An old value of an atomic is computed again in reverse, in memory of its own, apart from what was kept."""
    n = 4
    x = qd.field(dtype, shape=n, needs_grad=True)
    loss = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def cube():
        for i in x:
            loss[None] += x[i] * x[i] * x[i]

    @qd.kernel
    def square():
        for i in x:
            old = qd.atomic_add(x[i], 0.5)
            x[i] = old * old

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def train():
        slopes = []
        for start in (1.0, 2.0, 3.0, 4.0):
            for i in range(n):
                x[i] = start + i
            with qd.ad.Tape(loss):
                cube()
                square()
                square()
                total()
            slopes += [x.grad[i] for i in range(n)]
        return slopes

    at = [start + i for start in (1.0, 2.0, 3.0, 4.0) for i in range(n)]
    return Run(train, returns=[3 * v**2 + 4 * v**3 for v in at])


@case(rules=["grad.followed", "grad.overwritten"], dtypes=TYPES, params={"reads": [False, True]})
def a_reverse_mode_that_makes_its_launch_again_leaves_what_later_launches_stored(qd, dtype, reads):
    """The loop overwrites a factor, and runs again in reverse; what it stores beside stays as the last call left it."""
    x, w, loss = real(qd, dtype, 4), real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def step(c: dtype):
        for _ in range(1):
            for j in range(2):
                if qd.static(reads):
                    x[j] = c * w[None] * x[j + 2]
                else:
                    x[j] = c * w[None] * w[None]
                w[None] = 2 * w[None]

    @qd.kernel
    def total():
        for i in range(2):
            loss[None] += x[i]

    def run():
        for _ in range(3):
            x[2] = x[3] = w[None] = 1.0
            with qd.ad.Tape(loss):
                step(8.0)
                step(1.0)
                total()

    # w is 4 and then 8 in the second call, where x is w times 1, or w^2: of slope 4 or 2 * 4 * 4, and 8 or 2 * 8 * 8
    values, slope, slopes = ([4.0, 8.0], 12.0, [4.0, 8.0]) if reads else ([16.0, 64.0], 160.0, [0.0, 0.0])
    return Run(run, expect=[(x, [*values, 1.0, 1.0]), (w, 16.0), (w.grad, slope), (x.grad, [0.0, 0.0, *slopes])])


@case(rules=["grad.followed", "grad.overwritten"], dtypes=TYPES)
def an_index_that_calls_change_and_change_back(qd, dtype):
    """It holds again what it held before them; the call before, which is recorded, is reversed with that."""
    x, s, loss, slope = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ()), real(qd, dtype, 2)
    n = qd.field(qd.i32, shape=2)

    @qd.kernel
    def pick(c: dtype):
        for _ in range(1):
            s[n[0]] = c * x[n[0]]

    @qd.kernel
    def halve():
        for _ in range(1):
            s[3] = x[3] / 2

    @qd.kernel
    def turn(by: qd.i32, at: qd.i32):
        for i in n:
            n[i] = (n[i] + by) % 4
        for _ in range(1):
            loss[None] += x[n[at]] * s[n[at]]

    def run():
        x.fill(1.0)
        for k in range(2):
            s.fill(0.0)
            with qd.ad.Tape(loss):
                if k:
                    pick(8.0)
                else:
                    halve()
                turn(1, 1)
                turn(1, 0)
                turn(2, 1)
            slope[k] = x.grad[0]

    # s[0] is 8 x[0] in the second tape, and the loss is x[0] s[0]
    return Run(run, expect=[(slope, [0.0, 16.0]), (s, [8.0, 0.0, 0.0, 0.0])])


@case(
    rules=["grad.overwritten", "grad.followed"],
    dtypes=TYPES,
    params={"writer": ["fill", "kernel", "element"], "rows": ["one", "history"]},
)
def a_gradient_function_writes_what_an_earlier_launch_needs(qd, dtype, writer, rows):
    """The launch recorded before is reversed with what it found; what the function wrote stays."""
    x, y, loss, slopes = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ()), real(qd, dtype, (3, 3))

    @qd.kernel
    def squares():
        for i in x:
            loss[None] += x[i] * x[i]

    @qd.kernel
    def cubes():
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            loss[None] += x[i] * y[i]

    @qd.kernel
    def spoil():
        for i in x:
            x[i] = 0.0

    @qd.ad.grad_replaced
    def nothing():
        pass

    @qd.ad.grad_for(nothing)
    def writes():
        if writer == "fill":
            x.fill(0.0)
            y.fill(0.0)
        elif writer == "kernel":
            spoil()
        else:
            x[1] = 0.0
            y[1] = 5.0

    def run():
        for k in range(3):
            x.fill(3.0)
            with qd.ad.Tape(loss):
                if rows == "history":
                    cubes()
                squares()
                nothing()
                squares()
            for i in range(3):
                slopes[k, i] = x.grad[i]

    slope = 12.0 if rows == "one" else 39.0
    left = [3.0, 0.0, 3.0] if writer == "element" else [0.0, 0.0, 0.0]
    return Run(run, expect=[(slopes, [[slope] * 3] * 3), (x, left)])


@case(rules=["grad.followed"], dtypes=TYPES)
def a_gradient_that_a_tape_does_not_come_to_use_stays_what_it_was(qd, dtype):
    """Each tape is expected to do what the one before did, and takes another array in the end."""
    arrays = [qd.ndarray(dtype, shape=2, needs_grad=True) for _ in range(3)]
    loss, slopes = qd.ndarray(dtype, shape=1, needs_grad=True), qd.field(dtype, shape=3)

    @qd.kernel
    def add(x: qd.types.ndarray(), loss: qd.types.ndarray()):
        for i in x:
            loss[0] += x[i] * x[i]

    def run():
        for k, x in enumerate(arrays):
            x.fill(1.0 + k)
        for k in (1, 1, 1, 2):
            with qd.ad.Tape(loss):
                add(arrays[0], loss)
                add(arrays[k], loss)
        for k, x in enumerate(arrays):
            slopes[k] = x.grad[0]

    return Run(run, expect={slopes: [2.0, 4.0, 6.0]})
