"""What a list, a vector or another object holds that changes in place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.launch.contents import MOST, changes_in_place, watched

CHANGES: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (lambda: [1.5, 2.5], lambda v: v.__setitem__(1, 3.5)),
    (lambda: [1.5, 2.5], lambda v: v.append(3.5)),
    (lambda: [1.5, 2.5], lambda v: v.clear()),
    (lambda: [1.5, [2.5]], lambda v: v[1].__setitem__(0, 3.5)),
    (lambda: ([1.5],), lambda v: v[0].__setitem__(0, 3.5)),
    (lambda: qd.Vector([1.5, 2.5]), lambda v: v.__setitem__(0, 3.5)),
    (lambda: {"a": 1.5}, lambda v: v.__setitem__("a", 2.5)),
    (lambda: {"a": [1.5]}, lambda v: v["a"].append(2.5)),
    (lambda: np.array([1.5, 2.5]), lambda v: v.__setitem__(0, 3.5)),
]


@pytest.mark.parametrize(("make", "change"), CHANGES)
def test_a_change_in_place_is_seen_by_python_and_by_machine_code(make: Any, change: Any) -> None:
    value = make()
    before, looked = changes_in_place(value), watched(value)
    assert before is not None
    assert changes_in_place(value) == before
    assert looked is None or holds(looked[0])
    change(value)
    assert changes_in_place(value) != before
    assert looked is None or not holds(looked[0])


def holds(words: Any) -> bool:
    """As machine code looks at them, up to the first that differs."""
    return all(ctypes.c_int64.from_address(one.address).value == one.value for one in words)


@pytest.mark.parametrize("value", [3, 2.5, "text", None, object()])
def test_what_never_changes_in_place_is_not_looked_at(value: object) -> None:
    assert changes_in_place(value) is None
    assert watched(value) == ((), ())


def test_machine_code_looks_at_short_lists_and_vectors_only() -> None:
    assert watched([1.5] * MOST) is not None
    assert watched(qd.Vector([1.5, 2.5])) is not None
    for value in ([1.5] * (MOST + 1), {"a": 1.5}, np.zeros(2), [{"a": 1}]):
        assert watched(value) is None


def test_a_list_or_dictionary_that_holds_itself_is_told_apart_by_the_rest_of_it(on_cpu: None) -> None:
    class Settings:
        scales: list[Any]
        names: dict[str, Any]

    settings = Settings()
    settings.scales = [2.0]
    settings.scales.append(settings.scales)
    settings.names = {"offset": 1.0}
    settings.names["self"] = settings.names
    before = changes_in_place(settings.scales), changes_in_place(settings.names)
    assert before == (changes_in_place(settings.scales), changes_in_place(settings.names))
    assert watched(settings.scales) is None

    @qd.kernel
    def scaled() -> qd.f32:
        return settings.scales[0] + settings.names["offset"]

    assert scaled() == 3.0
    settings.scales[0] = 5.0
    settings.names["offset"] = 2.0
    assert scaled() == 7.0
