"""Functions that call themselves: what their frames keep, and what leaves the frontend."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import adstack as qd
from adstack.frontend import lower
from adstack.ir.structure import Kernel
from adstack.values.specs import Request, ScalarSpec


@qd.real_func(max_depth=9)
def once(n: qd.i32, a: qd.f32) -> qd.f32:
    scratch = a * 2.0
    before = scratch * scratch
    last = 0.0
    if n > 0:
        last = once(n - 1, before)
    return last + before


@qd.real_func
def plain(n: qd.i32) -> qd.i32:
    return n + 1


def lowered(body: Any) -> Kernel:
    spec = ScalarSpec(qd.i32)
    return lower(Request(body, (spec,), spec, SimpleNamespace())).kernel


def arrays(kernel: Kernel) -> list[tuple[str, int]]:
    allocations = [op for op in kernel.body.walk() if op.name == "array.alloc"]
    return sorted((op.result.name.split(",")[0], op.attrs["length"]) for op in allocations)


def test_frames_hold_what_lives_on_and_nothing_else() -> None:
    def k(n: qd.i32) -> qd.i32:
        return once(n, 1.5)

    names = [name for name, _ in arrays(lowered(k))]
    assert {"n", "a", "before", "the frames of once"} <= set(names)
    assert "scratch" not in names
    assert {length for _, length in arrays(lowered(k))} == {9}


def test_a_function_that_does_not_call_itself_has_no_frames() -> None:
    def k(n: qd.i32) -> qd.i32:
        return plain(plain(n))

    kernel = lowered(k)
    assert arrays(kernel) == []
    assert [op.name for op in kernel.body.walk() if op.regions] == []


@pytest.mark.parametrize("depth", [0, 2**16 + 1, 1.5])
def test_the_depth_is_a_number_of_calls(depth: Any) -> None:
    with pytest.raises(qd.AdstackValueError, match="from 1 to 65536"):
        qd.real_func(max_depth=depth)(lambda n: n)


def test_a_static_method_is_decorated_below() -> None:
    with pytest.raises(qd.AdstackSyntaxError, match="below @staticmethod"):
        qd.real_func(staticmethod(lambda: None))
