"""Quotients of f32 on a device are those of IEEE 754: by the host, with reciprocals as far off as a device's may be."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cuda_kit import device_code
from interpreter_kit import parallel

from adstack.backends.codegen_llvm.function.blocks import BlockWriter
from adstack.backends.codegen_llvm.text.writer import Writer
from adstack.backends.cuda.device_code.division import quotient
from adstack.backends.cuda.toolchain import host_code

ONES = (1 << 23) - 1
"""The digits of a divisor whose reciprocal the Newton step does not mend: there it is right from the start."""
RECIPROCAL = "llvm.nvvm.rcp.approx.ftz.f"


def text(off: int) -> str:
    """A loop of quotients, whose reciprocals are so many units in the last place off; rare operands give NaN."""
    e = BlockWriter(Writer(), 1)
    e.block = "body"
    result = quotient(e, "%a", "%b")
    lines = "\n".join(e.w.lines).replace("fdiv float %a, %b", "fadd float 0x7FF8000000000000, 0.0")
    lines = lines.replace(RECIPROCAL, "reciprocal")
    declared = "\n".join(text for name, text in e.w.declarations.items() if name != RECIPROCAL)
    return f"""{declared}
define internal float @reciprocal(float %b) alwaysinline {{
  %r = fdiv float 1.0, %b
  %bits = bitcast float %r to i32
  %moved = add i32 %bits, {off}
  %near = bitcast i32 %moved to float
  ret float %near
}}
define void @divide(i64 %n, ptr %as, ptr %bs, ptr %qs) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %next, %{e.block} ]
  %a.at = getelementptr float, ptr %as, i64 %k
  %b.at = getelementptr float, ptr %bs, i64 %k
  %q.at = getelementptr float, ptr %qs, i64 %k
  %a = load float, ptr %a.at
  %b = load float, ptr %b.at
{lines}
  store float {result}, ptr %q.at
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
!0 = !{{!"branch_weights", i32 1, i32 2000}}
"""


def divided(a: np.ndarray, b: np.ndarray, off: int) -> np.ndarray:
    code = host_code(text(off), ["divide"], None)
    q = np.empty_like(a)
    arrays = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, q))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)(code.symbols["divide"])(len(a), *arrays)
    return q


def numbers(draw: np.random.Generator, count: int, least: int, most: int) -> np.ndarray:
    """Of both signs, with exponents in a range; every fourth has few digits, or all of them set."""
    digits = draw.integers(0, 1 << 23, count)
    digits[::4] = draw.choice([0, 1, (1 << 23) - 1, (1 << 23) - 2, 1 << 22], len(digits[::4]))
    bits = (draw.integers(least, most + 1, count) + 127 << 23) + digits + (draw.integers(0, 2, count) << 31)
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_quotients_on_the_usual_path_are_rounded_once(off):
    draw = np.random.default_rng(17)
    a, b = numbers(draw, 1_000_000, -100, 100), numbers(draw, 1_000_000, -24, 24)
    a[:1000:2], a[1:1000:2] = 0.0, -0.0
    usual = (b.view(np.uint32) & ONES != ONES) | (off == 0)
    assert np.array_equal(divided(a, b, off)[usual].view(np.uint32), (a / b)[usual].view(np.uint32))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0, 0.0),
        (0.0, 0.0),
        (np.nan, 1.0),
        (1.0, np.inf),
        (np.inf, 1.0),
        (1e-31, 1.0),
        (1e31, 1.0),
        (1.0, 1e-8),
        (1.0, 1e8),
        (1e-45, 1.0),
        (1.0, 1e-45),
    ],
)
def test_other_operands_take_the_rare_path(a, b):
    assert np.isnan(divided(np.array([a], np.float32), np.array([b], np.float32), 0))[0]


def test_quotients_by_one_divisor_share_its_reciprocal():
    body = (
        "%a = load @x[%i] : f32\n%b = load @y[%i] : f32\n%q = div %a, %b : f32\n%r = div %q, %b : f32\nstore @x[%i], %r"
    )
    code = device_code(parallel(body, 100, "place @x : f32[?] field\nplace @y : f32[?] field"))
    assert code.count("rcp.approx.ftz.f32") == 1
    assert code.count("div.rn.f32") == 2
