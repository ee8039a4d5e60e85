"""Compile-time arguments: which of them share a specialisation."""

from __future__ import annotations

from typing import Any

import pytest

import adstack as qd
from adstack.launch.contents import template_key
from adstack.launch.lifetimes import Same
from adstack.launch.template_arguments import TemplateParameter


class Thing:
    def __repr__(self) -> str:
        return "Thing()"


THING = Thing()


@pytest.mark.parametrize(
    "value",
    [1, 1.5, True, "a", None, qd.f32, (1, 2), [1, (2, 3)], THING, float("nan"), qd.Vector([1, 2]), len],
    ids=repr,
)
def test_equal_arguments_have_equal_keys(value: Any) -> None:
    assert template_key(value) == template_key(value)
    assert hash(template_key(value)) == hash(template_key(value))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        (qd.f32, qd.f64),
        ((1, 2), [1, 2]),
        ((1, 2), (1, 2, 3)),
        (THING, Thing()),
        (qd.Vector([1, 2]), qd.Vector([1, 3])),
        (qd.Vector([1, 2]), qd.Vector([1, 2], qd.f32)),
        (qd.Vector([1, 2]), qd.Matrix([[1, 2]])),
        (None, 0),
    ],
    ids=repr,
)
def test_arguments_that_compile_differently_have_different_keys(a: Any, b: Any) -> None:
    assert template_key(a) != template_key(b)


def test_an_object_as_a_key_equals_itself_only() -> None:
    assert Same(THING) == Same(THING)
    assert Same(THING) != Same(Thing())
    assert Same(THING) != THING
    assert repr(Same(THING)) == repr(THING)


def test_a_template_is_described_by_its_value() -> None:
    assert TemplateParameter("t").spec(3) == TemplateParameter("t").spec(3)
    assert TemplateParameter("t").spec(3) != TemplateParameter("t").spec(4)
