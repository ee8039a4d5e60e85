"""What the report says of adstacks after a launch: the depth and the bytes of a thread that the loops really need."""

from adstack.conformance.case import Run, case


def sized(qd, kernel, x, y, args=(), given=(), *, slots):
    """The run: what one thread keeps, in slots and in bytes, after the gradient has run."""
    seen = qd.field(qd.i64, shape=2)

    def program():
        kernel(*args)
        y.grad.fill(1.0)
        kernel.grad(*args)
        (task,) = kernel.grad.adstack_report(*args).tasks
        size = 8 if y.dtype is qd.f64 else 4
        seen[0], seen[1] = task.stride // size, task.stride
        assert task.needed == task.stride * task.lanes
        assert task.allocated >= task.needed

    size = 8 if y.dtype is qd.f64 else 4
    return Run(program, given={x: 0.5, **dict(given)}, expect={seen: [slots, slots * size]})


def data(qd, dtype, extent):
    return (qd.field(dtype, shape=extent, needs_grad=True) for _ in range(2))


@case(rules=["sizing.static"], dtypes=["f32", "f64"], params={"form": ["plain", "arithmetic", "i64"]})
def c1_the_depth_of_static_bounds(qd, dtype, form):
    x, y = data(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            if qd.static(form == "plain"):
                for _ in range(5):
                    s = 0.5 * s * s + 0.25 * s
            elif qd.static(form == "arithmetic"):
                for _ in range(2, 2 * 4 - 6 // 2 + 2):
                    s = 0.5 * s * s + 0.25 * s
            else:
                for _ in range(qd.i64(5)):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    return sized(qd, k, x, y, slots=5)


@case(rules=["sizing.branches"], dtypes=["f32"])
def c2_the_depth_of_exclusive_branches(qd, dtype):
    """Nine in one branch, two in the other share their room; three come after both."""
    x, y = data(qd, dtype, 4)

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

    return sized(qd, k, x, y, (1,), slots=9 + 3)


@case(rules=["sizing.launch"], dtypes=["f32", "f64"], params={"n": [1, 7]})
def d1_the_depth_of_an_argument_a_shape_and_a_field(qd, dtype, n):
    x, y = data(qd, dtype, 3)
    more = qd.field(qd.i32, shape=2)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n + more.shape[0] + more[1] - 2):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    return sized(qd, k, x, y, (n,), {more: [9, 3]}, slots=n + 3)


@case(rules=["sizing.launch"], dtypes=["f32"], params={"index": ["own", "half", "indirect", "start-stop"]})
def d1_the_depth_of_indices_of_bounds(qd, dtype, index):
    """The greatest of any thread."""
    x, y = data(qd, dtype, 4)
    a, b = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

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
            else:
                for _ in range(b[i], a[i]):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    slots = {"own": 6, "half": 4, "indirect": 6, "start-stop": 4}[index]
    return sized(qd, k, x, y, (), {a: [4, 0, 2, 6], b: [3, 0, 1, 2]}, slots=slots)


@case(rules=["sizing.ragged"], dtypes=["f32"])
def d3_the_depth_of_a_ragged_nest(qd, dtype):
    """for j in range(i): for k in range(j): the sum of 0 .. 4 for the last of six threads, not 5 x 4."""
    x, y = data(qd, dtype, 6)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(i):
                for _ in range(j):
                    s = 0.5 * s * s + 0.25 * s
            y[i] = s

    return sized(qd, k, x, y, slots=10)
