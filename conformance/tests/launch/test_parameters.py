"""Signatures of kernels: annotations, defaults, decorators."""

from __future__ import annotations

import dataclasses
import linecache
from typing import Any

import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


@qd.kernel
def add(a: qd.i32, b: qd.f32) -> qd.f32:
    return a + b


@qd.data_oriented
class Machine:
    @qd.kernel
    def step(self, v: qd.f32) -> qd.f32:
        return v


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def k(a): pass", "parameter 'a' of kernel k is not annotated"),
        ("def k(a: qd.i32 = 3): pass", "has a default value"),
        ("def k(*a: qd.i32): pass", r"kernel k has \*a"),
        ("def k(a: 3): pass", "which is not a type"),
        ("def k(a: 'nowhere.f32'): pass", "can't be evaluated"),
        ("def k() -> 'f33': return 1", "can't be evaluated"),
        ("def k(a: '1/0'): pass", "(?s)can't be evaluated: ZeroDivisionError: division by zero.*do: write a type"),
        ("def k() -> '{}[1]': return 1", "can't be evaluated: KeyError: 1"),
        ("def k() -> 3: return 1", "can't return 3"),
    ],
)
def test_a_signature_is_checked(source: str, words: str) -> None:
    names: dict[str, Any] = {"qd": qd}
    exec(compile(source, "<signature>", "exec", dont_inherit=True), names)
    with pytest.raises(qd.QuadrantsSyntaxError, match=words):
        qd.kernel(names["k"])(*([1] if "a" in source.partition(")")[0][6:] else []))


def test_annotations_may_be_postponed() -> None:
    kind = qd.f64
    source = "def k(a: 'kind') -> 'qd.f64':\n    return a + kind(1)\n"
    names: dict[str, Any] = {"qd": qd, "kind": kind}
    linecache.cache["<postponed>"] = (len(source), None, source.splitlines(True), "<postponed>")
    exec(compile(source, "<postponed>", "exec"), names)
    assert qd.kernel(names["k"])(0.5) == 1.5


def test_source_that_is_nowhere_is_a_clear_error() -> None:
    names: dict[str, Any] = {"qd": qd}
    exec("def k(a: qd.i32) -> qd.i32:\n    return a\n", names)
    with pytest.raises(qd.AdstackError, match="source"):
        qd.kernel(names["k"])(1)


def test_decorators_are_in_order() -> None:
    with pytest.raises(qd.AdstackSyntaxError, match="below @staticmethod"):
        qd.kernel(staticmethod(lambda: 1))
    with pytest.raises(TypeError, match="decorates a class"):
        qd.data_oriented(3)


def test_a_kernel_keeps_its_name_and_documentation() -> None:
    @qd.kernel
    def documented():
        """Says what it does."""

    assert (documented.__name__, documented.__doc__) == ("documented", "Says what it does.")
    assert repr(add) == "<kernel add>"
    assert repr(Machine().step) == "<bound <kernel Machine.step>>"


@pytest.mark.parametrize("thing", [3, Machine, "k", len])
def test_only_functions_are_kernels(thing: Any) -> None:
    with pytest.raises(qd.AdstackSyntaxError, match="decorates a function"):
        qd.kernel(thing)


def test_the_decorator_may_be_called() -> None:
    @qd.kernel()
    def one() -> qd.i32:
        return 1

    assert one() == 1


def test_annotations_of_dataclasses_may_be_postponed() -> None:
    postponed = dataclasses.make_dataclass("Postponed", [("n", "qd.i32")])
    broken = dataclasses.make_dataclass("Broken", [("n", "qd.nothing")])
    for cls in (postponed, broken):
        cls.__module__ = __name__

    @qd.kernel
    def count(p: postponed) -> qd.i32:
        return p.n

    @qd.kernel
    def fail(p: broken) -> qd.i32:
        return p.n

    assert count(postponed(3)) == 3
    with pytest.raises(qd.AdstackSyntaxError, match=r"annotation 'qd\.nothing' of Broken\.n can't be evaluated"):
        fail(broken(3))


@dataclasses.dataclass
class Pair:
    a: qd.f32
    b: qd.f32


@qd.kernel
def summed(pair: Pair) -> qd.f32:
    return pair.a + pair.b


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_a_member_without_a_value_is_told(arch: str) -> None:
    qd.init(arch=arch)
    pair = Pair(1.0, 2.0)
    assert [summed(pair), summed(pair)] == [3.0, 3.0]
    del pair.b
    with pytest.raises(qd.AdstackArgumentError, match=r"pair - its member b has no value: .*\n  do: set pair\.b"):
        summed(pair)


def test_a_dataclass_of_a_module_that_is_not_there_is_taken() -> None:
    elsewhere = dataclasses.make_dataclass("elsewhere", [("a", qd.f32)], namespace={"__module__": "nowhere"})

    @qd.kernel
    def taken(value: elsewhere) -> qd.f32:
        return value.a

    assert taken(elsewhere(2.0)) == 2.0
