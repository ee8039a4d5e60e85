"""From a request to a kernel: parameters, what is captured, and failures that are not the user's."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

import adstack as qd
from adstack.errors import AdstackSyntaxError, InternalError
from adstack.frontend import lower
from adstack.frontend.expressions import dispatch
from adstack.ir.types import f32, i32
from adstack.values.names import MISSING
from adstack.values.specs import (
    Lowered,
    MatrixSpec,
    NdarraySpec,
    Request,
    ScalarSpec,
    Spec,
    StructSpec,
    TemplateSpec,
    TupleSpec,
)


def _lower(function: Any, *specs: Spec, returns: Spec | None = None) -> Lowered:
    return lower(Request(function, specs, returns, SimpleNamespace()))


def test_parameters_are_flattened_in_order() -> None:
    def k(a, v, s, x, t):
        x[0] = a + v[0] + s.b + t

    members = (("a", ScalarSpec(i32)), ("b", MatrixSpec(f32, (2, 2))))
    lowered = _lower(
        k,
        ScalarSpec(i32),
        MatrixSpec(f32, (2,)),
        StructSpec(qd.types.struct(a=i32, b=f32), (members[0], ("b", ScalarSpec(f32)))),
        NdarraySpec(f32, 1, has_grad=True),
        TemplateSpec(3, 3),
    )
    assert [(p.name, p.dtype) for p in lowered.kernel.params] == [
        *(("a", i32), ("v.0", f32), ("v.1", f32), ("s.a", i32), ("s.b", f32))
    ]
    assert [(p.name, p.role, p.of, p.shape) for p in lowered.kernel.places.values()] == [
        *(("x", "primal", None, (None,)), ("x.grad", "grad", "x", (None,)))
    ]
    assert lowered.fields == {}


def test_touched_fields_are_listed_with_their_companions() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, 4, needs_grad=True)
    unused = qd.field(qd.f32, 4)

    def k():
        x.grad[0] = x[1]
        if qd.static(False):
            unused[0] = 1

    lowered = _lower(k)
    assert {id(f) for f in lowered.fields.values()} == {id(x), id(x.grad)}
    assert set(lowered.kernel.places) == set(lowered.fields)


def test_what_is_read_from_outside_is_captured() -> None:
    config = SimpleNamespace(n=3, name="k", deep=SimpleNamespace(scale=0.5))

    def k():
        return config.n * config.deep.scale

    lowered = _lower(k, returns=ScalarSpec(f32))
    assert [was for _, was in lowered.captured] == [config, 3, config.deep, 0.5]
    config.deep.scale = 2.0
    assert [read() for read, _ in lowered.captured] == [config, 3, config.deep, 2.0]
    del config.n
    assert lowered.captured[1][0]() is MISSING


def test_default_types_are_those_of_the_options() -> None:
    def k():
        return 1, 2.0

    returns = TupleSpec((ScalarSpec(i32), ScalarSpec(f32)))
    assert _lower(k, returns=returns).kernel.returns == (i32, f32)


def test_an_expression_nested_too_deeply_is_refused() -> None:
    def k(a):
        return a

    deep: ast.expr = ast.Name("a", ast.Load())
    for _ in range(3000):
        deep = ast.UnaryOp(ast.USub(), deep)
    from adstack.frontend.syntax.source import source_of

    node = source_of(k).node
    statement = ast.Return(deep)
    ast.copy_location(statement, node.body[0])
    node.body[0] = statement
    with pytest.raises(AdstackSyntaxError, match="nested too deeply"):
        _lower(k, ScalarSpec(i32), returns=ScalarSpec(i32))


def test_a_failure_of_the_frontend_says_so_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def k():
        pass

    def fail(context: Any, node: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setitem(dispatch.STATEMENTS, ast.Pass, fail)
    with pytest.raises(InternalError, match="ZeroDivisionError: oops; please report it") as caught:
        _lower(k)
    assert caught.value.loc is not None
    assert caught.value.loc.line == k.__code__.co_firstlineno + 1


def test_specs_that_no_parameter_or_result_has_are_defects() -> None:
    def k(a):
        return a

    with pytest.raises(InternalError, match="can't have the spec"):
        _lower(k, TupleSpec(()))
    with pytest.raises(InternalError, match="can't return the spec"):
        _lower(k, ScalarSpec(i32), returns=TemplateSpec(1))
