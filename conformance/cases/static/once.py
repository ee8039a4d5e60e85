"""What would act once, while compiling, where it reads as if it acted whenever the kernel runs."""

import datetime
import math
import random
import time
from collections import deque

import numpy as np

from adstack.conformance.case import Raises, Run, case

HOST = {
    "random.random": random.random,
    "Random.random": random.Random(1).random,
    "np.random.rand": np.random.rand,
    "Generator.normal": np.random.default_rng(1).normal,
    "time.time": time.time,
    "datetime.now": datetime.datetime.now,
}


@case(rules=["control.once"], params={"name": list(HOST)})
def a_host_function_whose_result_changes_is_refused(qd, name):
    function = HOST[name]

    @qd.kernel
    def k():
        function()

    return Run(k, raises=Raises("CompilationError", "once, while compiling"))


@case(rules=["control.once"])
def a_host_function_is_called_where_static_says_so(qd):
    numbers = random.Random(1)
    first = random.Random(1).randint(1, 100)

    @qd.kernel
    def k() -> qd.i32:
        return qd.static(numbers.randint(1, 100))

    return Run(k, returns=first)


@case(rules=["control.once"], params={"name": ["math.sin", "np.sin", "np.arctan2"]})
def a_math_function_of_the_host_names_the_language_s_own(qd, name):
    function = {"math.sin": math.sin, "np.sin": np.sin, "np.arctan2": np.arctan2}[name]
    instead = {"np.arctan2": "atan2"}.get(name, "sin")

    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return function(a)

    return Run(k, args=(1.0,), raises=Raises("CompilationError", f"qd.{instead}"))


@case(rules=["control.once"])
def a_list_that_a_runtime_loop_changes_is_refused(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        numbers = [1, 2]
        for i in range(n):
            numbers.append(i)  # noqa: PERF402
        return len(numbers)

    return Run(k, args=(3,), raises=Raises("CompilationError", "while compiling only"))


class Owner:
    """An object with a list, which a kernel reaches by its attribute."""

    def __init__(self):
        self.numbers = []


@case(rules=["control.once"], params={"name": ["list", "alias", "attribute", "set", "deque", "array", "template"]})
def a_container_of_the_host_whose_method_changes_it_is_refused(qd, name):
    numbers, names, queue, array, owner = [], set(), deque([1]), np.zeros(2), Owner()

    @qd.kernel
    def k(given: qd.template()):
        if qd.static(name == "list"):
            numbers.append(1)
        if qd.static(name == "alias"):
            other = numbers
            other.append(1)
        if qd.static(name == "attribute"):
            owner.numbers.append(1)
        if qd.static(name == "set"):
            names.add(1)
        if qd.static(name == "deque"):
            queue.popleft()
        if qd.static(name == "array"):
            array.fill(1)
        if qd.static(name == "template"):
            given.append(1)

    return Run(k, args=([],), raises=Raises("CompilationError", "from outside of the kernel would be called once"))


ON_MEMORY = {
    "reads a number": lambda x, v: x[0],
    "reads a vector": lambda x, v: v[0],
    "reads a component": lambda x, v: v[0][1],
    "reads all": lambda x, v: x.to_numpy().sum(),
    "writes a number": lambda x, v: x.__setitem__(0, 1.0),
    "writes all": lambda x, v: x.fill(1.0),
    "is numpy's": lambda x, v: np.sum(x),
}


@case(rules=["control.once"], params={"name": list(ON_MEMORY)})
def a_plain_function_that_uses_memory_is_refused(qd, name):
    x, v = qd.field(qd.f32, 2), qd.Vector.field(2, qd.f32, 2)
    use = ON_MEMORY[name]

    @qd.kernel
    def k():
        use(x, v)

    return Run(k, raises=Raises("CompilationError", "once, while compiling, not whenever the kernel runs"))


@case(rules=["control.once"])
def a_plain_function_reads_memory_where_static_says_so(qd):
    x = qd.field(qd.i32, 2)
    x[1] = 3

    def count():
        return x[1]

    @qd.kernel
    def k() -> qd.i32:
        return qd.static(count()) + 6

    return Run(k, returns=9)


@case(rules=["control.once"])
def lists_that_a_kernel_makes_and_changes(qd):
    @qd.func
    def extend(numbers):
        numbers.append(5)

    @qd.kernel
    def k() -> qd.i32:
        numbers = [2 * i for i in range(3)]
        numbers.append(7)
        nested = [[1], [2]]
        nested[0].append(3)
        extend(numbers)
        named = {"a": [1]}
        named.setdefault("b", []).append(9)
        return numbers[3] + numbers[4] + nested[0][1] + named["b"][0]

    return Run(k, returns=24)


@case(rules=["control.once"])
def a_list_that_a_static_loop_changes(qd):
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        numbers = [a]
        for i in qd.static(range(3)):
            numbers.append(numbers[-1] * (i + 2))
        return numbers[3] + len(numbers)

    return Run(k, args=(2,), returns=52)


@case(rules=["control.static"])
def a_dict_comprehension(qd):
    x = qd.field(qd.f32, shape=3)

    @qd.kernel
    def k(a: qd.f32):
        for i in range(3):
            table = {str(j): j * a + i for j in range(4) if j != 1}
            x[i] = table["2"] + len(table)

    return Run(k, args=(0.5,), expect={x: [4, 5, 6]})
