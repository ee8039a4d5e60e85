"""Tapes and forward modes belong to the thread that opened them; what other threads write comes from outside."""

import threading

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

F32 = {"dtypes": ["f32"]}


def in_threads(*work):
    """Run functions of no arguments in threads of their own, all at once, and raise what one of them raised."""
    raised = []

    def guarded(one):
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - it is raised, or looked at, by who waits
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@case(rules=["threads.recorders", "threads.clearing", "threads.turns"], **F32)
def each_thread_has_its_tape(qd, dtype):
    """Three threads run tapes over the same kernel, each on fields of its own: every gradient is right."""
    inner = [real(qd, dtype, 2) for _ in range(3)]
    losses = [real(qd, dtype, ()) for _ in range(3)]
    wrong = []

    @qd.kernel
    def square(x: qd.template(), y: qd.template()):
        for i in x:
            y[None] += x[i] * x[i]

    def work(x, y):
        def tapes():
            for _ in range(20):
                with qd.ad.Tape(y):
                    square(x, y)
                if [x.grad[0], x.grad[1]] != [2.0 * x[0], 2.0 * x[1]]:
                    wrong.append(x.grad.to_numpy())

        return tapes

    def program():
        in_threads(*map(work, inner, losses))
        assert not wrong, wrong

    given = {x: [1.0 + k, -2.0 - k] for k, x in enumerate(inner)}
    return Run(program, given=given, expect=[(x.grad, [2.0 + 2 * k, -4.0 - 2 * k]) for k, x in enumerate(inner)])


@case(rules=["threads.recorders"], **F32)
def a_launch_of_another_thread_is_not_recorded(qd, dtype):
    """What it computed is an input of the tape, and has the gradient itself."""
    v, z, y = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def other():
        for i in v:
            z[i] = 4.0 * v[i]

    @qd.kernel
    def add():
        for i in z:
            y[None] += 2.0 * z[i]

    def program():
        with qd.ad.Tape(y):
            in_threads(other)
            add()

    return Run(program, given={v: [1.0, 3.0]}, expect=[(z.grad, [2.0, 2.0]), (v.grad, [0.0, 0.0]), (y, 32.0)])


@case(rules=["threads.outside"], params={"who": ["host", "kernel"]}, **F32)
def what_another_thread_overwrites_is_kept(qd, dtype, who):
    """Another thread overwrites what a recorded launch has read: its gradient is that of what it read."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def square():
        for i in x:
            y[None] += x[i] * x[i]

    @qd.kernel
    def clear():
        for i in x:
            x[i] = 0.0

    def program():
        with qd.ad.Tape(y):
            square()
            in_threads(clear if who == "kernel" else lambda: x.fill(0.0))

    return Run(program, given={x: [1.5, -2.0]}, expect=[(x.grad, [3.0, -4.0]), (x, [0.0, 0.0])])


@case(rules=["threads.outside"], params={"who": ["host", "kernel", "element"]}, **F32)
def what_another_thread_writes_over_a_result_ends_its_gradient(qd, dtype, who):
    """The values are given from outside, though no launch needs what was there before."""
    x, m, y = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def double():
        for i in x:
            m[i] = 2.0 * x[i]

    @qd.kernel
    def five():
        m[0] = 5.0

    @qd.kernel
    def add():
        for i in m:
            y[None] += 3.0 * m[i]

    def element():
        m[0] = 5.0

    def everything():
        m.from_numpy(np.array([5.0, m[1]]))

    def program():
        with qd.ad.Tape(y):
            double()
            in_threads({"host": everything, "kernel": five, "element": element}[who])
            add()

    return Run(program, given={x: [1.0, 4.0]}, expect=[(x.grad, [0.0, 6.0]), (m.grad, [3.0, 0.0]), (y, 39.0)])


@case(rules=["threads.outside", "grad.second"], params={"who": ["host", "kernel", "element"]}, **F32)
def what_another_thread_writes_over_a_result_ends_its_second_derivatives(qd, dtype, who):
    """The values don't move along the direction, and what they replace has neither gradient nor its derivative."""
    x, m, y = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def square():
        for i in x:
            m[i] = x[i] * x[i]

    @qd.kernel
    def five():
        m[0] = 5.0

    @qd.kernel
    def times():
        for i in m:
            y[None] += m[i] * x[i]

    def element():
        m[0] = 5.0

    def everything():
        m.from_numpy(np.array([5.0, m[1]]))

    def program():
        with qd.ad.FwdMode(loss=y, param=x, seed=[2.0, 0.5]), qd.ad.Tape(y):
            square()
            in_threads({"host": everything, "kernel": five, "element": element}[who])
            times()

    expect = [(x.grad, [5.0, 48.0]), (x.grad.dual, [0.0, 12.0]), (m.grad, [1.0, 0.0]), (m.grad.dual, [2.0, 0.0])]
    return Run(program, given={x: [1.0, 4.0]}, expect=[*expect, (y, 69.0), (y.dual, 10.0 + 24.0)])


@case(rules=["threads.outside", "grad.second"], **F32)
def columns_of_a_hessian_end_where_another_thread_writes(qd, dtype):
    """The same along several directions at once: the sum of m[i] x[i]^2, where m[i] is x[i]^2, but 2 at first."""
    x, m, loss, columns = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype), qd.field(dtype, shape=(3, 3))

    @qd.kernel
    def square():
        for i in x:
            m[i] = x[i] * x[i]

    @qd.kernel
    def total():
        for i in x:
            loss[None] += m[i] * x[i] * x[i]

    def two():
        m[0] = 2.0

    def program():
        square()
        in_threads(two)
        total()

    def run():
        columns.from_numpy(qd.ad.hessian(program, loss, x))

    expected = [[4.0, 0.0, 0.0], [0.0, 48.0, 0.0], [0.0, 0.0, 108.0]]
    return Run(run, given={x: [1.0, 2.0, 3.0]}, expect=[(columns, expected)])


@case(rules=["threads.outside", "grad.second"], **F32)
def what_another_thread_writes_last_has_no_second_derivatives(qd, dtype):
    """No launch comes after the write, which is of the loss: nothing computes that any more."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def cube():
        for i in x:
            y[None] += x[i] * x[i] * x[i]

    def last():
        y[None] = 5.0

    def program():
        with qd.ad.FwdMode(loss=y, param=x, seed=[2.0, 0.5]), qd.ad.Tape(y):
            cube()
            in_threads(last)

    return Run(program, given={x: [1.0, 4.0]}, raises=Raises("RuntimeError", "nothing that the Tape recorded computes"))


@case(rules=["threads.recorders", "threads.outside"], **F32)
def forward_mode_is_a_threads_own(qd, dtype):
    """What another thread writes is constant, and its launches compute no duals."""
    x, m, y = (qd.field(dtype, shape=2, needs_grad=True, needs_dual=True) for _ in range(3))

    @qd.kernel
    def double():
        for i in x:
            m[i] = 2.0 * x[i]

    @qd.kernel
    def five():
        m[0] = 5.0

    @qd.kernel
    def add():
        for i in m:
            y[i] += 3.0 * m[i]

    def program():
        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 1.0]):
            double()
            in_threads(five)
            add()

    return Run(program, given={x: [1.0, 4.0]}, expect=[(y.dual, [0.0, 6.0]), (y, [15.0, 24.0])])
