"""Store sinking: stores move to the end of an iteration, and what is in memory in the end is the same."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_kit import agree_on, device_text
from interpreter_kit import parallel

from adstack.analysis.store_sinking import sinkable_stores
from adstack.ir.text.parser import parse_ir

N = 23
PLACES = "place @x : f32[?] {kind}\nplace @y : f32[?] field\nplace @z : f32[?] field\nplace @n : i32[?] field"
LOOP = """%r = for %j = %c0 to %n0 carry (%s = %v) {{
  {inside}
  yield %w
}}"""
BODY = """%c0 = const 0 : i32
%f0 = const 0.0 : f32
%n0 = load @n[%i] : i32
%v = load @x[%i] : f32
{first}
{loop}
{last}
store @z[%i], %r"""
PLAIN = "%a = load @y[%j] : f32\n%w = add %s, %a : f32"


def source(first: str, inside: str = PLAIN, last: str = "", kind: str = "field") -> str:
    loop = LOOP.format(inside=inside)
    return parallel(BODY.format(first=first, loop=loop, last=last), N, PLACES.format(kind=kind))


ZERO = "store @x[%i], %f0"
CASES = {
    "waits": (source(ZERO), 1),
    "twice, the last of them": (source(f"{ZERO}\nstore @x[%i], %v"), 1),
    "read in the loop": (source(ZERO, "%a = load @x[%j] : f32\n%w = add %s, %v : f32"), 0),
    "read behind it": (source(ZERO, last="%b = load @x[%i] : f32\n%old = atomic add @z[%i], %b : f32"), 0),
    "updated behind it": (source(ZERO, last="%old = atomic add @x[%i], %v : f32"), 0),
    "perhaps the same memory": (source(ZERO, kind="ndarray"), 0),
}


@pytest.mark.parametrize(("text", "late"), CASES.values(), ids=list(CASES))
def test_a_store_waits_where_nothing_behind_it_touches_its_memory(text, late):
    (loop,) = [op for op in parse_ir(text).body.ops if op.name == "parallel_for"]
    assert len(sinkable_stores(loop.regions[0])) == late


@pytest.mark.parametrize("name", [name for name in CASES if name != "read in the loop"])
def test_what_is_in_memory_in_the_end_is_the_same(name):
    inputs = {
        "x": np.linspace(-1, 1, N).astype(np.float32),
        "y": np.linspace(0, 2, N).astype(np.float32),
        "z": np.zeros(N, np.float32),
        "n": (np.arange(N) % 5).astype(np.int32),
    }
    agree_on(CASES[name][0], [(inputs, ())])


def test_it_comes_behind_the_loop():
    text = device_text(CASES["waits"][0])
    assert text.index("done") < text.index("store float 0x0000000000000000")


def test_it_waits_for_nothing_where_checks_may_end_the_iteration():
    text = device_text(CASES["waits"][0], debug=True)
    assert text.index("store float 0x0000000000000000") < text.index("body")
