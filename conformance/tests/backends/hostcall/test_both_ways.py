"""Calls of all kinds get from machine code what they get from Python: results, errors, and what they leave behind."""

from __future__ import annotations

from typing import Any

import pytest
from both_ways_kit import CHANGES, World, calls, outcome, python_only
from calls_kit import is_short
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd


def worlds() -> tuple[World, World]:
    """One in which Python serves all calls, and one in which machine code serves what it can."""
    qd.init(arch=qd.cpu)
    with python_only():
        straight = World()
        straight.warm_up()
    short = World()
    short.warm_up()
    return straight, short


@pytest.mark.parametrize("kernels", [(), ("three", "square")], ids=["all", "matrices"])
def test_calls_get_the_same_from_machine_code_as_from_python(kernels: tuple[str, ...]) -> None:
    straight, short = worlds()
    for name in ("put", "three", "square"):
        assert is_short(short.kernels[name])
        assert not is_short(straight.kernels[name])

    @given(st.lists(st.one_of(calls(kernels), st.sampled_from(list(CHANGES))), min_size=1, max_size=8))
    @settings(max_examples=400)
    def check(steps: list[Any]) -> None:
        for step in steps:
            if isinstance(step, str):
                for world in (short, straight):
                    CHANGES[step](world)
                continue
            with python_only():
                wanted = outcome(straight, step)
            assert outcome(short, step) == wanted

    check()


VECTORS: tuple[Any, ...] = (
    [1, 2, 3],
    (1, 2, 3),
    [1, 2],
    [1, 2, 3, 4],
    [[1, 2, 3]],
    [[1], [2], [3]],
    [1, 2, 2**31],
    [1, 2, True],
    [],
)
MATRICES: tuple[Any, ...] = (
    [[1, 2], [3, 4]],
    [1, 2, 3, 4],
    [[1, 2, 3, 4]],
    [[1], [2], [3], [4]],
    [[1, 2], [3]],
    [[1.5, 2], [3, None]],
)


@pytest.mark.parametrize("how", [list, qd.Matrix], ids=["list", "Matrix"])
def test_only_vectors_and_matrices_of_the_shape_are_taken(how: Any) -> None:
    """Those that are nearly right go the way that knows the errors."""
    straight, short = worlds()
    calls_of: list[tuple[str, list[Any]]] = [("three", [v, 0.5]) for v in VECTORS]
    calls_of += [("square", [m, [True, False]]) for m in MATRICES]
    for kernel, (value, other) in calls_of:

        def make(world: World, value: Any = value) -> Any:
            try:
                return how(value)
            except qd.AdstackError:
                return value

        x = [lambda world: world.arrays[qd.f32, 1, False]] if kernel == "three" else []
        step: tuple[str, list[Any], dict[str, Any]] = (kernel, [*x, make, lambda world, other=other: other], {})
        with python_only():
            wanted = outcome(straight, step)
        assert outcome(short, step) == wanted, value
