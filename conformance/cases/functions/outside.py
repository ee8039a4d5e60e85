"""Variables from outside of kernels, of the module and of enclosing functions, that change between calls."""

import types
from functools import partial

from adstack.conformance.case import Run, case
from adstack.conformance.recompiled import scaled_runs

RATE = 2.0
RATES = [2.0]
CONFIG = types.ModuleType("config")
"""A module of the program's own."""


def of_module():
    """What a plain function reads of its module."""
    return RATE


def of_others():
    """What plain functions read that this one calls."""
    return 0.5 * (of_module() + CONFIG.rate)


def shared(rate):
    """Let every variable of this module say so."""
    globals()["RATE"] = CONFIG.rate = RATES[0] = rate


def constant(qd, number):
    """A func that gives a number."""

    @qd.func
    def inner():
        return number

    return inner


def readers(qd):
    """By name: a func that reads a variable as 2, and what lets it be another number."""
    shared(2.0)
    rate, vector, table = 2.0, qd.Vector([0.0, 2.0]), {"rate": [2.0]}
    scaled = partial(lambda by, number: by * number, 1.0)
    inner = constant(qd, 2.0)

    def enclosed():
        return scaled(rate)

    def become(new):
        nonlocal rate, inner
        rate, table["rate"][0], vector[1] = new, new, new
        inner = constant(qd, new)
        shared(new)

    @qd.func
    def by_global():
        return RATE

    @qd.func
    def by_global_list():
        return qd.static(sum(RATES))

    @qd.func
    def by_module():
        return CONFIG.rate

    @qd.func
    def by_variable():
        return rate

    @qd.func
    def by_vector():
        return vector[1]

    @qd.func
    def by_table():
        return table["rate"][0]

    @qd.func
    def by_func():
        return inner()

    @qd.func
    def by_function():
        return of_others()

    @qd.func
    def by_enclosed_function():
        return enclosed()

    of_variables = by_global, by_global_list, by_module, by_variable, by_vector, by_table
    ways = *of_variables, by_func, by_function, by_enclosed_function
    return {way.function.__name__: way for way in ways}, become


READERS = [
    *("by_global", "by_global_list", "by_module", "by_variable", "by_vector", "by_table", "by_func", "by_function"),
    "by_enclosed_function",
]


@case(rules=["control.variables"], params={"way": READERS})
def variables_from_outside_may_change(qd, way):
    """The kernel is compiled for what they are at the call."""
    ways, become = readers(qd)
    return scaled_runs(qd, ways[way], lambda: become(7.0))


@case(rules=["control.variables"])
def a_variable_may_be_another_field(qd):
    """A name stands for the field that it was given last."""
    first, second = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))
    y = qd.field(qd.f32, shape=2, needs_grad=True)
    x = first

    @qd.kernel
    def k():
        for i in x:
            y[i] = 2 * x[i]

    def both():
        for _ in range(3):
            k()
        k.grad()

    def changed():
        nonlocal x
        x = second
        both()

    given = {first: [1, 2], second: [3, 4], first.grad: 0, second.grad: 0, y.grad: 1}
    return [
        Run(both, given=given, expect={y: [2, 4], first.grad: 2, second.grad: 0}),
        Run(changed, given=given, expect={y: [6, 8], first.grad: 0, second.grad: 2}),
    ]


@case(rules=["control.variables", "grad.followed"], params={"of": ["global", "variable"]})
def a_tape_differentiates_launches_with_the_variables_of_then(qd, of):
    """Each launch is reversed with what it read, also where a tape like it was recorded before."""
    shared(2.0)
    rate = 2.0
    x, y, loss = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(3))

    @qd.kernel
    def by_global():
        y[None] += x[None] * RATE

    @qd.kernel
    def by_variable():
        y[None] += x[None] * rate

    @qd.kernel
    def total():
        loss[None] += y[None] * y[None]

    step = by_global if of == "global" else by_variable

    def trained():
        nonlocal rate
        for last in (3.0, 3.0, 3.0, 3.0, 5.0):
            y[None] = loss[None] = 0
            with qd.ad.Tape(loss):
                for rate in (2.0, last):
                    shared(rate)
                    step()
                total()

    return Run(trained, given={x: 2}, expect={y: 14, loss: 196, x.grad: 196})
