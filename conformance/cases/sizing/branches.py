"""Branches inside loops: what they keep has a slot for each trip that takes them, where that number can be known."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real


def step(s):
    """What a branch does to the carried value; it has to be kept for the reverse pass."""
    return s * s / 2 + s / 4


FORMS = ["remainder", "memory", "argument", "carried", "ends", "both", "nested", "computed", "loop"]


MASKS = [[(i * 7 + j * j) % 3 % 2 for j in range(20)] for i in range(3)]


def trip(form, s, c, i, j, n):
    """One trip in plain Python."""
    if form == "carried":
        c += MASKS[i][j]
        return (step(s), 0) if c == 2 else (s, c)
    if form == "both":
        return step(s if (j + i) % 3 == 0 else s / 2), c
    if form == "nested" and j % 2 == 0:
        t = s * 3 / 4
        s = t * t / 2 + s / 4 if j % 3 == 0 else s
        s = s * s / 2 + t / 4 if s > 0.25 else s
        return s, c
    if form == "computed":
        return (step(s) if s > 0.25 else s + 0.5), c
    times = {
        "remainder": j % 3 == 0,
        "memory": MASKS[i][j] != 0,
        "argument": i < j < n - 5,
        "ends": (j == 4) + (j == n - 1),
        "loop": j % 4 if j % 3 == 1 else 0,
    }
    for _ in range(int(times.get(form, 0))):
        s = step(s)
    return s, c


def plain(form, x, n):
    """The kernel in plain Python."""
    out = []
    for i, s in enumerate(x):
        c = 0
        for j in range(n):
            s, c = trip(form, s, c, i, j, n)
        out.append(s)
    return out


@case(rules=["sizing.branches"], params={"form": FORMS}, **BOUNDED)
def branches_taken_in_some_trips(qd, dtype, form):
    """One in three; as a mask says; as integers that the loop counts say; both sides; what floats decide."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)
    mask = qd.field(qd.i32, shape=(3, 20))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            c = 0
            for j in range(n):
                if qd.static(form == "remainder"):
                    if j % 3 == 0:
                        s = 0.5 * s * s + 0.25 * s
                elif qd.static(form == "memory"):
                    if mask[i, j] != 0:
                        s = 0.5 * s * s + 0.25 * s
                elif qd.static(form == "argument"):
                    if j < n - 5 and j > i:
                        s = 0.5 * s * s + 0.25 * s
                elif qd.static(form == "carried"):
                    c += mask[i, j]
                    if c == 2:
                        s = 0.5 * s * s + 0.25 * s
                        c = 0
                elif qd.static(form == "ends"):
                    if j == 4:
                        s = 0.5 * s * s + 0.25 * s
                    if j == n - 1:
                        s = 0.5 * s * s + 0.25 * s
                elif qd.static(form == "both"):
                    if (j + i) % 3 == 0:
                        s = 0.5 * s * s + 0.25 * s
                    else:
                        t = s * 0.5
                        s = 0.5 * t * t + 0.25 * t
                elif qd.static(form == "nested"):
                    if j % 2 == 0:
                        t = s * 0.75
                        if j % 3 == 0:
                            s = 0.5 * t * t + 0.25 * s
                        if s > 0.25:
                            s = 0.5 * s * s + 0.25 * t
                elif qd.static(form == "computed"):
                    if s > 0.25:
                        s = 0.5 * s * s + 0.25 * s
                    else:
                        s = s + 0.5
                else:
                    if j % 3 == 1:
                        for _ in range(j % 4):
                            s = 0.5 * s * s + 0.25 * s
            y[i] = s

    n = 17
    return agrees(k, lambda x: plain(form, x, n), {x: [1.25, -0.75, 1.5]}, [y], args=(n,), constant={mask: MASKS})
