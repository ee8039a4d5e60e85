"""Adstacks as deep as they must be: static bounds, bounds from memory, ragged nests, what only running tells."""

from adstack.conformance.case import Run, case
from adstack.conformance.gradients import BOUNDED, agrees, real


def step(s):
    """What every iteration does to the carried value; it has to be kept for the reverse pass."""
    return s * s / 2 + s / 4


def repeated(starts, counts):
    """Each start, as many steps on as its count says."""
    found = []
    for s, count in zip(starts, counts, strict=True):
        for _ in range(count):
            s = step(s)
        found.append(s)
    return found


@case(rules=["sizing.static"], params={"form": ["plain", "arithmetic", "i64"]}, **BOUNDED)
def c1_static_bounds(qd, dtype, form):
    """Bounds that fold to a constant: 5, 2 * 4 - 6 // 2, an i64."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)
    lo = qd.static(2)

    @qd.kernel
    def plain():
        for i in x:
            s = x[i]
            for _ in range(5):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    @qd.kernel
    def arithmetic():
        for i in x:
            s = x[i]
            for _ in range(lo, 2 * 4 - 6 // 2 + lo):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    @qd.kernel
    def wide():
        for i in x:
            s = x[i]
            for _ in range(qd.i64(5)):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    kernel = {"plain": plain, "arithmetic": arithmetic, "i64": wide}[form]
    return agrees(kernel, lambda x: repeated(x, [5, 5, 5]), {x: [0.5, -0.75, 1.5]}, [y])


@case(rules=["sizing.branches"], params={"taken": [0, 1]}, **BOUNDED)
def c2_exclusive_branches(qd, dtype, taken):
    """A long loop in one branch, a short one in the other, and one after both."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k(which: qd.i32):
        for i in x:
            s = x[i]
            if i % 2 == which:
                for _ in range(9):
                    s = 0.5 * s * s + 0.25 * s
            else:
                for _ in range(2):
                    s = 0.5 * s * s + 0.25 * s
            for _ in range(3):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    counts = [12 if i % 2 == taken else 5 for i in range(4)]
    return agrees(k, lambda x: repeated(x, counts), {x: [0.5, -0.75, 1.5, 1.25]}, [y], args=(taken,))


@case(rules=["sizing.launch"], params={"n": [0, 1, 7]}, **BOUNDED)
def d1_an_argument_a_shape_and_a_field(qd, dtype, n):
    """A scalar argument, the extent of an array and an element of a field add up to the bound."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)
    more = qd.field(qd.i32, shape=2)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n + more.shape[0] + more[1] - 2):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    plain = [n + 3] * 3
    return agrees(k, lambda x: repeated(x, plain), {x: [0.5, -0.75, 1.5]}, [y], args=(n,), constant={more: [9, 3]})


@case(
    rules=["sizing.launch"],
    params={"index": ["own", "half", "indirect", "two-axes", "start-stop"]},
    **BOUNDED,
)
def d1_indices_of_bounds(qd, dtype, index):
    """arr[i], arr[i // 2], a[b[i]], field[i, i % 2], range(start[i], stop[i])."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)
    a, b = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)
    f = qd.field(qd.i32, shape=(4, 2))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if qd.static(index == "own"):
                for _ in range(a[i]):
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(index == "half"):
                for _ in range(a[i // 2]):
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(index == "indirect"):
                for _ in range(a[b[i]]):
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(index == "two-axes"):
                for _ in range(f[i, i % 2]):
                    s = 0.5 * s * s + 0.25 * s
            else:
                for _ in range(b[i], a[i]):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    a_, b_, f_ = [4, 0, 2, 6], [3, 0, 1, 2], [[1, 5], [2, 0], [3, 9], [0, 4]]
    counts = {
        "own": a_,
        "half": [a_[i // 2] for i in range(4)],
        "indirect": [a_[b_[i]] for i in range(4)],
        "two-axes": [f_[i][i % 2] for i in range(4)],
        "start-stop": [max(0, a_[i] - b_[i]) for i in range(4)],
    }[index]
    constant = {a: a_, b: b_, f: f_}
    return agrees(k, lambda x: repeated(x, counts), {x: [0.5, -0.75, 1.5, 1.25]}, [y], constant=constant)


@case(rules=["sizing.launch"], **BOUNDED)
def d1_over_two_axes(qd, dtype):
    """An ndrange whose bounds come from both indices."""
    x, y = real(qd, dtype, (3, 2)), real(qd, dtype, (3, 2))
    a, b = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for i, j in qd.ndrange(3, 2):
            s = x[i, j]
            for _ in range(a[i] * b[j] + i):
                s = 0.5 * s * s + 0.25 * s
            y[i, j] = s

    a_, b_ = [2, 0, 1], [1, 3]

    def plain(x):
        return [repeated(row, [a_[i] * b_[j] + i for j in range(2)]) for i, row in enumerate(x)]

    return agrees(k, plain, {x: [[0.5, -0.75], [1.5, 1.25], [0.25, 1]]}, [y], constant={a: a_, b: b_})


@case(rules=["sizing.exact"], params={"bound": ["i64", "u64", "u32", "i8"]}, **BOUNDED)
def d6_bounds_of_every_width(qd, dtype, bound):
    """Both ends near the edge of the type: the distance is exact."""
    kind = getattr(qd, bound)
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)
    ends = qd.field(kind, shape=(2, 2))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(ends[i, 0], ends[i, 1]):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    last = {"i64": 2**63 - 1, "u64": 2**64 - 1, "u32": 2**32 - 1, "i8": 127}[bound]
    constant = {ends: [[last - 5, last], [last - 2, last - 4]]}
    return agrees(k, lambda x: repeated(x, [5, 0]), {x: [0.5, -0.75]}, [y], constant=constant)


@case(rules=["sizing.ragged"], params={"form": ["triangle", "ragged", "three-deep"]}, **BOUNDED)
def d3_ragged_nests(qd, dtype, form):
    """for j in range(a[i]): for k in range(j), range(a[j]), and one loop deeper."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)
    a = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(a[i]):
                if qd.static(form == "triangle"):
                    for _ in range(j):
                        s = 0.5 * s * s + 0.25 * s
                elif qd.static(form == "ragged"):
                    for _ in range(a[j]):
                        s = 0.5 * s * s + 0.25 * s
                else:
                    for m in range(j + 1):
                        for _ in range(m, a[j]):
                            s = 0.5 * s * s + 0.25 * s
            y[i] = s

    a_ = [3, 0, 4, 1]
    inner = {
        "triangle": lambda j: j,
        "ragged": lambda j: a_[j],
        "three-deep": lambda j: sum(max(0, a_[j] - m) for m in range(j + 1)),
    }[form]
    counts = [sum(inner(j) for j in range(n)) for n in a_]
    return agrees(k, lambda x: repeated(x, counts), {x: [0.5, -0.75, 1.5, 1.25]}, [y], constant={a: a_})


@case(rules=["sizing.branches"], **BOUNDED)
def d3_a_loop_in_a_branch_of_a_loop(qd, dtype):
    """Only the odd trips push."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                if j % 2 == 1:
                    for _ in range(j):
                        s = 0.5 * s * s + 0.25 * s
                else:
                    s = s * 0.5
            y[i] = s

    def plain(x):
        for j in range(6):
            x = repeated(x, [j] * 3) if j % 2 else [s / 2 for s in x]
        return x

    return agrees(k, plain, {x: [0.5, -0.75, 1.5]}, [y], args=(6,))


@case(rules=["sizing.counting"], params={"form": ["while", "root", "computed", "array"]}, **BOUNDED)
def d4_what_no_formula_bounds(qd, dtype, form):
    """A while that values end, the root of a field's element, a bound that a loop computes, a local array."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)
    a = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if qd.static(form == "while"):
                while s > 0.125:
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(form == "root"):
                for _ in range(qd.cast(qd.sqrt(qd.cast(a[i], qd.f32)), qd.i32)):
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(form == "computed"):
                n = 0
                for j in range(a[i]):
                    n = 2 * n + j % 2
                for _ in range(n):
                    s = 0.5 * s * s + 0.25 * s
            else:
                c = qd.Vector([0, 0, 0])
                c[i] = a[i] // 2
                for _ in range(c[0] + c[1] + c[2]):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    a_ = [4, 0, 5]
    counts = {"root": [2, 0, 2], "computed": [5, 0, 10], "array": [2, 0, 2]}

    def plain(x):
        if form != "while":
            return repeated(x, counts[form])
        found = []
        for s in x:
            while s.value > 1 / 8:
                s = step(s)
            found.append(s)
        return found

    return agrees(k, plain, {x: [0.5, 0.0625, 1.25]}, [y], constant={a: a_})


@case(rules=["sizing.counting"], **BOUNDED)
def d4_an_inner_loop_over_a_field(qd, dtype):
    """The extent of another field, times what an outer loop runs."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)
    w = real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                for j in range(w.shape[0]):
                    s = 0.5 * s * s + w[j] * s
            y[i] = s

    def plain(x, w):
        for _ in range(2):
            for u in w:
                x = [s * s / 2 + u * s for s in x]
        return x

    return agrees(k, plain, {x: [0.5, -0.75], w: [0.25, 0.5, -0.5]}, [y], args=(2,))


@case(rules=["sizing.gated"], params={"passing": [0, 1, 5]}, **BOUNDED)
def d8_gated_work(qd, dtype, passing):
    """Only threads that pass a condition push anything."""
    x, y = real(qd, dtype, 64), real(qd, dtype, 64)
    gate = qd.field(qd.i32, shape=64)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if gate[i] == 1:
                for _ in range(12):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    open_ = [int(i % 13 == 3 and i // 13 < passing) for i in range(64)]
    starts = [0.5 + i / 64 for i in range(64)]
    return agrees(k, lambda x: repeated(x, [12 * o for o in open_]), {x: starts}, [y], constant={gate: open_})


@case(rules=["sizing.cache"], params={"how": ["argument", "element", "whole", "kernel"]})
def d5_bounds_that_change_between_launches(qd, how):
    """Each launch sees the bound of its own time: w is -1, so that m steps have a derivative of (-1)^m."""
    x, y = qd.field(qd.f32, shape=2, needs_grad=True), qd.field(qd.f32, shape=2, needs_grad=True)
    w, trips = qd.field(qd.f32, shape=16, needs_grad=True), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k(more: qd.i32):
        for i in x:
            s = x[i]
            for j in range(trips[i] + more):
                s = s * w[j]
            y[i] = s

    @qd.kernel
    def write(n: qd.i32):
        trips[0] = n
        trips[1] = n

    def launch(n):
        def both():
            if how == "element":
                trips[0], trips[1] = n, n
            elif how == "whole":
                trips.fill(n)
            elif how == "kernel":
                write(n)
            more = n if how == "argument" else 0
            x.grad.fill(0)
            w.grad.fill(0)
            y.grad.fill(1)
            k(more)
            k.grad(more)

        of_w = [2 * (-1) ** (n - 1) if j < n else 0 for j in range(16)]
        return Run(both, given={x: 1, w: -1}, expect={x.grad: (-1) ** n, w.grad: of_w, y: (-1) ** n})

    return [launch(n) for n in (3, 3, 7, 2, 0, 16, 1)]


@case(
    rules=["sizing.checkpoints"],
    params={"form": ["for", "while", "nested"], "n": [1, 2, 17, 200]},
    **{**BOUNDED, "options": {"default_fp": "dtype", "ad_stack_heap_limit": 1024}},
)
def long_loops_in_a_small_heap(qd, dtype, form, n):
    """A heap of a kibibyte: where that is too little, steps run again."""
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            if qd.static(form == "while"):
                j = 0
                while j < n:
                    s = 0.5 * s * s + 0.25 * s
                    j += 1
            elif qd.static(form == "for"):
                for _ in range(n):
                    s = 0.5 * s * s + 0.25 * s
            else:
                for j in range(n // 2):
                    for _ in range(j % 4):
                        s = 0.5 * s * s + 0.25 * s
            y[i] = s

    count = sum(j % 4 for j in range(n // 2)) if form == "nested" else n
    return agrees(k, lambda x: repeated(x, [count] * 2), {x: [1.25, -0.75]}, [y], args=(n,))
