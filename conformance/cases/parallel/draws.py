"""Random numbers: their range in every type, and what they depend on. No bound is passed by chance once in 10^12."""

from adstack.conformance.case import Run, case

INTS = ["i32", "u32", "i64", "u64"]


@case(rules=["random.stream"], dtypes=INTS)
def integers_have_every_bit_at_random(qd, dtype):
    """Of 4096 numbers every bit is set in 2048 on average, with a standard deviation of 32."""
    x, bad = qd.field(dtype, shape=4096), qd.field(qd.i32, shape=())
    bits = 32 if dtype in (qd.i32, qd.u32) else 64

    @qd.kernel
    def draw():
        for i in x:
            x[i] = qd.random(dtype)

    @qd.kernel
    def count():
        for b in range(bits):
            ones = 0
            for i in range(4096):
                ones += qd.cast((x[i] >> b) & 1, qd.i32)
            if ones < 1728 or ones > 2368:
                bad[None] += 1

    return [Run(draw), Run(count, expect={bad: 0})]


@case(rules=["random.stream"])
def numbers_of_one_iteration_differ(qd):
    same, x = qd.field(qd.i32, shape=()), qd.field(qd.f64, shape=(4, 50))

    @qd.kernel
    def draw():
        for i in range(4):
            for j in range(50):
                x[i, j] = qd.random(qd.f64)

    @qd.kernel
    def compare():
        for i in range(200):
            for j in range(i):
                if x[i // 50, i % 50] == x[j // 50, j % 50]:
                    same[None] += 1

    return [Run(draw), Run(compare, expect={same: 0})]


@case(rules=["random.stream"])
def launches_and_tasks_draw_different_numbers(qd):
    x, same = qd.field(qd.f64, shape=(3, 64)), qd.field(qd.i32, shape=())

    @qd.kernel
    def two_tasks():
        for i in range(64):
            x[0, i] = qd.random(qd.f64)
        for i in range(64):
            x[1, i] = qd.random(qd.f64)

    @qd.kernel
    def again(row: qd.i32):
        for i in range(64):
            x[row, i] = qd.random(qd.f64)

    @qd.kernel
    def compare():
        for i in range(64):
            same[None] += x[0, i] == x[1, i]
            same[None] += x[0, i] == x[2, i]
            same[None] += x[1, i] == x[2, i]

    return [Run(two_tasks), Run(again, args=(2,)), Run(compare, expect={same: 0})]


@case(rules=["random.stream"], dtypes=["f32", "f64"])
def normal_numbers_have_mean_zero_and_variance_one(qd, dtype):
    """Of 10000 numbers: eight standard deviations are 0.08 for the mean and 0.12 for the mean square."""
    total, squares, good = qd.field(qd.f64, shape=()), qd.field(qd.f64, shape=()), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(10000):
            v = qd.randn(dtype)
            total[None] += v
            squares[None] += v * v
        good[0] = -800 < total[None] < 800
        good[1] = 8800 < squares[None] < 11200

    return Run(k, expect={good: 1})
