"""The interpreter and one that runs a thread at a time agree to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import parallel, read, same_bits
from nightly_kit import examples

from adstack.conformance.fuzz.naive import run_naively
from adstack.conformance.fuzz.programs import kernels, random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel, Program


def agree(program: Kernel | Program, buffers: dict[str, Any], scalars: Any = (), lanes: int = 7) -> None:
    """Both run, and leave the same memory, results and text."""
    theirs = {name: buffer.copy() for name, buffer in buffers.items()}
    returned, printed = run_naively(program, theirs, scalars, seed=3, launch=1)
    text: list[str] = []
    options = RunOptions(lanes=lanes, seed=3, launch=1, stdout=text.append)
    results = run(program, buffers, scalars, options=options)
    assert len(results) == len(returned)
    assert all(map(same_bits, results, returned))
    assert [name for name in buffers if not same_bits(buffers[name], theirs[name])] == []
    assert "".join(text) == printed


@pytest.mark.parametrize("size", [20, 60, 200])
@pytest.mark.parametrize("block", range(4))
def test_they_agree_on_random_kernels(size, block):
    for seed in range(block * 40, block * 40 + examples(40)):
        kernel = random_kernel(seed, size)
        agree(kernel, random_buffers(kernel, seed), random_params(kernel, seed), lanes=3 + seed % 8)


@settings(max_examples=100)
@given(kernels(max_size=40), st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_they_agree_on_kernels_that_can_shrink(kernel, seed, lanes):
    agree(kernel, random_buffers(kernel, seed), random_params(kernel, seed), lanes)


STREAMS_AND_STACKS = """
  %n0 = load @x[%i] : i32
  %s = stack.alloca %n0 : stack<f64>
  for %j = %zero to %n0 {
    %r = random : f64
    stack.push %s, %r
    %u = random : u8
    %d = cast %u : f64
    stack.acc_adjoint %s, %d
    yield
  }
  %total = while (%sum = %start) {
    %top = stack.load_top %s : f64
    %more = lt %top, %limit : u1
    %none = eq %top, %start : u1
    %some = not %none : u1
    %on = and %more, %some : u1
    yield %on, %sum
  } do (%sum2) {
    %p = stack.load_top %s : f64
    %a = stack.load_top_adj %s : f64
    stack.pop %s
    %q = fma %p, %a, %sum2 : f64
    %neg = const -1.0 : f64
    stack.acc_adjoint %s, %neg
    stack.push %s, %start
    stack.pop %s
    stack.pop %s
    yield %q
  }
  store @y[%i], %total
"""


def test_they_agree_on_streams_and_stacks():
    places = "place @x : i32[?] field\n place @y : f64[?] field"
    body = "%start = const 0.0 : f64\n %limit = const 0.8 : f64\n" + STREAMS_AND_STACKS
    buffers = {"x": np.array([3, 0, 12, 1, 7, 7, 2, 30], np.int32), "y": np.zeros(8)}
    agree(read(parallel(body, 8, places)), buffers, lanes=5)
    assert buffers["y"].any()


def test_they_agree_on_what_is_printed():
    body = '%h = random : f16\n print %i, " draws ", %h, "\\n"'
    agree(read(parallel(body, 9)), {}, lanes=4)
