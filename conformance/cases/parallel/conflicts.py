"""Which accesses of two iterations conflict, and which only look as if they did."""

from adstack.conformance.case import Raises, Run, case

DEBUG = {"debug": True}


@case(rules=["parallel.race"], options=DEBUG)
def race_of_two_writes(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            x[0] = i

    return Run(k, raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def race_with_a_neighbour_that_reads(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(7):
            x[i] = x[i + 1] + 1

    return Run(k, raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_a_plain_read_and_atomic_additions(qd):
    x, y = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            x[0] += 1
            y[i] = x[0]

    return Run(k, raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_a_plain_write_and_an_atomic_addition(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            if i == 3:
                x[5] = 1
            if i == 6:
                x[5] += 1

    return Run(k, raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_the_first_and_the_last_iteration(qd):
    x, y = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            y[i] = x[i]
            if i == 7:
                x[0] = 9

    return Run(k, raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def race_in_an_array(qd):
    a = qd.ndarray(qd.f32, shape=4)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(4):
            x[i // 2] = 1.0

    return Run(k, args=(a,), raises=Raises("AdstackRaceError"))


@case(rules=["parallel.race"], options=DEBUG)
def components_of_one_vector_are_apart(qd):
    v = qd.Vector.field(4, qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(4):
            v[None][i] = i + 1

    return Run(k, expect={v: [1, 2, 3, 4]})


@case(rules=["parallel.race"], options=DEBUG)
def an_iteration_may_do_as_it_likes_with_its_own(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i
            x[i] += 1
            x[i] = x[i] * x[i]

    return Run(k, expect={x: [(i + 1) ** 2 for i in range(8)]})


@case(rules=["parallel.race"], options=DEBUG)
def what_all_read_and_nobody_writes_is_no_race(qd):
    x, out = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in out:
            for j in range(8):
                out[i] += x[j]

    return Run(k, given={x: list(range(8))}, expect={out: 28})


@case(rules=["parallel.race"], options=DEBUG)
def serial_loops_have_no_races(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(7):
            x[i + 1] = x[i] + 1
        for _ in range(1):
            for i in range(8):
                x[0] = x[i]

    return Run(k, expect={x: [7, *range(1, 8)]})


@case(rules=["parallel.race"], options=DEBUG)
def atomics_of_different_kinds_do_not_conflict(qd):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(8):
            qd.atomic_max(x[None], i)
        for i in range(8):
            if i % 2 == 0:
                x[None] += 1
            else:
                qd.atomic_sub(x[None], 1)

    return Run(k, expect={x: 7})


@case(rules=["parallel.race"])
def outside_debug_mode_equal_writes_give_what_all_wrote(qd):
    x = qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in range(100):
            x[i % 2] = 5

    return Run(k, expect={x: 5})
