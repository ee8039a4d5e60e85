"""What plain Python functions reach while they are called at compile time, by ways of Python's own."""

import types
from functools import partial
from typing import ClassVar

import numpy as np

from adstack.conformance.case import Run, case
from adstack.conformance.recompiled import scaled_runs

CONFIG = types.ModuleType("config")
"""A module of the program's own."""


class Base:
    """An object with a number in every place where Python keeps one."""

    of_class: ClassVar = [2.0]

    def __init__(self):
        self.rate, self.texts = 2.0, {"rate": 2.0}

    def become(self, rate):
        self.rate = self.texts["rate"] = CONFIG.rate = ARRAY[0] = rate
        Base.of_class = [rate]

    @classmethod
    def by_class(cls):
        return cls.of_class[0]

    @staticmethod
    def by_static():
        return Base.of_class[0]

    def by_parent(self):
        return self.rate


class Derived(Base):
    """One whose method calls that of its parent."""

    def by_parent(self):
        return super().by_parent()


class Slots:
    """One that has no dictionary."""

    __slots__ = ("rates",)


class Scaled:
    """Made while compiling."""

    def __init__(self, by):
        self.value = by * CONFIG.rate


ARRAY = np.array([2.0, None], dtype=object)


def in_module():
    return CONFIG.rate


def halved(by, thing):
    return by * thing.rate


def rate_of(thing):
    return thing.rate


def called(function):
    return function()


def ways(thing):
    """By name: how a plain function gets the number."""
    slots = Slots()
    slots.rates = [thing]
    texts = thing.texts.values()
    default = [thing]

    def by_default(things=default):
        return things[0].rate

    def reader(get):
        return lambda: 1.0 * get()

    nothing, number = reader(lambda: 0.0), reader(lambda: thing.rate)

    return {
        "module": in_module,
        "class": lambda: Base.of_class[0],
        "class method": thing.by_class,
        "static method": thing.by_static,
        "method of the parent": thing.by_parent,
        "slots": lambda: slots.rates[0].rate,
        "constructor": lambda: Scaled(1.0).value,
        "default": by_default,
        "partial": partial(halved, 1.0, thing),
        "function that is passed": lambda: called(in_module),
        "function called by map": lambda: sum(map(rate_of, [thing])),
        "list of objects": lambda: default[0].rate,
        "text": lambda: getattr(thing, "rate"),  # noqa: B009 - it is what is tried
        "array of objects": lambda: ARRAY[0],
        "view": lambda: sum(texts),
        "two functions of one code": lambda: nothing() + number(),
        "memory": lambda: float(memoryview(bytearray([int(thing.rate)]))[0]),
    }


WAYS = [
    *("module", "class", "class method", "static method", "method of the parent", "slots", "constructor", "default"),
    *("partial", "function that is passed", "function called by map", "list of objects", "text", "array of objects"),
    *("view", "memory", "two functions of one code"),
]


@case(rules=["control.variables", "control.template"], params={"way": WAYS})
def what_plain_functions_reach_may_change(qd, way):
    """Whatever a function called while compiling reads the number of is compared at the next call."""
    thing = Derived()
    thing.become(2.0)
    rate = ways(thing)[way]
    return scaled_runs(qd, rate, lambda: thing.become(7.0))


@case(rules=["control.variables"], params={"of": ["shape", "elements"]})
def an_array_is_compared_in_what_is_read(qd, of):
    """Where nothing but the shape of an array of numpy's is read, its elements may change at no cost."""
    array = np.array([2.0, 3.0], np.float32)
    y = qd.field(qd.f32, shape=())

    @qd.kernel
    def by_shape():
        y[None] = array.shape[0] + array.ndim

    @qd.kernel
    def by_elements():
        y[None] = array[0] + array.ndim

    k = by_shape if of == "shape" else by_elements

    def program():
        nonlocal array
        for value in (5.0, 6.0):
            array[0] = value
            for _ in range(3):
                k()
            assert y[None] == (3 if of == "shape" else value + 1)
        array = np.array([8.0, 1.0, 0.0], np.float32)
        k()

    return Run(program, expect={y: 4 if of == "shape" else 9})


@case(rules=["arith.rounding"])
def round_of_a_constant_is_that_of_a_value(qd):
    """Python's own rounds halves to even numbers, the language's away from 0."""
    y = qd.field(qd.f32, shape=6)

    @qd.kernel
    def k(a: qd.f32, b: qd.f32):
        y[0], y[1] = round(2.5), round(a)
        y[2], y[3] = round(-0.5), round(b)
        y[4], y[5] = round(True), round(2.25, 1)

    return Run(k, args=[2.5, -0.5], expect={y: [3, 3, -1, -1, 1, 2.2]})
