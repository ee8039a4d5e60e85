"""Fields that hold a history: what is read stays there, or the gradient is refused."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import sin


@case(
    rules=["grad.overwritten", "grad.load"],
    params={"form": ["first", "all-before", "two-before"]},
    **{**BOUNDED, "modes": ("forward", "reverse")},
)
def entries_from_earlier_entries(qd, dtype, form):
    """y[t] from y[0], from all y[u] with u < t, or from the two before: nothing that is read is overwritten later."""
    y = real(qd, dtype, 6)

    @qd.kernel
    def first():
        for _ in range(1):
            for t in range(1, 6):
                y[t] = y[0] * y[0] * t + y[t]

    @qd.kernel
    def all_before():
        for _ in range(1):
            for t in range(1, 6):
                s = y[0] * 0.0
                for u in range(t):
                    s += qd.sin(y[u]) * 0.5
                y[t] = s

    @qd.kernel
    def two_before():
        for _ in range(1):
            for t in range(2, 6):
                y[t] = y[t - 1] * y[t - 2] + 0.25

    def plain(y):
        y = list(y)
        for t in range(1, 6):
            if form == "first":
                y[t] = y[0] * y[0] * t + y[t]
            elif form == "all-before":
                y[t] = sum((sin(a) for a in y[:t]), 0) / 2
            elif t > 1:
                y[t] = y[t - 1] * y[t - 2] + 0.25
        return y

    kernel = {"first": first, "all-before": all_before, "two-before": two_before}[form]
    return agrees(kernel, plain, {y: [0.5, 0.1, 0.2, 0.3, 0.4, 0.6]}, [y])


@case(rules=["grad.overwritten", "grad.load"], params={"form": ["serial", "parallel"]}, **BOUNDED)
def a_history_per_row(qd, dtype, form):
    """x[r, t + 1] from x[r, t]: the time begins again with every row, in other elements."""
    x, w = real(qd, dtype, (3, 5)), real(qd, dtype, 3)

    @qd.kernel
    def serial():
        for _ in range(1):
            for r in range(3):
                for t in range(4):
                    x[r, t + 1] = x[r, t] * x[r, t] * w[r] + 0.25

    @qd.kernel
    def parallel():
        for r in range(3):
            for t in range(4):
                x[r, t + 1] = x[r, t] * x[r, t] * w[r] + 0.25

    def plain(w, x):
        rows = [list(row) for row in x]
        for row, a in zip(rows, w):
            for t in range(4):
                row[t + 1] = row[t] * row[t] * a + 0.25
        return rows

    start = [[a, 0.0, 0.0, 0.0, 0.0] for a in (0.5, -0.75, 1.25)]
    return agrees(serial if form == "serial" else parallel, plain, {w: [0.5, 0.9, -0.4], x: start}, [x])


@case(
    rules=["grad.overwritten"],
    params={"form": ["sweeps", "triangle", "computed", "carried", "again"]},
    modes=("reverse",),
)
def a_history_that_is_overwritten_is_refused(qd, form):
    """A loop around lets the time begin again, or the index runs backwards: without a launch nothing has been kept."""
    y, total = real(qd, qd.f64, 6), real(qd, qd.f64, ())

    @qd.kernel
    def sweeps():
        for _ in range(1):
            for _k in range(3):
                for t in range(5):
                    y[t + 1] = y[t] * y[t] * 0.5 + y[t + 1]

    @qd.kernel
    def triangle():
        for _ in range(1):
            for _k in range(3):
                for t in range(1, 6):
                    s = y[0] * 0.0
                    for u in range(t):
                        s += y[u] * y[u]
                    y[t] = s

    @qd.kernel
    def computed():
        for _ in range(1):
            for r in range(4):
                m = 4 - r
                y[m + 1] = y[m] * y[m] * 0.5

    @qd.kernel
    def carried():
        for _ in range(1):
            m = 4
            for _k in range(4):
                y[m + 1] = y[m] * y[m] * 0.5
                m = m - 1

    @qd.kernel
    def again():
        for _ in range(1):
            for r in range(3):
                for t in range(5):
                    y[t] = y[5] * (r + 1.0)
                    total[None] += y[t] * y[t]

    forms = {"sweeps": sweeps, "triangle": triangle, "computed": computed, "carried": carried, "again": again}

    def run():
        forms[form].grad()

    return Run(run, given={y: 0.5}, raises=Raises("DataAccessError", "Breaks the global data access rule"))


@case(rules=["grad.overwritten"], params={"form": ["sweeps", "computed"]}, **BOUNDED)
def a_history_that_is_overwritten_is_right_on_a_tape(qd, dtype, form):
    """The same kernels on a tape, twice each: every value is that of its time."""
    x, y, loss = real(qd, dtype, 6), real(qd, dtype, 6), real(qd, dtype, ())

    @qd.kernel
    def start():
        for i in x:
            y[i] = x[i]

    @qd.kernel
    def sweeps():
        for _ in range(1):
            for _k in range(3):
                for t in range(5):
                    y[t + 1] = y[t] * y[t] * 0.5 + y[t + 1] * 0.5

    @qd.kernel
    def computed():
        for _ in range(1):
            for r in range(4):
                m = 4 - r
                y[m + 1] = y[m] * y[m] * 0.5 + 0.25

    @qd.kernel
    def measure():
        for i in y:
            loss[None] += y[i] * (i + 1)

    def run():
        start()
        for _ in range(2):
            (sweeps if form == "sweeps" else computed)()
        measure()

    def plain(x):
        y = list(x)
        for _ in range(2):
            if form == "sweeps":
                for _ in range(3):
                    for t in range(5):
                        y[t + 1] = y[t] * y[t] / 2 + y[t + 1] / 2
            else:
                for m in (4, 3, 2, 1):
                    y[m + 1] = y[m] * y[m] / 2 + 0.25
        return sum((a * (i + 1) for i, a in enumerate(y)), 0)

    return agrees(run, plain, {x: [0.5, 0.1, 0.7, 0.3, 0.9, 0.2]}, [loss], loss=loss)
