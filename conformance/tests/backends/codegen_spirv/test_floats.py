"""Multiply-adds of functions on devices without an instruction for them: quick, done again where that may be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from interpreter_kit import parallel
from programs_kit import SIZE, interesting
from vulkan_kit import POOR, STRICT, agree, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.opcodes import Op
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.scalars.speculation import Speculation
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.ir.types import f32, f64, u1

WITHOUT = {"fma32": False, "fma64": False}
FUSED = """function @fused(%a: {0}, %b: {0}, %c: {0}) -> ({0}) {{
  %d = fma %a, %b, %c : {0}
  %e = fma %d, %a, %c : {0}
  %big = gt %e, %b : u1
  %f = if %big {{
    %g = fma %e, %c, %b : {0}
    yield %g
  }} else {{
    yield %e
  }}
  %h = sub %f, %e : {0}
  %i = add %d, %h : {0}
  yield %i
}}
"""
ONE = "function @one(%a: {0}, %b: {0}, %c: {0}) -> ({0}) {{\n  %d = fma %a, %b, %c : {0}\n  yield %d\n}}\n"
HALVES = """function @halves(%a: {0}, %b: {0}, %c: {0}) -> ({0}) {{
  %k = const -0.125 : {0}
  %d = fma %a, %k, %c : {0}
  %one = const 1.0 : {0}
  %e = fma %one, %d, %b : {0}
  %half = const 0.5 : {0}
  %f = fma %e, %half, %a : {0}
  yield %f
}}
"""
CALL = """%a = load @a[%i] : {0}
%b = load @b[%i] : {0}
%c = load @c[%i] : {0}
%r = call @{1} %a, %b, %c : {0}
store @r[%i], %r"""


def check(text: str, name: str, operands: list[np.ndarray]) -> None:
    """The device gives the interpreter's bits."""
    dtype = f32 if operands[0].dtype == np.float32 else f64
    places = "\n".join(f"place @{n} : {dtype}[?] field" for n in "abcr")
    buffers = dict(zip("abcr", [*operands, np.zeros_like(operands[0])], strict=True))
    program = text.format(dtype) + parallel(CALL.format(dtype, name), len(operands[0]), places)
    agree(program, buffers, device=backend(**WITHOUT))


def half_way(scale: float) -> list[np.ndarray]:
    """Products of 25 binary digits, half way between two f32, and addends that decide."""
    rng = np.random.default_rng(3)
    a, b = (2 * rng.integers(1 << 11, 1 << 12, (2, SIZE)) + 1).astype(np.float64)
    c = rng.choice([-1.0, 1.0, 0.0], SIZE) * 2.0 ** rng.integers(-70, -20, SIZE)
    return [x.astype(np.float32) for x in (a * scale, b * scale, c * scale * scale)]


def half_way_below_normal() -> list[np.ndarray]:
    """Products near a half of the least f32 there is, and addends that are multiples of it."""
    rng = np.random.default_rng(4)
    a = 2.0**-75 * (1 + rng.integers(-2, 3, SIZE) * 2.0**-20)
    b = 2.0**-75 * (1 + rng.integers(-2, 3, SIZE) * 2.0**-19)
    c = rng.integers(-(1 << 24), 1 << 24, SIZE) * 2.0**-149
    return [x.astype(np.float32) for x in (a, b, c)]


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize(("text", "name"), [(FUSED, "fused"), (ONE, "one"), (HALVES, "halves")])
def test_numbers_of_all_sizes_are_rounded_once(text, name, dtype):
    check(text, name, [interesting(dtype, seed) for seed in range(3)])


def test_functions_that_are_called_often_stay_short():
    def size(calls: int) -> int:
        body = "%a = load @a[%i] : f32\n"
        body += "\n".join(f"%r{k} = call @one %a, %a, %a : f32\nstore @a[%i], %r{k}" for k in range(calls))
        text = ONE.format("f32") + parallel(body, 8, "place @a : f32[?] field")
        (shader,) = emit_program(tasks_of(text), POOR).shaders
        return [op for op, _ in instructions(shader.words)].count(Op.Function)

    assert (size(12), size(13)) == (3, 2)  # beside the task: quick and slow, or slow alone


@pytest.mark.parametrize("scale", [1.0, 2.0**-30, 2.0**-66, 2.0**-72, 2.0**40])
def test_sums_half_way_between_two_numbers_are_rounded_once(scale):
    check(ONE, "one", half_way(scale))


def test_sums_half_way_between_subnormal_numbers_are_rounded_once():
    check(ONE, "one", half_way_below_normal())


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_products_with_powers_of_two_are_rounded_where_they_are_too_small(dtype):
    rng = np.random.default_rng(6)
    least = float(np.finfo(dtype.numpy).smallest_subnormal)
    a, b, c = (rng.integers(-40, 40, SIZE) * least for _ in range(3))
    check(HALVES, "halves", [x.astype(dtype.numpy) for x in (a, b, c)])


@pytest.mark.parametrize("operands", [half_way(1.0), half_way_below_normal()], ids=["normal", "subnormal"])
def test_without_doing_them_again_such_sums_are_wrong(operands, monkeypatch):
    monkeypatch.setattr(Speculation, "rejected", lambda self: self.code.const(False, u1))
    with pytest.raises(AssertionError):
        check(ONE, "one", operands)


def test_f64_beyond_what_is_quick_is_wrong_without_doing_it_again(monkeypatch):
    monkeypatch.setattr(Speculation, "rejected", lambda self: self.code.const(False, u1))
    with pytest.raises(AssertionError):
        check(ONE, "one", [interesting(f64, seed) for seed in range(3)])


def test_roots_of_negative_numbers_are_chosen_where_a_device_may_take_them_for_zero():
    body = "%v = load @x[%i] : f32\n%w = sqrt %v : f32\nstore @x[%i], %w"
    program = tasks_of(parallel(body, 4, "place @x : f32[4] field"))
    shaders = [emit_program(program, replace(STRICT, order32=ordered)).shaders[0] for ordered in (True, False)]
    chosen = [[op for op, _ in instructions(shader.words)].count(Op.Select) for shader in shaders]
    assert chosen[1] > chosen[0]
