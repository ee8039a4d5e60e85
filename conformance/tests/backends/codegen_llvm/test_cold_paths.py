"""Cold paths of math functions: every lane gets what it would get alone, whichever lanes take them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cpu_kit import agree, agree_on, tasks_of
from interpreter_kit import parallel

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.ir.types import by_name

N = 140
WIDTHS = (1, 2, 16, 64, 128)


def arguments(dtype: str) -> list[np.ndarray]:
    """Lanes that all take the rare side, that never do, one alone, a few, and numbers that are none."""
    random = np.random.default_rng(11)
    near = random.uniform(-9, 9, N)
    one, few, odd = near.copy(), near.copy(), near.copy()
    one[77] = 3e9
    few[::5] = random.uniform(-1, 1, 28) * 1e30
    odd[:6] = [np.inf, -np.inf, np.nan, -0.0, 1e38, -1e25]
    odd[-1] = -np.inf
    return [a.astype(by_name(dtype).numpy) for a in (near, near * 1e12, one, few, odd)]


def calls(name: str, dtype: str, inside: str = "{}") -> str:
    names = ("%s", "%c")[: 1 + (name == "sincos")]
    types = ", ".join(dtype for _ in names)
    stores = "\n".join(f"store @y[%i, %k{k}], {v}" for k, v in enumerate(names))
    body = inside.format(f"{', '.join(names)} = call @{name}.{dtype} %x : {types}\n{stores}")
    indices = "%k0 = const 0 : i32\n%k1 = const 1 : i32"
    places = f"place @x : {dtype}[?] field\nplace @y : {dtype}[?, ?] field"
    return parallel(f"{indices}\n%x = load @x[%i] : {dtype}\n{body}", N, places)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sincos"])
def test_huge_arguments_are_reduced_in_the_lanes_that_have_them(name, dtype):
    cases = [({"x": x, "y": np.zeros((N, 2), x.dtype)}, ()) for x in arguments(dtype)]
    agree_on(calls(name, dtype), cases, WIDTHS)


def test_lanes_that_do_not_call_a_function_decide_nothing_in_it():
    inside = "%z = const 0.0 : f32\n%d = gt %x, %z : u1\nif %d {{\n{}\nyield\n}} else {{\nyield\n}}"
    cases = [({"x": x, "y": np.full((N, 2), 7, x.dtype)}, ()) for x in arguments("f32")]
    agree_on(calls("sin", "f32", inside), cases, WIDTHS)


def long(first: str) -> str:
    """More ops than a side may have to be widened; the last is %last."""
    steps = [f"%s{k} = add %s{k - 1}, %p : i32" for k in range(1, 45)]
    return "\n".join([f"%s0 = mul {first}, %p : i32", *steps, "%last = xor %s44, %p : i32"])


FUNCTION = """function @f(%p: i32, %q: u1) -> (i32, u1) {{
  %three = const 3 : i32
  %r = and %p, %three : i32
  %c = eq %r, %three : u1
  %n = not %q : u1
  %a, %b = if %c -> (i32, u1) {{
    {}
  }} else {{
    {}
  }}
  yield %a, %b
}}
"""
LONG = (
    "%o = select %q, %three, %p : i32\n" + long("%o") + "\n%t = or %n, %q : u1\n%l = lt %last, %p : u1\n%u = and %t, %l"
)
SIDES = [("yield %r, %n", f"{LONG}\nyield %last, %u"), (f"{LONG}\nyield %last, %u", "yield %p, %q")]


@pytest.mark.parametrize("sides", [*SIDES, (SIDES[1][0], SIDES[0][1])], ids=["else", "then", "both"])
def test_any_function_may_have_a_long_side(sides):
    body = """%x = load @x[%i] : i32
%zero1 = const 0 : i32
%d = lt %x, %zero1 : u1
%a, %b = call @f %x, %d : i32, u1
store @y[%i], %a
store @z[%i], %b"""
    places = "place @x : i32[?] field\nplace @y : i32[?] field\nplace @z : u1[?] field"
    x = np.random.default_rng(5).integers(-99, 99, N).astype(np.int32)
    buffers = {"x": x, "y": np.zeros(N, np.int32), "z": np.zeros(N, np.bool_)}
    agree(FUNCTION.format(*sides) + parallel(body, N, places), buffers, widths=WIDTHS)


def definitions(text: str) -> list[str]:
    return re.findall(r"^define internal .*@cold\d+\(.*?^\}", text, re.MULTILINE | re.DOTALL)


def test_vectors_and_the_rest_share_a_side():
    text = emit_program(tasks_of(calls("sincos", "f32")), [16]).text
    assert len(definitions(text)) == 1
    assert re.findall(r"call .*@cold0\(i64 (\d+)", text) == ["16", "1"]


@pytest.mark.parametrize("lanes", [1, 16])
def test_the_fast_selector_meets_no_struct_where_a_side_is_computed(lanes):
    """It gives up a block that holds one."""
    (body,) = definitions(emit_program(tasks_of(calls("sin", "f32")), [lanes]).text)
    computed, _, rest = body.partition("out:\n")
    assert "insertvalue" not in computed
    assert ("insertvalue" in rest) == (lanes == 1)
