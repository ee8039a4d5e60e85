"""Variables from outside of kernels: what compiles one again, what does not, and what it keeps alive."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from specialisation_kit import specialisations

import adstack as qd

RATE = 0.5
OTHER = 0
TOTAL: Any = None


def let(**variables: object) -> None:
    """Give variables of this module other values."""
    globals().update(variables)


@qd.kernel
def rate() -> qd.f32:
    return RATE


def test_equal_values_and_other_variables_compile_nothing(compiled_arch: str) -> None:
    qd.init(arch=compiled_arch)
    for k in range(5):
        let(RATE=float(f"{1.5}"), OTHER=k)  # a new object each time
        assert rate() == 1.5
    assert len(specialisations(rate)) == 1


def test_a_value_of_before_is_compiled_once(compiled_arch: str) -> None:
    qd.init(arch=compiled_arch)
    for value in (0.5, 2.5) * 4:
        let(RATE=value)
        assert [rate() for _ in range(3)] == [value] * 3
    assert len(specialisations(rate)) == 2


def test_a_field_that_its_variable_leaves_goes_away(compiled_arch: str) -> None:
    qd.init(arch=compiled_arch)

    @qd.kernel
    def count() -> qd.i32:
        TOTAL[None] += 1
        return TOTAL[None]

    gone = []
    for _ in range(4):
        let(TOTAL=qd.field(qd.i32, shape=()))
        gone.append(weakref.ref(TOTAL))
        assert [count() for _ in range(4)] == [1, 2, 3, 4]
    let(TOTAL=None)
    gc.collect()
    assert [one() for one in gone] == [None] * 4
    assert not specialisations(count)


def test_a_variable_that_is_gone_is_an_error() -> None:
    qd.init(arch=qd.reference)
    let(TOTAL=qd.field(qd.i32, shape=()))

    @qd.kernel
    def clear():
        TOTAL[None] = 0

    clear()
    del globals()["TOTAL"]
    with pytest.raises(qd.AdstackNameError, match="'TOTAL' is not defined"):
        clear()
    let(TOTAL=None)


def _of_global(step: int) -> Callable[[], float]:
    let(RATE=step / 2)
    return rate


def _of_variable() -> Callable[[int], Callable[[], float]]:
    number = 0.0

    @qd.kernel
    def halved() -> qd.f32:
        return number

    def at(step: int) -> Callable[[], float]:
        nonlocal number
        number = step / 2
        return halved

    return at


@pytest.mark.parametrize(("name", "at"), [("RATE", _of_global), ("number", _of_variable())], ids=["global", "variable"])
def test_what_changes_in_each_step_is_told_once(name: str, at: Callable[[int], Callable[[], float]]) -> None:
    qd.init(arch=qd.reference)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        assert [at(step)() for step in range(20)] == [step / 2 for step in range(20)]
    assert [str(one.message).count(f"changes between calls: {name}\n") for one in told] == [1]
    assert told[0].filename == __file__


def test_a_variable_of_an_enclosing_function_that_has_no_value_is_an_error(compiled_arch: str) -> None:
    qd.init(arch=compiled_arch)
    number = 2.0

    @qd.kernel
    def doubled() -> qd.f32:
        return number

    assert [doubled() for _ in range(4)] == [2.0] * 4
    del number
    for _ in range(2):
        with pytest.raises(qd.AdstackNameError, match="'number' is not defined"):
            doubled()
    number = 3.0
    assert [doubled() for _ in range(4)] == [3.0] * 4


def test_elements_of_an_array_of_which_the_shape_is_read_compile_nothing(compiled_arch: str) -> None:
    qd.init(arch=compiled_arch)
    array = np.zeros(3, np.float32)

    @qd.kernel
    def extent() -> qd.i32:
        return array.shape[0] + array.ndim

    for value in range(5):
        array[:] = value
        assert extent() == 4
    array = np.ones(3, np.float32)
    assert (extent(), len(specialisations(extent))) == (4, 1)
    array = np.ones(2, np.float32)
    assert (extent(), len(specialisations(extent))) == (3, 2)


class Failing:
    """A descriptor that can't be read."""

    def __get__(self, owner: object, kind: object = None) -> object:
        raise KeyError("nothing here")


class Careful:
    """Has one, which its code names, and does not read."""

    fails = Failing()
    rate = 2.0


def careful(thing: Careful) -> object:
    return thing.rate if thing.rate else thing.fails


def test_what_a_helper_names_and_does_not_read_may_fail() -> None:
    qd.init(arch=qd.reference)
    thing = Careful()

    @qd.kernel
    def of() -> qd.f32:
        return careful(thing)

    assert of() == 2.0
    thing.rate = 3.0
    assert of() == 3.0
