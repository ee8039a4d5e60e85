"""One array passed for two parameters: the gradient is that of one memory, whichever name reads it and writes it.

An array has one gradient, so that adjoints find their way. What a kernel overwrites by one name it may have read by the
other: the derivative is taken at the numbers that it found there, or refused where a launch does not keep them.
"""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real

N = 4
X = [0.5, -0.75, 1.25, 0.25]
REVERSED = {**BOUNDED, "modes": ("forward", "reverse")}
REVERSED_EXACTLY = {**EXACT, "modes": ("forward", "reverse")}
PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}


def array(qd, dtype, shape=N):
    """An array that can be differentiated in both modes."""
    return qd.ndarray(dtype, shape=shape, needs_grad=True, needs_dual=True)


def crossed_kernel(qd):
    """The second line reads by one name what the first has written by the other."""

    @qd.kernel
    def crossed(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[i] = 0.5 * q[i] + p[i] * p[i]
            q[i] = q[i] * p[i]

    return crossed


def crossed_by_one_name(row):
    """What `crossed` does where both parameters are one array."""
    return [(v / 2 + v * v) * (v / 2 + v * v) for v in row]


@case(rules=["grad.overwritten"], params={"form": ["squares", "crossed", "sums"]}, **REVERSED)
def an_array_passed_twice_is_written_by_both_names(qd, dtype, form):
    """Each line reads what was written by the other name before it."""
    a = array(qd, dtype)

    @qd.kernel
    def squares(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[i] = 0.5 * q[i] * q[i]
            q[i] = p[i] * p[i] + q[i]

    @qd.kernel
    def sums(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[i] += q[i] * q[i]
            q[i] += p[i] * q[i]

    def plain(row):
        if form == "crossed":
            return crossed_by_one_name(row)
        first = [v * v / 2 if form == "squares" else v + v * v for v in row]
        return [v * v + v for v in first]

    kernel = {"squares": squares, "crossed": crossed_kernel(qd), "sums": sums}[form]
    return agrees(kernel, plain, {a: X}, [a], args=(a, a))


@case(rules=["grad.overwritten"], **REVERSED)
def an_array_passed_twice_holds_a_history(qd, dtype):
    """Each step reads the row before by one name and writes the next by the other, and then by the first."""
    a = array(qd, dtype, (4, 2))

    @qd.kernel
    def k(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(2):
            for t in range(3):
                p[t + 1, i] = q[t, i] * p[t + 1, i] + q[t + 1, i]
                q[t, i] = p[t, i] * p[t + 1, i]

    def plain(rows):
        rows = [list(row) for row in rows]
        for i in range(2):
            for t in range(3):
                rows[t + 1][i] = rows[t][i] * rows[t + 1][i] + rows[t + 1][i]
                rows[t][i] = rows[t][i] * rows[t + 1][i]
        return rows

    return agrees(k, plain, {a: [[0.5, -0.75], [1.25, 0.25], [-1.5, 0.75], [0.125, -0.5]]}, [a], args=(a, a))


@case(rules=["grad.overwritten"], params={"first": ["one", "two"]}, **PLAIN)
def calls_with_one_array_and_with_two_take_turns(qd, dtype, first):
    """What is known of the calls of one kind says nothing of the other."""
    p, q, one = (array(qd, dtype) for _ in range(3))
    crossed = crossed_kernel(qd)
    calls = [(one, one), (p, q)] if first == "one" else [(p, q), (one, one)]

    def program():
        for _ in range(3):
            for place in (p, q, one):
                place.from_numpy(start)
            for arguments in calls:
                crossed(*arguments)
            for place in (p, q, one):
                place.grad.fill(1.0)
            for arguments in calls:
                crossed.grad(*arguments)

    start = p.to_numpy()
    for i, v in enumerate(X):
        start[i] = v
    # p = q / 2 + p p and q = q p: the adjoint of the new p is 1 + q, and that of q is the new p besides
    of_p = [2 * v * (1 + v) for v in X]
    of_q = [v / 2 + v * v + (1 + v) / 2 for v in X]
    of_one = [2 * (v / 2 + v * v) * (0.5 + 2 * v) for v in X]
    return Run(program, expect=[(p.grad, of_p), (q.grad, of_q), (one.grad, of_one)])


@case(rules=["grad.overwritten", "grad.load"], params={"form": ["store", "sum", "rows", "read"]}, **REVERSED_EXACTLY)
def an_array_passed_twice_is_only_read_by_one_name(qd, dtype, form):
    """The reverse pass reads nothing of what the launch overwrites, and has one gradient for both names."""
    a, y = array(qd, dtype, (2, N)), real(qd, dtype, N)

    @qd.kernel
    def store(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[1, i] = 4.0 * q[1, i]

    @qd.kernel
    def sum_(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[1, i] += 4.0 * q[1, i] - 0.5 * q[0, i]

    @qd.kernel
    def rows(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            p[1, i] = 4.0 * q[0, i] + p[0, i]

    @qd.kernel
    def read(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            y[i] = p[0, i] * q[1, i] + p[1, i] * q[1, i]

    def plain(start):
        pairs = list(zip(*start))
        if form == "read":
            return [u * v + v * v for u, v in pairs]
        after = {"store": lambda u, v: 4 * v, "sum": lambda u, v: 5 * v - u / 2, "rows": lambda u, v: 5 * u}[form]
        return [start[0], [after(u, v) for u, v in pairs]]

    kernel = {"store": store, "sum": sum_, "rows": rows, "read": read}[form]
    return agrees(kernel, plain, {a: [X, [0.75, 0.5, -0.25, -1.5]]}, [y if form == "read" else a], args=(a, a))


@case(rules=["grad.overwritten"], **REVERSED)
def a_field_passed_twice_is_only_read_by_one_name(qd, dtype):
    """Templates that are one field are one place: what it held is kept, whichever name reads it."""
    x = real(qd, dtype, N)

    @qd.kernel
    def k(p: qd.template(), q: qd.template()):
        for i in range(N):
            p[i] = 0.5 * q[i] * q[i] + p[i]

    return agrees(k, lambda row: [v * v / 2 + v for v in row], {x: X}, [x], args=(x, x))


@case(rules=["grad.refused"], params={"asked": ["grad", "tape"]}, **PLAIN)
def what_one_name_alone_reads_the_other_has_overwritten(qd, dtype, asked):
    """Nobody has kept what was read by a name that the kernel does not write by: the gradient is refused."""
    a, loss = array(qd, dtype), real(qd, dtype, ())

    @qd.kernel
    def k(p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            loss[None] += q[i] * q[i]
            p[i] = 0.5 * q[i] * q[i]

    def program():
        if asked == "tape":
            with qd.ad.Tape(loss):
                k(a, a)
        else:
            k(a, a)
            loss.grad[None] = 1.0
            k.grad(a, a)

    return Run(program, given={a: X}, raises=Raises("DataAccessError", "share memory"))
