"""Objects that make up their attributes, or fail when they are asked for one: they are what their type says."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

import adstack as qd


class Failing:
    """It fails with an error that is no AttributeError."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")


@qd.data_oriented
class _Oriented(Failing):
    n = 3

    @qd.kernel
    def number(self) -> qd.i32:
        return self.n

    @qd.kernel
    def other(self) -> qd.i32:
        return self.absent


@pytest.fixture(params=[Mock, Failing])
def strange(request: pytest.FixtureRequest) -> Any:
    qd.init(arch=qd.reference)
    return request.param()


def test_a_kernel_reads_what_an_object_has() -> None:
    qd.init(arch=qd.reference)
    owner = _Oriented()
    assert owner.number() == 3
    owner.n = 5
    assert owner.number() == 5


def test_what_an_object_fails_with_is_told() -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackCompilationError, match="RuntimeError while compiling: asked for absent") as caught:
        _Oriented().other()
    assert not isinstance(caught.value, qd.InternalError)


_STATEMENTS = [
    *("x[0] = o + 1.0", "x[0] = (qd.Vector([1.0, 2.0]) + o)[0]", "x[0] = o", "x[o] = 1.0", "x[0] = -o"),
    *("x[0] = qd.sin(o)", "qd.atomic_add(o, 1.0)", "x[0] = qd.Vector([1.0, 2.0])[o]", "o[0] = 1.0", "x[0] = o[0]"),
    *("for _ in o: x[0] = 1.0", "for _ in qd.ndrange(o): x[0] = 1.0", "a = qd.Vector([o, 1.0])"),
]


@pytest.mark.parametrize("statement", _STATEMENTS)
def test_in_a_kernel_they_are_errors_of_the_program(statement: str, strange: Any) -> None:
    file, text = f"<{statement}>", f"@qd.kernel\ndef k():\n    {statement}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"qd": qd, "o": strange, "x": qd.field(qd.f32, 3)}
    exec(compile(text, file, "exec"), names)
    with pytest.raises(qd.AdstackCompilationError):
        names["k"]()


def _on_the_host(o: Any) -> dict[str, Callable[[], object]]:
    x, v, n = qd.field(qd.f32, 3), qd.Vector.field(2, qd.f32, 3), qd.ndarray(qd.f32, 3)

    @qd.kernel
    def number(a: qd.i32):
        pass

    @qd.kernel
    def vector(a: qd.types.vector(2, qd.f32)):
        pass

    @qd.kernel
    def array(a: qd.types.ndarray()):
        pass

    return {
        "number": lambda: number(o),
        "vector": lambda: vector(o),
        "array": lambda: array(o),
        "fill": lambda: x.fill(o),
        "element": lambda: x.__setitem__(0, o),
        "vectors": lambda: v.fill(o),
        "vector element": lambda: v.__setitem__(0, o),
        "ndarray": lambda: n.fill(o),
        "type": lambda: qd.field(o, 3),
        "type of an ndarray": lambda: qd.ndarray(o, 3),
        "shape": lambda: qd.field(qd.f32, o),
        "offset": lambda: qd.field(qd.f32, 3, offset=o),
        "name": lambda: qd.field(qd.f32, 3, name=o),
        "Vector": lambda: qd.Vector(o),
        "components": lambda: qd.Vector([o, o]),
        "Matrix": lambda: qd.Matrix([[o, o]]),
        "sin": lambda: qd.sin(o),
        "max": lambda: qd.max(o, 1),
        "cast": lambda: qd.cast(o, qd.i32),
        "sum": lambda: qd.Vector([1, 2]) + o,
        "dot": lambda: qd.Vector([1, 2]).dot(o),
        "struct": lambda: qd.types.struct(a=qd.f32)(o),
        "place": lambda: qd.root.dense(qd.i, 3).place(o),
        "atomic": lambda: qd.atomic_add(o, 1),
        "func": lambda: qd.func(o),
        "kernel": lambda: qd.kernel(o),
        "dataclass": lambda: qd.dataclass(o),
        "hessian": lambda: qd.ad.hessian(lambda: None, o, o),
        "grad_for": lambda: qd.ad.grad_for(o),
    }


@pytest.mark.parametrize(
    "name",
    [
        *("number", "vector", "array", "fill", "element", "vectors", "vector element", "ndarray", "type", "shape"),
        *("type of an ndarray", "offset", "name", "Vector", "components", "Matrix", "sin", "max", "cast", "sum", "dot"),
        *("struct", "place", "atomic", "func", "kernel", "dataclass", "hessian", "grad_for"),
    ],
)
def test_on_the_host_they_are_errors_of_the_program(name: str, strange: Any) -> None:
    with pytest.raises(qd.AdstackError) as caught:
        _on_the_host(strange)[name]()
    assert not isinstance(caught.value, qd.InternalError)


def test_an_annotation_that_is_no_type_leaves_a_local_as_it_is(strange: Any) -> None:
    @qd.kernel
    def k() -> qd.i32:
        a: strange = 3
        return a

    assert k() == 3
