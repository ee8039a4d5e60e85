"""Random numbers: in their range, and each iteration has its own."""

from adstack.conformance.case import Run, case


@case(rules=["random.stream"], dtypes=["f32", "f64"])
def floats_are_uniform_in_zero_to_one(qd, dtype):
    """Each tenth of the range gets 1000 of 10000 numbers, within 20 standard deviations of 30."""
    counts, outside = qd.field(qd.i32, shape=10), qd.field(qd.i32, shape=())
    good = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k():
        for _ in range(10000):
            v = qd.random(dtype)
            if v < 0 or v >= 1:
                outside[None] += 1
            else:
                counts[qd.cast(v * 10, qd.i32)] += 1
        for i in counts:
            good[i] = 400 < counts[i] < 1600

    return Run(k, expect={outside: 0, good: 1})


@case(rules=["random.stream"])
def iterations_draw_different_numbers(qd):
    x, same = qd.field(qd.f64, shape=100), qd.field(qd.i32, shape=())

    @qd.kernel
    def draw():
        for i in x:
            x[i] = qd.random(qd.f64)

    @qd.kernel
    def compare():
        for i in x:
            for j in range(i):
                if x[i] == x[j]:
                    same[None] += 1

    return [Run(draw), Run(compare, expect={same: 0})]
