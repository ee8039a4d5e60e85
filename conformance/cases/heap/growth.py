"""The heap grows with what launches need, and runs loops in waves where it may not."""

from adstack.conformance.case import Raises, Run, case


def chain(qd, threads):
    """(run of n steps, ...): s <- s * w[j] for thread-dependent numbers of steps, n - i % 3."""
    x, y = qd.field(qd.f32, shape=threads, needs_grad=True), qd.field(qd.f32, shape=threads, needs_grad=True)
    w = qd.field(qd.f32, shape=2048, needs_grad=True)
    trips = qd.field(qd.i32, shape=threads)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(trips[i]):
                s = s * w[j]
            y[i] = s

    def both():
        x.grad.fill(0)
        w.grad.fill(0)
        y.grad.fill(1)
        k()
        k.grad()

    def run(n, **asked):
        """With x = 1 and w = -1 the product of m factors is (-1)^m; an adjoint of w is the sum of (-1)^(m-1)."""
        counts = [max(0, n - i % 3) for i in range(threads)]
        signs = [[m for m in counts if m > j] for j in range(n)]
        of_w = [sum((-1) ** (m - 1) for m in deep) for deep in signs] + [0] * (2048 - n)
        expect = {} if "raises" in asked else {x.grad: [(-1) ** m for m in counts], w.grad: of_w}
        return Run(both, given={x: 1, w: -1, trips: counts}, expect=expect, **asked)

    return run


@case(rules=["heap.grow"])
def grow_on_demand(qd):
    """Twelve launches, each deeper than the one before, then shallow ones."""
    run = chain(qd, 100)
    return [run(n) for n in (1, 2, 3, 5, 9, 17, 40, 90, 200, 450, 1000, 2000, 4, 0, 300)]


@case(rules=["heap.lanes"], params={"threads": [1, 7, 1000]})
def b5_dynamic_launch_shape(qd, threads):
    """The extent of the loop and the depths are read from memory at every launch; both may be 0."""
    x, y = qd.field(qd.f32, shape=threads, needs_grad=True), qd.field(qd.f32, shape=threads, needs_grad=True)
    w, extent = qd.field(qd.f32, shape=64, needs_grad=True), qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32):
        for i in range(extent[None]):
            s = x[i]
            for j in range(n):
                s = s * w[j]
            y[i] = s

    def both(n):
        def run():
            x.grad.fill(0)
            w.grad.fill(0)
            y.grad.fill(1)
            k(n)
            k.grad(n)

        return run

    def run(m, n):
        ones = [(-1) ** n] * m + [0] * (threads - m)
        of_w = [m * (-1) ** (n - 1)] * n + [0] * (64 - n)
        return Run(both(n), given={x: 1, w: -1, extent: m}, expect={x.grad: ones, w.grad: of_w})

    return [run(m, n) for m in (0, 1, threads) for n in (0, 1, 64)]


@case(rules=["heap.limit"], options={"ad_stack_heap_limit": 1024}, params={"threads": [10, 100]})
def b3_waves_within_a_limit(qd, threads):
    """1,024 bytes are room for 256 slots: from many threads with few slots to one with all of them."""
    run = chain(qd, threads)
    return [run(n) for n in (1, 10, 60, 250, 3)]


@case(rules=["heap.lanes"])
def b5_a_serial_loop_is_one_lane(qd):
    x, y = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(n: qd.i32):
        s = x[None]
        while s < 4.0 * n:
            s = s * s
        y[None] = s

    def both():
        y.grad[None] = 1
        x.grad[None] = 0
        k(9)
        k.grad(9)

    # 2, 4, 16, 256: y = x^8
    return Run(both, given={x: 2}, expect={y: 256, x.grad: 8 * 2**7})


@case(rules=["heap.size"], options={"ad_stack_size": 100}, params={"threads": [5, 1000]})
def b8_a_forced_capacity(qd, threads):
    run = chain(qd, threads)
    return [run(100), run(7), run(101, raises=Raises("OverflowError", "capacity 100 was pushed 101 deep")), run(50)]
