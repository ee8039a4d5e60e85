"""What operators and functions mean for runtime scalars: types, promotion, literals."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import adstack as qd
from adstack.errors import AdstackValueError, InternalError
from adstack.frontend.emission.context import Context
from adstack.frontend.emission.current import current
from adstack.frontend.emission.expr import Expr
from adstack.frontend.emission.type_promotion import common, literal
from adstack.frontend.recorder import Recorder
from adstack.ir.structure import Region, Value
from adstack.ir.types import DType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u32, u64
from adstack.values.protocol import emitting, lowering


def _context(**options: Any) -> Context:
    return Context(SimpleNamespace(**{"default_fp": f32, "default_ip": i32, **options}), Region())


def _typed(dtype: DType) -> Expr:
    return Expr(Value(dtype))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (i64, f32, f32),
        (i8, i8, i8),
        (i8, i16, i16),
        (i32, u32, u32),
        (u8, i32, i32),
        (u1, u1, i32),
        (f16, f64, f64),
        (u64, i64, u64),
        (u1, f16, f16),
    ],
)
def test_operands_meet_in_the_documented_type(left: DType, right: DType, result: DType) -> None:
    with lowering(_context()):
        assert (_typed(left) + _typed(right)).dtype is result
        assert (_typed(right) + _typed(left)).dtype is result


@pytest.mark.parametrize(
    ("dtype", "number", "result"),
    [
        (f64, 0.1, f64),
        (f16, 2, f16),
        (i16, 3, i16),
        (i8, 0.5, f32),
        (u1, 2, i32),
        (u64, 1, u64),
        (u1, True, i32),
        (i64, True, i64),
    ],
)
def test_literals_take_the_type_that_they_meet(dtype: DType, number: float, result: DType) -> None:
    with lowering(_context()):
        assert (_typed(dtype) + number).dtype is result
        assert (number + _typed(dtype)).dtype is result


def test_literals_alone_take_the_default_types() -> None:
    with lowering(_context(default_fp=f64, default_ip=i64)):
        assert common(1) is i64
        assert common(1, 2.0) is f64
        assert common(True) is u1
        assert common(True, 1) is i64


def test_a_literal_keeps_the_value_that_its_type_can_hold() -> None:
    context = _context()
    with lowering(context):
        literal(0.1, f64)
        literal(0.1, f32)
        literal(math.inf, f16)
        literal(7.9, i32)
        literal(math.nan, i32)
    values = [op.attrs["value"] for op in context.body.ops]
    assert values[0] == 0.1
    assert values[1] == f32(0.1) != 0.1
    assert values[2:] == [math.inf, 7, 0]


@pytest.mark.parametrize(
    ("number", "dtype"), [(256, u8), (-1, u32), (2**31, i32), (1e39, f32), (70000, f16), (2**64, u64)]
)
def test_a_literal_out_of_range_is_refused(number: float, dtype: DType) -> None:
    with lowering(_context()), pytest.raises(AdstackValueError, match="out of range"):
        literal(number, dtype)


def test_a_runtime_value_has_no_meaning_after_compilation() -> None:
    with pytest.raises(InternalError, match="after its kernel was compiled"):
        current()


def test_a_runtime_value_shows_its_type() -> None:
    assert repr(_typed(f32)) == "<runtime f32>"
    assert +_typed(f32) is not None


def _ops(run: Callable[[Expr, Expr], Any], dtype: DType = i32) -> list[str]:
    """The names of the ops that an expression emits, constants and casts aside."""
    context = _context()
    with lowering(context), emitting(Recorder(context)):
        run(_typed(dtype), _typed(dtype))
    return [op.name for op in context.body.ops if op.name not in ("const", "cast")]


@pytest.mark.parametrize(
    ("run", "dtype", "names"),
    [
        (lambda a, b: a // b, i32, ["floordiv"]),
        (lambda a, b: a // b, f32, ["div", "floor"]),
        (lambda a, b: a % b, i32, ["mod"]),
        (lambda a, b: a % b, f32, ["div", "floor", "mul", "sub"]),
        (lambda a, b: a / b, i32, ["div"]),
        (lambda a, b: a**b, i32, ["ipow"]),
        (lambda a, b: a**2, f32, ["mul"]),
        (lambda a, b: a**5, f32, ["mul", "mul", "mul"]),
        (lambda a, b: a**0, f32, []),
        (lambda a, b: a**-2, f32, ["mul", "div"]),
        (lambda a, b: a**9, f32, ["pow"]),
        (lambda a, b: a**0.5, f32, ["pow"]),
        (lambda a, b: 2**a, f32, ["pow"]),
        (qd.raw_div, i32, ["raw_div"]),
        (qd.raw_div, f32, ["div"]),
        (qd.raw_mod, i32, ["raw_mod"]),
        (qd.raw_mod, f32, ["div", "trunc", "mul", "sub"]),
        (qd.bit_shr, i32, ["bitcast", "bitcast", "shr", "bitcast"]),
        (qd.bit_shr, u32, ["shr"]),
        (lambda a, b: ~a, u1, ["not"]),
        (lambda a, b: a & b, u1, ["and"]),
        (lambda a, b: abs(a), i32, ["abs"]),
        (lambda a, b: -a, f32, ["neg"]),
        (lambda a, b: qd.bit_cast(a, qd.i32), f32, ["bitcast"]),
        (lambda a, b: qd.sqrt(a), i32, ["sqrt"]),
        (lambda a, b: qd.random(int), i32, ["random"]),
    ],
)
def test_an_operator_emits_the_operations_of_its_types(
    run: Callable[[Expr, Expr], Any], dtype: DType, names: list[str]
) -> None:
    assert _ops(run, dtype) == names


@qd.kernel
def _numbers(a: qd.i32, b: qd.f32, c: qd.u1, out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    out[0] = a / 2
    out[1] = -a // 2
    out[2] = -a % 2
    out[3] = b**-1
    out[4] = (a < b) + (c & True)
    out[5] = a and 7
    out[6] = 0 or a
    out[7] = 1 < a < 4
    out[8] = 1 < a < 3
    out[9] = not a
    out[10] = ~a
    out[11] = qd.select(c, a, b)
    out[12] = a if c else b / 0.0
    out[13] = qd.cast(b, int) + float(a)
    out[14] = qd.max(a, b, 2.75)
    out[15] = -7 >> 1
    out[16] = 10 % a
    out[17] = 7 // 0 + 1 % 0
    out[18] = 1.0 / 0
    out[19] = ~True + ~c
    out[20] = bool(a) + int(2.7) + float(1)
    out[21] = qd.f32(a) + qd.i64(3) + qd.u1(7) + qd.f32(0.5)


def test_scalar_expressions_give_the_documented_values() -> None:
    import numpy as np

    qd.init(arch=qd.reference)
    out = np.zeros(22, np.float32)
    _numbers(3, 2.5, True, out)
    assert out.tolist() == [
        *(1.5, -2.0, 1.0, np.float32(0.4), 1.0, 7.0, 3.0, 1.0, 0.0, 0.0),
        *(-4.0, 3.0, 3.0, 5.0, 3.0, -4.0, 1.0, 0.0, math.inf, 0.0),
        *(4.0, 7.5),
    ]


@qd.kernel
def _division_by(n: qd.i32, out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    out[0] = n != 0 and 10 // n > 2
    out[1] = n == 0 or 10 % n > 2
    out[2] = 10 // n if n != 0 else -1
    out[3] = 0 < n < 10 // n


@pytest.mark.parametrize(("n", "expected"), [(0, [0, 1, -1, 0]), (3, [1, 0, 3, 0]), (2, [1, 0, 5, 1])])
def test_the_right_side_is_evaluated_only_if_it_decides(n: int, expected: list[int]) -> None:
    import numpy as np

    qd.init(arch=qd.reference, debug=True)
    out = np.zeros(4, np.int32)
    _division_by(n, out)
    assert out.tolist() == expected


@qd.kernel
def _eager(n: qd.i32) -> qd.i32:
    return n > 1 and n // 1 > 2


def test_short_circuit_can_be_switched_off() -> None:
    qd.init(arch=qd.reference, short_circuit_operators=False)
    assert [_eager(n) for n in (0, 2, 3)] == [0, 0, 1]
    text = next(iter(_eager.stages(3).values()))
    assert "if " not in text
