"""Graphs: calls of kernels recorded in a block, and launched together."""

import math

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import EXACT, agrees, real


@case(rules=["parallel.graph"], params={"times": [0, 1, 3]})
def a_block_runs_nothing_and_a_launch_all_of_it(qd, times):
    x, total = qd.field(qd.i32, shape=5), qd.field(qd.i32, shape=())

    @qd.kernel
    def count(by: qd.i32):
        for i in x:
            x[i] += by * i

    @qd.kernel
    def add():
        for i in x:
            total[None] += x[i]

    def program():
        with qd.graph() as g:
            count(1)
            add()
            count(2)
        for _ in range(times):
            g.launch()

    after = [3 * times * i for i in range(5)]
    return Run(program, expect={x: after, total: sum(10 * (3 * k + 1) for k in range(times))})


@case(rules=["parallel.graph"])
def scalars_are_those_of_the_block_and_memory_is_that_of_the_launch(qd):
    x, log = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)
    array = qd.ndarray(qd.i32, shape=3)

    @qd.kernel
    def put(a: qd.types.ndarray(qd.i32, 1), at: qd.i32, factor: qd.i32):
        for _ in range(1):
            log[at] = factor * x[at]
            a[at] = log[at] + 1

    def program():
        graphs, factor = [], 10
        for at in range(3):
            with qd.graph() as g:
                put(array, at, factor)
            graphs.append(g)
            factor *= 10
        for round_ in range(3):
            for at in range(3):
                x[at] = round_ + at
            for g in graphs:
                g()

    return Run(program, expect=[(log, [20, 300, 4000]), (array, [21, 301, 4001])])


def descent(qd):
    """y = x ** 4 in loops that memory bounds, and a step of x against its gradient, as one graph."""
    x, y = (qd.field(qd.f64, shape=4, needs_grad=True) for _ in range(2))
    turns = qd.field(qd.i32, shape=4)

    @qd.kernel
    def square():
        for i in x:
            v = x[i]
            for _ in range(turns[i]):
                v = v * v
            y[i] = v

    @qd.kernel
    def seed():
        for i in x:
            x.grad[i] = 0.0
            y.grad[i] = 1.0

    @qd.kernel
    def step():
        for i in x:
            x[i] -= 0.25 * x.grad[i]

    return x, y, turns, square, seed, step


def after(x, turns, count):
    """What x holds after so many steps: all numbers stay exact."""
    for _ in range(count):
        x = [a - 0.25 * 2**t * a ** (2**t - 1) for a, t in zip(x, turns, strict=True)]
    return x


@case(rules=["parallel.graph"], params={"times": [1, 2, 3]})
def gradients_in_a_graph(qd, times):
    """A launch, its reverse mode, and a step along the gradient."""
    x, _, turns, square, seed, step = descent(qd)

    def program():
        with qd.graph() as g:
            square()
            seed()
            square.grad()
            step()
        for _ in range(times):
            g.launch()

    given = {x: [0.5, -1.0, 0.25, 2.0], turns: [0, 1, 1, 0]}
    return Run(program, given=given, expect={x: after([0.5, -1.0, 0.25, 2.0], [0, 1, 1, 0], times)})


@case(rules=["parallel.graph-bounds"], params={"to": [0, 1, 3], "by": ["host", "kernel", "graph", "graph-late"]})
def a_loop_bound_that_changes_between_launches(qd, to, by):
    """Gradients are right, or the launch is refused, and right once the graph is captured again."""
    x, _, turns, square, seed, step = descent(qd)
    wanted = qd.field(qd.i32, shape=())

    @qd.kernel
    def bound():
        for i in turns:
            turns[i] = wanted[None]

    def launch(g):
        kept = x.to_numpy()
        try:
            g.launch()
            qd.sync()
        except RuntimeError:
            x.from_numpy(kept)
            g.renew()
            g.launch()
            qd.sync()

    def change(g):
        wanted[None] = to
        if by == "host":
            turns.fill(to)
        if by == "kernel":
            bound()
        launch(g)

    def program():
        wanted[None] = 2
        turns.fill(2)
        with qd.graph() as g:
            if by == "graph":
                bound()
            square()
            seed()
            square.grad()
            step()
            if by == "graph-late":
                bound()
        launch(g)
        change(g)
        if by == "graph-late":
            launch(g)

    start = [0.5, 1.0, -1.0, 0.0]
    first = after(start, [2] * 4, 2 if by == "graph-late" else 1)
    return Run(program, given={x: start}, expect={x: after(first, [to] * 4, 1)})


@case(rules=["parallel.graph", "random.stream"], params={"graph": [False, True]})
def every_launch_of_a_graph_draws_other_numbers(qd, graph):
    x, same = qd.field(qd.f64, shape=(4, 50)), qd.field(qd.i32, shape=())
    row = qd.field(qd.i32, shape=())

    @qd.kernel(graph=graph)
    def draw():
        for j in range(50):
            x[row[None], j] = qd.random(qd.f64)
        row[None] += 1

    @qd.kernel
    def compare():
        for i, j in x:
            for k in range(i):
                if x[i, j] == x[k, j]:
                    same[None] += 1

    def program():
        with qd.graph() as g:
            draw()
        draw()
        g.launch()
        g.launch()
        draw()
        compare()

    return Run(program, expect={same: 0, row: 4})


@case(
    rules=["parallel.graph-block"],
    params={"how": ["element", "all", "write", "fill", "array", "init", "result", "print", "numpy", "tapes", "graph"]},
)
def what_the_host_may_not_do_in_a_block(qd, how):
    """It can't read or write memory, make any, start over; calls that return, print or take memory of the host."""
    x, loss = qd.field(qd.f32, shape=3, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    x[0] = 1.0

    @qd.kernel
    def result() -> qd.f32:
        return x[0]

    @qd.kernel
    def speak():
        print(x[0])

    @qd.kernel
    def take(a: qd.types.ndarray(qd.f32, 1)):
        for i in a:
            a[i] = 1.0

    def put():
        x[1] = 2.0

    does = {
        "element": lambda: x[0],
        "all": x.to_numpy,
        "write": put,
        "fill": lambda: x.fill(1.0),
        "array": lambda: qd.ndarray(qd.f32, shape=3),
        "init": qd.reset,
        "result": result,
        "print": speak,
        "numpy": lambda: take(np.zeros(3, np.float32)),
        "tapes": lambda: [qd.ad.Tape(loss).__enter__() for _ in range(2)],
        "graph": lambda: qd.graph().__enter__(),
    }

    def program():
        with qd.graph():
            does[how]()

    return Run(program, raises=Raises("RuntimeError", "graph" if how != "tapes" else "Tape"))


@case(rules=["parallel.graph-tape"], params={"graph": [False, True]})
def a_block_with_two_tapes(qd, graph):
    """Each launch differentiates what it finds: memory that is overwritten, what the host changes between launches."""
    x, y, z = (qd.field(qd.f64, shape=shape, needs_grad=True) for shape in (3, (), ()))
    sums = qd.field(qd.f64, shape=3)

    @qd.kernel
    def square(by: qd.f64):
        for i in x:
            x[i] = by * x[i] * x[i]

    @qd.kernel
    def add(to: qd.template()):
        for i in x:
            to[None] += x[i]

    @qd.kernel
    def keep():
        for i in x:
            sums[i] += x.grad[i]

    @qd.ad.grad_replaced
    def twice():
        square(1.0)
        square(2.0)

    @qd.ad.grad_for(twice)
    def hundredfold():
        x.grad.from_numpy(100.0 * x.grad.to_numpy())

    @qd.kernel
    def reset():
        x[0] = 5.0

    @qd.ad.no_grad
    def restart():
        reset()

    def block():
        with qd.ad.Tape(y):
            square(1.0), square(by=0.25), add(y)
        keep()
        with qd.ad.Tape(z, clear_gradients=False):
            restart(), twice(), add(z)
        keep()

    def program():
        if graph:
            with qd.graph() as g:
                block()
        for k in range(3):
            x.from_numpy(np.array([1.0, 2.0, k + 1.0]))
            g.launch() if graph else block()

    # the first tape leaves x**3; the second adds 1, passes on 100 times that, and nothing to the constant
    after = [3.0, 24.0 + 3 * 100.0 * 9, (1 + 8 + 27) + 100.0 * (2 + 9 + 28)]
    return Run(program, expect=[(sums, after), (y, 0.25 * (1 + 16 + 81))])


@case(rules=["parallel.graph-kernel"], params={"graph": [False, True]})
def the_tasks_of_a_kernel_as_one(qd, graph):
    """With other arguments, other extents and other arrays from call to call."""
    x, total = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())
    arrays = [qd.ndarray(qd.i32, shape=n) for n in (8, 8, 3)]

    @qd.kernel(graph=graph)
    def k(n: qd.i32, by: qd.i32, a: qd.types.ndarray(qd.i32, 1)):
        for i in range(n):
            x[i] += by
        total[None] = total[None] + x[0]
        for i in a:
            a[i] += x[i]

    calls = [(8, 1, 0), (8, 1, 0), (8, 2, 0), (3, 2, 1), (0, 5, 1), (0, 5, 2), (8, 1, 2), (8, 1, 0)]
    xs, sums, seen = [0] * 8, 0, [[0] * 8, [0] * 8, [0] * 3]
    for n, by, which in calls:
        xs = [v + by if i < n else v for i, v in enumerate(xs)]
        sums += xs[0]
        seen[which] = [a + v for a, v in zip(seen[which], xs, strict=False)]

    def program():
        for n, by, which in calls:
            k(n, by, arrays[which])

    return Run(program, expect=[(x, xs), (total, sums), *zip(arrays, seen, strict=True)])


@case(rules=["parallel.graph-kernel"], **EXACT)
def gradients_of_a_kernel_whose_tasks_are_one(qd, dtype):
    x, t, y = (real(qd, dtype, 4) for _ in range(3))

    @qd.kernel(graph=True)
    def k():
        for i in x:
            t[i] = x[i] * x[i]
        for i in x:
            y[i] = 0.5 * t[i] * x[i]

    def plain(x):
        return [a * a for a in x], [a * a * a / 2 for a in x]

    return agrees(k, plain, {x: [0.5, -1.0, 2.0, 0.25]}, [t, y])


@case(rules=["parallel.graph-kernel"], dtypes=["f64"], options={"default_fp": "dtype"})
def a_kernel_whose_tasks_are_one_tells_zeros_apart(qd, dtype):
    """What was kept for 0.0 is not done again for -0.0, which equals it."""
    x, y = (qd.field(dtype, shape=2) for _ in range(2))

    @qd.kernel(graph=True)
    def k(s: dtype):
        for i in x:
            x[i] = 1.0 / s
        for i in y:
            y[i] = x[i]

    def program():
        for s in (0.0, 0.0, -0.0):
            k(s)

    return Run(program, expect={y: [-math.inf] * 2})


@case(rules=["parallel.graph-while"], params={"shape": [(), (1,)]})
def a_graph_is_launched_while_a_counter_is_not_zero(qd, shape):
    x, left = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=shape)

    @qd.kernel
    def step():
        for i in x:
            x[i] += i
        for I in qd.grouped(left):
            left[I] -= 1

    def program():
        with qd.graph() as g:
            step()
        left.fill(4)
        g.do_while(left)

    return Run(program, expect={x: [0, 4, 8], left: [0] if shape else 0})
