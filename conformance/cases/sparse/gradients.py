"""Gradients of sparse fields: what is inactive is constant."""

import numpy as np

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import EXACT, real

LEVELS = ["pointer", "bitmasked", "hash", "dynamic"]


def placed(level, *fields):
    level.place(*fields, *(each for field in fields for each in (field.grad, field.dual)))


@case(rules=["sparse.gradient"], **EXACT)
def a_loop_over_what_is_active_is_differentiated(qd, dtype):
    x, y, s = qd.field(dtype), qd.field(dtype), real(qd, dtype, ())
    placed(qd.root.pointer(qd.i, 3).dense(qd.i, 2), x, y)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i]
        for i in range(6):
            s[None] += y[i] + 4.0 * x[i]

    gradient = Gradient(
        seed={s: 2.0},
        expect={x: [8.0, 8.0 + 4.0 * 3.0, 0.0, 0.0, 8.0 + 4.0 * 0.5, 8.0]},
        forward_seed={x: [1.0, 2.0, 0.0, 0.0, 4.0, 8.0]},
        forward_expect={s: 4.0 + 2.0 * 10.0 + 4.0 * 5.0 + 32.0},
    )
    given = {x: [0.0, 3.0, 0.0, 0.0, 0.5, 0.0]}
    return Run(k, given=given, expect={s: 9.25 + 14.0}, gradient=gradient)


@case(rules=["sparse.gradient", "sparse.write"], **EXACT)
def what_is_scattered_is_differentiated(qd, dtype):
    """Particles add to cells that they activate; a loop reads these and cells beside them."""
    p, cell, s = real(qd, dtype, 3), qd.field(dtype, needs_grad=True, needs_dual=True), real(qd, dtype, ())
    qd.root.bitmasked(qd.i, 8).place(cell)

    @qd.kernel
    def k():
        for i in p:
            cell[2 * i + 1] += p[i] * p[i]
        for i in cell:
            s[None] += cell[i] * cell[i] + cell[i - 1]

    gradient = Gradient(
        seed={s: 1.0},
        expect={p: [4.0 * 1.0, 4.0 * 8.0, 4.0 * -0.125]},
        forward_seed={p: [1.0, 2.0, 8.0]},
        forward_expect={s: 4.0 + 64.0 - 4.0},
    )
    return Run(k, given={p: [1.0, 2.0, -0.5]}, expect={s: 1.0 + 16.0 + 0.0625}, gradient=gradient)


@case(rules=["sparse.gradient", "sparse.lists"], **EXACT)
def lists_are_differentiated(qd, dtype):
    """Neighbours are gathered in one kernel, and summed up in another."""
    near, x, y = qd.field(qd.i32), real(qd, dtype, 4), real(qd, dtype, 4)
    qd.root.dense(qd.i, 4).dynamic(qd.j, 3).place(near)

    @qd.kernel
    def search():
        for i in range(4):
            near[i].deactivate()
            for j in range(i):
                near[i].append(j)

    @qd.kernel
    def k():
        for i in y:
            for n in range(near[i].length()):
                y[i] += x[near[i, n]] * x[i]

    gradient = Gradient(
        seed={y: [1.0, 1.0, 2.0, 4.0]},
        expect={x: [2.0 + 6.0 + 20.0, 1.0 + 6.0 + 20.0, 2.0 * 3.0 + 20.0, 4.0 * 6.0]},
        forward_seed={x: [1.0, 0.0, 0.0, 1.0]},
        forward_expect={y: [0.0, 2.0, 3.0, 5.0 + 6.0]},
    )
    return [Run(search), Run(k, given={x: [1.0, 2.0, 3.0, 5.0]}, expect={y: [0, 2.0, 9.0, 30.0]}, gradient=gradient)]


@case(rules=["sparse.gradient"], modes=("forward", "reverse"), dtypes=["f32", "f64"])
def steps_that_clear_a_grid_on_a_tape(qd, dtype):
    """The grid of each step is that of its own particles, as it was then."""
    x, grid, s = real(qd, dtype, 2), qd.field(dtype), real(qd, dtype, ())
    block = qd.root.pointer(qd.i, 4)
    placed(block.dense(qd.i, 2), grid)
    at = qd.field(qd.i32, shape=2)

    @qd.kernel
    def scatter():
        for i in x:
            grid[at[i]] += x[i]

    @qd.kernel
    def gather():
        for i in x:
            x[i] = grid[at[i]] * grid[at[i]] + grid[at[i] + 1]
            at[i] += 2

    @qd.kernel
    def clear():
        for b in block:
            qd.deactivate(block, [b])

    @qd.kernel
    def total():
        for i in x:
            s[None] += x[i]

    def steps():
        for _ in range(2):
            scatter()
            gather()
            clear()
        total()

    # a, b at cells 2 and 3, then at 4 and 5: x = [a^2 + b, b^2], twice
    a, b = 2.0, 3.0
    c, d = a * a + b, b * b
    gradient = Gradient(expect={x: [2 * c * 2 * a, 2 * c + (1 + 2 * d) * 2 * b]}, loss=s)
    return Run(steps, given={x: [a, b], at: [2, 3]}, expect={s: c * c + d + d * d, grid: 0.0}, gradient=gradient)


@case(rules=["sparse.gradient", "grad.forward"], params={"levels": ["pointer", "bitmasked", "dynamic"]}, dtypes=["f64"])
def directions_activate_nothing(qd, dtype, levels):
    """Forward mode, a Hessian and a Jacobian along inactive elements: the loop is over what was active before."""
    x, s = qd.field(dtype, needs_grad=True, needs_dual=True), real(qd, dtype, ())
    if levels == "pointer":
        qd.root.pointer(qd.i, 3).dense(qd.i, 1).place(x)
    else:
        (qd.root.bitmasked(qd.i, 3) if levels == "bitmasked" else qd.root.dynamic(qd.i, 3)).place(x)

    @qd.kernel
    def k():
        s[None] = 0.0
        for i in x:
            s[None] += x[i] * x[i] * x[0] + 1.0

    def program():
        x[0] = 2.0
        with qd.ad.FwdMode(loss=s, param=x, seed=[1.0, 4.0, 8.0]):
            k()
            assert (s[None], s.dual[None]) == (9.0, 12.0)
        assert qd.ad.hvp(k, s, x, [1.0, 4.0, 8.0]).tolist() == [12.0, 0.0, 0.0]
        assert qd.ad.hessian(k, s, x).tolist() == [[12.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3]
        assert qd.ad.jacobian(k, s, x).tolist() == [12.0, 0.0, 0.0]
        k()

    return Run(program, expect={s: 9.0})


@case(rules=["sparse.gradient", "grad.forward"], params={"levels": ["pointer", "dynamic"]}, dtypes=["f64"])
def columns_of_a_function_that_activates(qd, dtype, levels):
    """Each column of a Hessian and of a Jacobian begins with what was active before, which is so afterwards."""
    x, s = qd.field(dtype, needs_grad=True, needs_dual=True), real(qd, dtype, ())
    (qd.root.pointer(qd.i, 3).dense(qd.i, 1) if levels == "pointer" else qd.root.dynamic(qd.i, 3)).place(x)

    @qd.kernel
    def total():
        s[None] = 0.0
        for i in x:
            s[None] += x[i] * x[i]

    @qd.kernel
    def grow():
        for _ in range(1):
            x[1] = 3.0

    def function():
        total()
        grow()

    def program():
        x[0] = 2.0
        assert qd.ad.jacobian(function, s, x).tolist() == [4.0, 0.0, 0.0]
        assert qd.ad.hessian(function, s, x).tolist() == [[2.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3]
        assert x.to_numpy().tolist() == [2.0, 0.0, 0.0]
        total()
        assert s[None] == 4.0
        x[1] = 1.0
        total()

    return Run(program, expect={s: 5.0})


@case(
    rules=["sparse.gradient", "grad.changed"], params={"levels": LEVELS, "how": ["fill", "from_numpy"]}, dtypes=["f64"]
)
def elements_that_the_host_writes_between_a_launch_and_its_gradient(qd, dtype, levels, how):
    """The gradient is about what the launch found, and refused where that is not there any more."""
    x, s = qd.field(dtype, needs_grad=True), real(qd, dtype, ())
    level = {
        "pointer": lambda: qd.root.pointer(qd.i, 4),
        "bitmasked": lambda: qd.root.bitmasked(qd.i, 4),
        "hash": lambda: qd.root.hash(qd.i, 4),
        "dynamic": lambda: qd.root.dynamic(qd.i, 4),
    }[levels]()
    level.place(x)

    @qd.kernel
    def total():
        for i in x:
            s[None] += x[i] * x[i]

    def program():
        x[0] = 2.0
        total()
        s.grad[None] = 1.0
        if how == "fill":
            x.fill(7.0)
        else:
            x.from_numpy(np.array([7.0, 0.0, 0.0, 0.0]))
        total.grad()

    return Run(program, raises=Raises("DataAccessError", "as the launch found it"))


@case(rules=["sparse.gradient", "grad.forward"], params={"levels": LEVELS, "mode": ["tape", "forward"]}, dtypes=["f64"])
def what_the_host_deactivates_in_between_has_no_derivative(qd, dtype, levels, mode):
    """A cell that is made inactive is one into which 0 is stored: what was added before has no part in the loss."""
    x, loss = (qd.field(dtype, shape=(), needs_grad=True, needs_dual=True) for _ in range(2))
    p = qd.field(dtype, needs_grad=True, needs_dual=True)
    level = getattr(qd.root, levels)(qd.i, 4)
    level.place(p)

    @qd.kernel
    def add():
        p[1] += x[None]

    @qd.kernel
    def total():
        for i in p:
            loss[None] += p[i] * 3.0

    def work(deactivate):
        add()
        deactivate()
        add()
        total()

    def program():
        x[None] = 1.0
        for deactivate in (level.deactivate_all, qd.deactivate_all_snodes):
            level.deactivate_all()
            if mode == "tape":
                with qd.ad.Tape(loss):
                    work(deactivate)
                assert x.grad[None] == 3.0
            else:
                loss[None] = 0.0
                with qd.ad.FwdMode(loss=loss, param=x, seed=[1.0]):
                    work(deactivate)
                assert loss.dual[None] == 3.0

    return Run(program, expect={loss: 3.0})


@case(
    rules=["sparse.gradient"],
    params={"order": ["field first", "gradient first"], "what": ["grad", "dual", "shape", "beside"]},
)
def where_a_gradient_or_dual_may_be_placed(qd, order, what):
    """In sparse levels that the field is in as well: nothing would activate cells of others, and all would read 0."""
    x, y = qd.field(qd.f64), qd.field(qd.f64, shape=(), needs_grad=True, needs_dual=True)
    block = qd.root.pointer(qd.i, 4)
    elsewhere = {
        "grad": qd.root.bitmasked(qd.i, 4),
        "dual": block.bitmasked(qd.i, 1),
        "shape": qd.root.dense(qd.i, 2),
        "beside": block.dense(qd.i, 1),
    }[what]
    placements = [(block, x), (elsewhere, x.dual if what == "dual" else x.grad)]

    def place():
        for level, field in placements if order == "field first" else reversed(placements):
            level.place(field)

    @qd.kernel
    def squares():
        x[2] = 3.0
        for i in x:
            y[None] += x[i] * x[i]

    def program():
        place()
        squares()
        y.grad[None] = 1.0
        squares.grad()
        assert x.grad.to_numpy().tolist() == [0.0] * 4  # x[2] was stored, which consumes
        with qd.ad.Tape(y):
            y[None] += x[2]
        assert x.grad[2] == 1.0

    phrase = "can't have the shape" if what == "shape" else "can't be in sparse levels"
    return Run(program, raises=None if what == "beside" else Raises("RuntimeError", phrase))
