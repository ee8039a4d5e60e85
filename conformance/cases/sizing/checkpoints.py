"""Loops that keep more than the heap may hold: they run again from snapshots, whatever they are inside of."""

from adstack.conformance.case import Run, case

SMALL = {"ad_stack_heap_limit": 1024}


def products(qd, lanes=3):
    """Places of a chain s <- s * w[j], and what m factors of -1, `uses` of each w, give: all of it exact."""
    x, y = qd.field(qd.f32, shape=lanes, needs_grad=True), qd.field(qd.f32, shape=lanes, needs_grad=True)
    w = qd.field(qd.f32, shape=4, needs_grad=True)

    def run(k, uses):
        def both():
            x.grad.fill(0)
            w.grad.fill(0)
            y.grad.fill(1)
            k()
            k.grad()

        sign = (-1) ** sum(uses)
        return Run(both, given={x: 1, w: -1}, expect={y: sign, x.grad: sign, w.grad: [-sign * n * lanes for n in uses]})

    return x, y, w, run


@case(rules=["sizing.checkpoints"], params={"form": ["for-for", "while-for", "for-while", "three"]}, options=SMALL)
def nests_in_a_small_heap(qd, form):
    """A few trips of an outer loop, each of which keeps more than there is room for: loops inside have snapshots."""
    x, y, w, run = products(qd)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if qd.static(form == "for-for"):
                for _ in range(2):
                    for b in range(400):
                        s = s * w[b % 4]
            elif qd.static(form == "while-for"):
                a = 0
                while a < 2:
                    for b in range(400):
                        s = s * w[b % 4]
                    a += 1
            elif qd.static(form == "for-while"):
                for _ in range(2):
                    b = 0
                    while b < 400 and s < 2.0:
                        s = s * w[b % 4]
                        b += 1
            else:
                for a in range(2):
                    for b in range(2):
                        for c in range(300 + a - b):
                            s = s * w[c % 4]
            y[i] = s

    if form != "three":
        return run(k, [200] * 4)
    counts = [300 + a - b for a in range(2) for b in range(2)]
    return run(k, [sum(1 for n in counts for c in range(n) if c % 4 == j) for j in range(4)])


@case(rules=["sizing.checkpoints"], params={"bound": ["number", "memory"]}, options=SMALL)
def nests_before_other_loops_in_a_small_heap(qd, bound):
    """The reverse pass comes to the nest when others have changed gradients: that it has no room is known before."""
    lanes = 3
    x, y, z = (qd.field(qd.f32, shape=lanes, needs_grad=True) for _ in range(3))
    w, n = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(2):
                if qd.static(bound == "number"):
                    for b in range(400):
                        s = s * w[b % 4]
                else:
                    for b in range(n[None]):
                        s = s * w[b % 4]
            y[i] = s
        for i in x:
            z[i] = 2 * x[i]

    def both():
        k()
        k.grad()

    given = {x: 1, w: -1, n: 400, x.grad: 0, w.grad: 0, y.grad: 1, z.grad: 1}
    return Run(both, given=given, expect={y: 1, z: 2, x.grad: 3, w.grad: -200 * lanes})


@case(
    rules=["sizing.checkpoints"],
    params={"form": ["in-place", "nested", "logged"]},
    options={**SMALL, "ad_snapshot": True},
)
def steps_in_memory_in_a_small_heap(qd, form):
    """Loops that step an element in place, or use what updates found: memory that trips touch is part of the state."""
    lanes = 3
    x, w, y = (qd.field(qd.f32, shape=lanes, needs_grad=True) for _ in range(3))

    @qd.kernel
    def k():
        for i in x:
            if qd.static(form == "in-place"):
                for _ in range(401):
                    x[i] = x[i] * w[i]
            elif qd.static(form == "nested"):
                for a in range(100):
                    for _ in range(a % 3 + 3):
                        x[i] = x[i] * w[i]
                    x[i] = x[i] * w[i]
            else:
                s = 1.0
                for _ in range(401):
                    s = s * qd.atomic_mul(x[i], w[i])
                x[i] = s
            y[i] = x[i]

    def both():
        k()
        k.grad()

    factors = {"in-place": 401, "nested": 499, "logged": sum(range(401))}[form]
    of_x = 401 if form == "logged" else 1
    sign = (-1) ** factors
    given = {x: 1, w: -1, x.grad: 0, w.grad: 0, y.grad: 1}
    return Run(both, given=given, expect={y: sign, x.grad: sign * of_x, w.grad: -sign * factors})


@case(
    rules=["sizing.checkpoints"],
    params={"form": ["for-for", "while-for", "for-while", "branch", "three"]},
    options=SMALL,
)
def logs_of_inner_loops_in_a_small_heap(qd, form):
    """Old values of updates in loops inside a loop: a snapshot knows how many entries of the log come before it."""
    lanes = 3
    x, w, y = (qd.field(qd.f32, shape=lanes, needs_grad=True) for _ in range(3))

    @qd.kernel
    def k():
        for i in x:
            s = 1.0
            if qd.static(form == "for-for"):
                for a in range(100):
                    for _ in range(a % 3 + 3):
                        s = s * qd.atomic_mul(x[i], w[i])
            elif qd.static(form == "while-for"):
                a = 0
                while a < 100:
                    for _ in range(a % 3 + 3):
                        s = s * qd.atomic_mul(x[i], w[i])
                    a += 1
            elif qd.static(form == "for-while"):
                for a in range(100):
                    b = a % 3
                    while b < a % 3 * 2 + 3:
                        s = s * qd.atomic_mul(x[i], w[i])
                        b += 1
            elif qd.static(form == "branch"):
                for a in range(100):
                    if a % 3 != 0:
                        for _ in range(a % 3 + 3):
                            s = s * qd.atomic_mul(x[i], w[i])
                    else:
                        for _ in range(3):
                            s = s * qd.atomic_mul(x[i], w[i])
            else:
                for a in range(10):
                    for b in range(10):
                        for _ in range((a * 10 + b) % 3 + 3):
                            s = s * qd.atomic_mul(x[i], w[i])
            y[i] = s

    def both():
        k()
        k.grad()

    updates = sum(a % 3 + 3 for a in range(100))
    of_w = updates * (updates - 1) // 2
    sign = (-1) ** of_w
    given = {x: 1, w: -1, x.grad: 0, w.grad: 0, y.grad: 1}
    return Run(both, given=given, expect={y: sign, x.grad: sign * updates, w.grad: -sign * of_w})


@case(
    rules=["sizing.checkpoints"],
    params={"form": ["ring", "some-trips", "guarded", "serial", "nested"]},
    options={**SMALL, "ad_snapshot": True},
)
def elements_that_change_from_trip_to_trip_in_a_small_heap(qd, form):
    """Loops that step other elements in other trips, or only in some: all that trips may touch is in a snapshot."""
    lanes, length = 3, 4
    x = qd.field(qd.f32, shape=(lanes, length), needs_grad=True)
    w = qd.field(qd.f32, shape=lanes, needs_grad=True)

    @qd.kernel
    def k():
        if qd.static(form == "serial"):
            i = 0
            while i < lanes:
                for t in range(400):
                    x[i, (t + 1) % length] = x[i, t % length] * w[i]
                i += 1
        else:
            for i in w:
                for t in range(400):
                    if qd.static(form == "ring"):
                        x[i, (t + 1) % length] = x[i, t % length] * w[i]
                    elif qd.static(form == "some-trips"):
                        if t % 4 != 3:
                            x[i, t % length] = x[i, t % length] * w[i]
                    elif qd.static(form == "guarded"):
                        j = i + 1
                        if j < lanes:
                            x[j, t % length] = x[j, t % length] * w[i]
                    else:
                        for _ in range(t % 3):
                            x[i, t % length] = x[i, t % length] * w[i]
                        x[i, 0] = x[i, 0] * w[i]

    def both():
        k()
        k.grad()

    of_x, of_w, last = steps(form, lanes, length)
    given = {x: 1, w: -1, x.grad: 1, w.grad: 0}
    return Run(both, given=given, expect={x: last, x.grad: of_x, w.grad: of_w})


def steps(form, lanes, length):
    """Gradients of x and w, and what x holds in the end, where x starts from 1 and each w is -1."""
    if form in ("ring", "serial"):  # 400 steps of one number, of which the last four are left; 400 is even
        return (
            [[sum((-1) ** (397 + j) for j in range(4)), 0, 0, 0]] * lanes,
            [-sum((-1) ** n * n for n in (397, 398, 399, 400))] * lanes,
            [[(-1) ** n for n in (400, 397, 398, 399)]] * lanes,
        )
    factors = [[0] * length for _ in range(lanes)]
    for i in range(lanes):
        for t in range(400):
            if form == "some-trips":
                factors[i][t % length] += t % 4 != 3
            elif form == "guarded":
                factors[i][t % length] += i > 0
            else:
                factors[i][t % length] += t % 3
                factors[i][0] += 1
    signs = [[(-1) ** n for n in row] for row in factors]
    of_w = [-sum(s * n for s, n in zip(*both, strict=True)) for both in zip(signs, factors, strict=True)]
    return signs, [*of_w[1:], 0] if form == "guarded" else of_w, signs
