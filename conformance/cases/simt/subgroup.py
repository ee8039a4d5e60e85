"""Subgroups of 32 threads: what their threads tell each other."""

from adstack.conformance.case import Run, case

VALUES = [(7 * i) % 31 - 9 for i in range(70)]
LAST = 6
"""Blocks of 64 threads: the last one has 6."""


def parts():
    """The subgroups, as the numbers of their threads' iterations."""
    return [range(32), range(32, 64), range(64, 64 + LAST)]


@case(
    rules=["simt.subgroup"],
    params={"name": ["shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "broadcast"], "by": [0, 3, 31]},
)
def a_value_of_another_thread(qd, name, by):
    """Of a thread that is not there, the own value."""
    x, y = qd.field(qd.f32, shape=70), qd.field(qd.f32, shape=70)
    tell = getattr(qd.simt.subgroup, name)

    @qd.kernel
    def k(by: qd.i32):
        qd.loop_config(block_dim=64)
        for i in x:
            y[i] = tell(x[i], by)

    of = {
        "shuffle": lambda lane: by,
        "shuffle_up": lambda lane: lane - by,
        "shuffle_down": lambda lane: lane + by,
        "shuffle_xor": lambda lane: lane ^ by,
        "broadcast": lambda lane: by,
    }[name]
    expected = []
    for part in parts():
        for lane, i in enumerate(part):
            other = of(lane)
            expected.append(VALUES[part[other]] if 0 <= other < len(part) else VALUES[i])
    return Run(k, args=(by,), given={x: VALUES}, expect={y: expected})


@case(rules=["simt.subgroup"])
def sums_extrema_and_votes(qd):
    x, out = qd.field(qd.i32, shape=70), qd.field(qd.i32, shape=(3, 7))
    bits = qd.field(qd.u32, shape=3)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in x:
            sub = qd.simt.subgroup
            total, least, most = sub.reduce_add(x[i]), sub.reduce_min(x[i]), sub.reduce_max(x[i])
            some, every = sub.any_true(x[i] > 19), sub.all_true(x[i] > -9)
            ballot, count = sub.ballot(x[i] > 3), sub.reduce_add(x[i] > 3)
            if sub.invocation_id() == 0:
                row = i // sub.group_size()
                bits[row] = ballot
                for column, value in qd.static(enumerate([total, least, most, some, every, sub.group_size(), count])):
                    out[row, column] = value

    rows, ballots = [], []
    for part in parts():
        own = [VALUES[i] for i in part]
        rows.append(
            [sum(own), min(own), max(own), int(max(own) > 19), int(min(own) > -9), 32, sum(value > 3 for value in own)]
        )
        ballots.append(sum(1 << lane for lane, value in enumerate(own) if value > 3))
    return Run(k, given={x: VALUES}, expect={out: rows, bits: ballots})


@case(rules=["simt.subgroup"])
def a_sum_of_floats_is_in_the_order_of_the_threads(qd):
    x, y = qd.field(qd.f32, shape=5), qd.field(qd.f32, shape=5)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=8)
        for i in x:
            total = 0.0
            for _ in range(2):
                total = qd.simt.subgroup.reduce_add(x[i] + total)
            y[i] = total

    big = float(2**24)
    # first 1 everywhere, as 2^24 + 1 is 2^24; then 2^24 + 2 + 2 + (1 - 2^24) + 2
    return Run(k, given={x: [big, 1.0, 1.0, -big, 1.0]}, expect={y: [7.0] * 5})
