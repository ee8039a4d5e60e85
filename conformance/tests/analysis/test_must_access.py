"""What a launch touches for sure: no less than nothing, and no more than what it does touch."""

from __future__ import annotations

from typing import Any

import pytest
from transforms_kit import kernel_of, wrap

from adstack.analysis.boxes import Box
from adstack.analysis.must_access import must_access
from adstack.transforms.pipeline import lower

HEAD = """kernel @k() {
  place @x : f32[8] field
  place @y : f32[8, 4] field
  place @n : i32[] field"""
FRONT = "%0 = const 0 : i32\n%1 = const 1 : i32\n%5 = const 5 : i32\n%4 = const 4 : i32\n%v = const 1.5 : f32\n"


def touched(body: str, scalars: tuple[Any, ...] = ()) -> tuple[dict[str, list[Box]], dict[str, list[Box]]]:
    access = must_access(lower(kernel_of(wrap(f"{FRONT}{body}\nreturn", HEAD))), scalars, {})
    return access.read, access.written


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("store @x[%4], %v", {"x": [((4, 4),)]}),
        ("parallel_for (%i = %0 to %5) {\nstore @x[%i], %v\nyield\n}", {"x": [((0, 4),)]}),
        ("parallel_for (%i = %0 to %5) {\n%j = add %i, %1\nstore @x[%j], %v\nyield\n}", {"x": [((1, 5),)]}),
        ("parallel_for (%i = %1 to %5) {\n%j = sub %i, %1\nstore @x[%j], %v\nyield\n}", {"x": [((0, 3),)]}),
        ("parallel_for (%i = %0 to %5, %j = %1 to %4) {\nstore @y[%i, %j], %v\nyield\n}", {"y": [((0, 4), (1, 3))]}),
        ("for %i = %0 to %5 {\nstore @y[%i, %1], %v\nyield\n}", {"y": [((0, 4), (1, 1))]}),
    ],
    ids=["number", "index", "plus", "minus", "two axes", "serial"],
)
def test_stores_that_nothing_stands_around(body: str, written: dict[str, list[Box]]) -> None:
    assert touched(body)[1] == written


@pytest.mark.parametrize(
    "body",
    [
        "%m = load @n[]\nstore @x[%m], %v",
        "%m = load @n[]\nfor %i = %0 to %m {\nstore @x[%i], %v\nyield\n}",
        "for %i = %4 to %1 {\nstore @x[%i], %v\nyield\n}",
        "%m = load @n[]\n%c = gt %m, %0\nif %c {\nstore @x[%0], %v\nyield\n} else {\nyield\n}",
        "parallel_for (%i = %0 to %4) {\nstore @y[%i, %i], %v\nyield\n}",
        "parallel_for (%i = %0 to %4) {\n%j = mul %i, %4\nstore @x[%j], %v\nyield\n}",
        "%a = atomic add @x[%0], %v",
    ],
    ids=["index from memory", "bound from memory", "no trip", "branch", "diagonal", "strides", "atomic"],
)
def test_stores_that_are_not_certain(body: str) -> None:
    assert touched(body)[1] == {}


def test_loads_are_told_from_stores() -> None:
    read, written = touched("%a = load @x[%1]\n%b = add %a, %v\nstore @y[%1, %0], %b")
    assert (read, written) == ({"x": [((1, 1),)]}, {"y": [((1, 1), (0, 0))]})
