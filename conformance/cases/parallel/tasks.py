"""Tasks of a kernel, what is parallel in it and what is serial, and the locals that its iterations share."""

from adstack.conformance.case import Run, case


@case(rules=["parallel.tasks"])
def loops_and_statements_alternate(qd):
    x, log = qd.field(qd.i32, shape=32), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        log[0] = x[0] + n
        for i in x:
            x[i] += log[0]
        log[1] = x[31]
        for i in range(n):
            x[i] = log[1] + i
        log[2] = x[n - 1] + x[n]

    return Run(k, args=(4,), given={x: 1}, expect={log: [5, 6, 15], x: [6, 7, 8, 9] + [6] * 28})


@case(rules=["parallel.tasks"])
def a_loop_in_a_function_at_the_top_is_a_task(qd):
    x, y = qd.field(qd.i32, shape=16), qd.field(qd.i32, shape=16)

    @qd.func
    def fill(target: qd.template(), first):
        for i in target:
            target[i] = first + i

    @qd.kernel
    def k():
        fill(x, 5)
        fill(y, x[15])

    return Run(k, expect={x: list(range(5, 21)), y: list(range(20, 36))})


@case(rules=["parallel.tasks"])
def values_of_serial_statements_reach_later_tasks(qd):
    x = qd.field(qd.f64, shape=3)

    @qd.kernel
    def k(n: qd.i32) -> qd.f64:
        a = n * 2
        v = qd.Vector([a, a + 1, a + 2])
        for i in x:
            x[i] = v[i] * 0.5
        a += 10
        for i in x:
            x[i] += a
        return x[0] + x[1] + x[2]

    return Run(k, args=(3,), returns=(6 + 7 + 8) / 2 + 3 * 16, expect={x: [19, 19.5, 20]})


@case(rules=["parallel.serial-inside"])
def loops_under_a_branch_of_the_kernel_are_serial(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(n: qd.i32):
        if n > 0:
            for i in range(1, 8):
                x[i] = x[i - 1] * 2

    return [
        Run(k, args=(0,), given={x: [1] + [0] * 7}, expect={x: [1] + [0] * 7}),
        Run(k, args=(1,), expect={x: [2**i for i in range(8)]}),
    ]


@case(rules=["parallel.serial-inside", "control.while"])
def loops_under_a_while_of_the_kernel_are_serial(qd):
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k() -> qd.i32:
        rounds = 0
        while x[4] < 20:
            for i in range(1, 5):
                x[i] += x[i - 1]
            rounds += 1
        return rounds

    def simulate():
        values, rounds = [1, 0, 0, 0, 0], 0
        while values[4] < 20:
            for i in range(1, 5):
                values[i] += values[i - 1]
            rounds += 1
        return values, rounds

    return Run(k, given={x: [1, 0, 0, 0, 0]}, returns=simulate()[1], expect={x: simulate()[0]})


@case(rules=["parallel.shared-local"], dtypes=["i32", "i64", "u32", "f32", "f64"])
def sums_and_differences_of_all_iterations(qd, dtype):
    out = qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        up, down = qd.cast(0, dtype), qd.cast(100000, dtype)
        for i in range(300):
            up += i
            down -= 2 * i
        out[0] = up
        out[1] = down

    return Run(k, expect={out: [300 * 299 // 2, 100000 - 300 * 299]})


@case(rules=["parallel.shared-local"])
def a_shared_vector(qd):
    out = qd.Vector.field(3, qd.i32, shape=())

    @qd.kernel
    def k():
        total = qd.Vector([0, 0, 0])
        for i in range(100):
            total += qd.Vector([1, i, i * i])
        out[None] = total

    return Run(k, expect={out: [100, 4950, sum(i * i for i in range(100))]})


@case(rules=["parallel.shared-local"])
def bits_collected_in_a_shared_local(qd):
    @qd.kernel
    def k() -> qd.u32:
        seen = qd.cast(0, qd.u32)
        for i in range(64):
            seen |= qd.cast(1, qd.u32) << (i % 5 * 6)
        return seen

    return Run(k, returns=sum(1 << (6 * j) for j in range(5)))


@case(rules=["parallel.shared-local"])
def a_shared_local_feeds_the_next_loop(qd):
    x = qd.field(qd.f32, shape=8)

    @qd.kernel
    def normalise():
        total = 0.0
        for i in x:
            total += x[i]
        for i in x:
            x[i] /= total

    given = [1, 2, 3, 4, 5, 6, 7, 36]
    return Run(normalise, given={x: given}, expect={x: [v / 64 for v in given]})


@case(rules=["parallel.shared-local"])
def locals_of_iterations_are_their_own(qd):
    out = qd.field(qd.i32, shape=50)

    @qd.kernel
    def k():
        shared = 0
        for i in out:
            own = 0
            for j in range(i):
                own += j
            out[i] = own
            shared += own
        out[0] = shared

    rows = [i * (i - 1) // 2 for i in range(50)]
    return Run(k, expect={out: [sum(rows), *rows[1:]]})


@case(rules=["parallel.unordered"])
def many_iterations_each_do_their_own_work(qd):
    out = qd.field(qd.i64, shape=20000)

    @qd.kernel
    def k():
        for i in out:
            v = qd.cast(i, qd.i64)
            out[i] = v * v - v

    return Run(k, expect={out: [i * i - i for i in range(20000)]})


@case(rules=["parallel.tasks"], params={"n": [0, 1, 2, 31, 32, 33, 255, 1025]})
def loops_of_every_length(qd, n):
    """Around the sizes in which iterations may be grouped."""
    out = qd.field(qd.i32, shape=1100)

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        total = 0
        for i in range(n):
            out[i] += 1
            total += i
        return total

    return Run(k, args=(n,), returns=n * (n - 1) // 2, expect={out: [1] * n + [0] * (1100 - n)})


@case(rules=["parallel.tasks", "control.ndrange"])
def hints_change_nothing(qd):
    x = qd.field(qd.i32, shape=(8, 8))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i, j in x:
            x[i, j] = i * j
        qd.loop_config(parallelize=2)
        for i, j in qd.ndrange(8, 8):
            x[i, j] += 1

    return Run(k, expect={x: [[i * j + 1 for j in range(8)] for i in range(8)]})
