"""Races are reported in debug mode; what only looks like one is not."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["parallel.race"], options={"debug": True})
def race_of_two_iterations_is_reported(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(8):
            x[i // 2] = i

    return Run(k, raises=Raises("AssertionError"))


@case(rules=["parallel.race", "parallel.unordered"], options={"debug": True})
def an_iteration_may_read_what_an_earlier_task_wrote(qd):
    x, y = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            x[i] = i * i
        for i in range(8):
            y[i] = x[7 - i] + x[i]

    return Run(k, expect={y: [49, 37, 29, 25, 25, 29, 37, 49]})


@case(rules=["parallel.race"], options={"debug": True})
def atomic_updates_of_one_element_are_no_race(qd):
    total = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(100):
            total[None] += i

    return Run(k, expect={total: 4950})


@case(rules=["parallel.serial-inside"])
def a_serialised_loop_runs_in_order(qd):
    x = qd.field(qd.i32, shape=16)

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(1, 16):
            x[i] = x[i - 1] + i

    return Run(k, expect={x: [i * (i + 1) // 2 for i in range(16)]})
