"""Structs by value: dataclasses of arrays, numbers and vectors get from machine code what they get from Python."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from both_ways_kit import python_only
from calls_kit import is_short

import adstack as qd


@dataclass
class Pair:
    """The part of a part."""

    low: qd.f32
    high: qd.f32


@dataclass
class Body:
    """Parts of all kinds."""

    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    count: qd.i32
    at: qd.types.vector(2, qd.f32)
    pair: Pair


@dataclass(slots=True)
class Slotted:
    """Its parts stand in slots."""

    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    count: qd.i32


@dataclass
class Stranger:
    """Has the same parts, and is no body."""

    x: Any
    count: int
    at: Any
    pair: Any


class Derived(Body):
    """Another class, which parameters of the first one take, too."""


class Property(Body):
    """To read a part runs code."""

    @property
    def count(self) -> int:
        return 2

    @count.setter
    def count(self, value: int) -> None:
        """It is what it is."""


def kernel_of_bodies() -> Any:
    @qd.kernel
    def put(b: Body, k: qd.i32):
        for i in range(b.count):
            b.x[i] = b.at[0] + 10.0 * b.at[1] + b.pair.low - b.pair.high + k

    return put


def body(kind: type[Any] = Body, **parts: Any) -> Any:
    """A body that is right, but for some parts."""
    array = qd.ndarray(qd.f32, 3)
    return kind(**({"x": array, "count": 3, "at": [1.0, 2.0], "pair": Pair(0.5, 0.25)} | parts))


def known_array() -> Any:
    """An array that kernels like these have seen, so that machine code knows it."""
    array = qd.ndarray(qd.f32, 3)
    kernel_of_bodies()(body(x=array), 0)
    return array


def without(name: str) -> Any:
    """A body without a part."""
    one = body()
    delattr(one, name)
    return one


BODIES: dict[str, Callable[[], Any]] = {
    "as before": body,
    "fewer": lambda: body(count=1),
    "vector": lambda: body(at=qd.Vector([3.0, 4.0])),
    "integers": lambda: body(at=[3, 4], pair=Pair(1, 2)),
    "numpy": lambda: body(x=np.zeros(3, np.float32)),
    "other numpy": lambda: body(x=np.zeros((3, 3), np.float32)[:, 0]),
    "derived": lambda: body(Derived),
    "property": lambda: body(Property),
    "stranger": lambda: body(Stranger, x=known_array()),
    "f64": lambda: body(x=qd.ndarray(qd.f64, 3)),
    "rank": lambda: body(x=qd.ndarray(qd.f32, (3, 1))),
    "field": lambda: body(x=qd.field(qd.f32, 3)),
    "list": lambda: body(x=[1.0]),
    "float count": lambda: body(count=2.0),
    "large count": lambda: body(count=2**40),
    "three": lambda: body(at=[1.0, 2.0, 3.0]),
    "text": lambda: body(at="ab"),
    "no pair": lambda: body(pair=None),
    "other pair": lambda: body(pair=body()),
    "no array": lambda: without("x"),
    "no count": lambda: without("count"),
    "tuple": lambda: (1, 2),
    "none": lambda: None,
}


def outcome(put: Any, one: Any) -> tuple[Any, ...]:
    """What a call gives or raises, and what the array holds then."""
    try:
        put(one, 7)
    except (qd.AdstackError, AttributeError, TypeError, ValueError) as error:
        return type(error), str(error)
    return ("fine", np.asarray(one.x.to_numpy() if isinstance(one.x, qd.Ndarray) else one.x).tolist())


@pytest.fixture(autouse=True)
def _cpu() -> None:
    qd.init(arch=qd.cpu)


@pytest.mark.parametrize("name", BODIES)
def test_structs_of_all_kinds_get_the_same_both_ways(name: str) -> None:
    put = kernel_of_bodies()
    with python_only():
        one = BODIES[name]()
        wanted = [outcome(put, one) for _ in range(3)]
    put = kernel_of_bodies()
    for _ in range(2):
        put(body(), 7)
    assert is_short(put)
    one = BODIES[name]()
    assert [outcome(put, one) for _ in range(3)] == wanted


def test_parts_in_slots_are_served() -> None:
    @qd.kernel
    def count(s: Slotted):
        for i in range(s.count):
            s.x[i] += 1.0

    one = Slotted(qd.ndarray(qd.f32, 3), 2)
    for _ in range(3):
        count(one)
    assert is_short(count)
    assert one.x.to_numpy().tolist() == [3, 3, 0]


def test_parts_are_held_for_a_call_alone() -> None:
    put = kernel_of_bodies()
    one = body()
    for _ in range(3):
        put(one, 7)
    gone = weakref.ref(one.x)
    one.x = qd.ndarray(qd.f32, 3)
    gc.collect()
    assert gone() is None
    put(one, 1)
    with pytest.raises(qd.AdstackError):
        put(body(count=2.5), 1)  # what was taken before the part that is wrong is let go, too
    gone = weakref.ref(one.x)
    del one
    gc.collect()
    assert gone() is None


def test_a_part_that_is_replaced_while_the_kernel_runs_lives_until_it_ends() -> None:
    @qd.kernel
    def fill(b: Body, rounds: qd.i32):
        for i in range(b.count):
            for _ in range(rounds):
                b.x[i] = b.x[i] * 0.5 + b.at[0]

    one, rounds, seen = body(), 1 << 20, list[bool]()
    for _ in range(3):
        fill(one, 1)
    assert is_short(fill)
    while not seen:
        part, other, over = weakref.ref(one.x), qd.ndarray(qd.f32, 3), threading.Event()
        fill(body(x=other), 1)

        def replace(part: Any = part, other: Any = other, over: threading.Event = over) -> None:
            time.sleep(0.02)
            one.x = other
            gc.collect()
            lives = part() is not None
            if not over.is_set():
                seen.append(lives)

        thread = threading.Thread(target=replace)
        thread.start()
        fill(one, rounds)
        over.set()
        thread.join()
        assert part() is None, "it is let go afterwards"
        rounds *= 4  # until the kernel runs for longer than the other thread takes
    assert seen == [True]


def test_gradients_of_structs_are_served_alike() -> None:
    @qd.kernel
    def square(b: Body, y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(b.count):
            y[i] = b.x[i] * b.x[i] * b.at[1]

    one, y = body(x=qd.ndarray(qd.f32, 3, needs_grad=True)), qd.ndarray(qd.f32, 3, needs_grad=True)
    for k in range(1, 5):
        one.x.fill(float(k))
        one.at = [0.0, 3.0 + k]
        one.x.grad.fill(0.0)
        square(one, y)
        y.grad.fill(1.0)
        square.grad(one, y)
        assert one.x.grad.to_numpy().tolist() == [2.0 * k * (3.0 + k)] * 3
