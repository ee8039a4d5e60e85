"""Adstacks in the stack of a thread have a budget; those in the heap have none."""

from adstack.conformance.case import Run, case

BUDGET_SLOTS = 256 * 1024 // 4


def chain(qd, n):
    """s <- s * w, n times, n being a constant: y = x * w^n."""
    x, y = qd.field(qd.f32, shape=3, needs_grad=True), qd.field(qd.f32, shape=3, needs_grad=True)
    w = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * w[None]
            y[i] = s

    def both():
        y.grad.fill(1)
        x.grad.fill(0)
        w.grad.fill(0)
        k()
        k.grad()

    # with w = -1 and x = 1, 2, 3
    expect = {x.grad: [(-1) ** n] * 3, w.grad: n * 6 * (-1) ** (n + 1)}
    return Run(both, given={x: [1, 2, 3], w: -1}, expect=expect)


@case(rules=["heap.stack"], options={"ad_stack_storage": "stack"}, params={"n": [0, 1, 100, BUDGET_SLOTS]})
def a5_constant_bounds_fit_a_thread_s_stack(qd, n):
    return chain(qd, n)


@case(rules=["heap.stack"], options={"ad_stack_storage": "heap"}, params={"n": [100, BUDGET_SLOTS + 1]})
def a5_the_heap_has_no_such_budget(qd, n):
    return chain(qd, n)


@case(rules=["heap.stack"], options={"ad_stack_storage": "stack", "ad_stack_size": 50})
def a5_a_forced_capacity_is_known_when_compiled(qd):
    return chain(qd, 50)


@case(rules=["heap.stack"], options={"ad_stack_storage": "stack"})
def a5_every_task_has_the_budget_for_itself(qd):
    """Two loops, each with three quarters of it."""
    n = BUDGET_SLOTS * 3 // 4
    x, y, z = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(3))
    w = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * w[None]
            y[i] = s
        for i in x:
            t = x[i]
            for _ in range(n):
                t = t * w[None]
            z[i] = t

    def both():
        y.grad.fill(1)
        z.grad.fill(1)
        k()
        k.grad()

    return Run(both, given={x: 1, w: -1}, expect={x.grad: [2, 2], w.grad: -4 * n})
