"""A kernel in parts: run one after the other they do what it does, or there are none."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

from adstack.autodiff.overwrite.parts import parts
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.verify.verifier import verify


@pytest.mark.parametrize("seed", range(40))
def test_parts_do_what_the_kernel_does(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    first = random_buffers(kernel, seed)
    second = copy.deepcopy(first)
    pieces = parts(kernel)
    for part in pieces:
        verify(part)
        run(part, second, random_params(kernel, seed), options=RunOptions(stdout=lambda text: None))
    if pieces:
        run(kernel, first, random_params(kernel, seed), options=RunOptions(stdout=lambda text: None))
    assert [name for name in first if not same_bits(first[name], second[name])] == []


HEAD = """
    place @x : f32[4] field
    %0 = const 0 : i32
    %1 = add %n, %0 : i32
    %2 = load @x[%0] : f32
"""
LOOPS = """
    parallel_for (%i = %0 to %1) {
      %4 = load @x[%i] : f32
      store @x[%i], %4
      yield
    }
    parallel_for (%j = %0 to %1) {
      %5 = load @x[%j] : f32
      %6 = add %5, %5 : f32
      store @x[%j], %6
      yield
    }
    return
"""


def test_arithmetic_on_arguments_is_repeated_and_memory_is_not() -> None:
    signature = "kernel @k(%n: i32) {"
    pieces = parts(kernel_of(wrap(HEAD + LOOPS, signature)))
    assert len(pieces) == 3
    memory = {"x": np.arange(4, dtype=np.float32)}
    for part in pieces:
        run(part, memory, [3])
    assert memory["x"].tolist() == [0.0, 2.0, 4.0, 3.0]
    assert parts(kernel_of(wrap(HEAD + LOOPS.replace("add %5, %5", "add %5, %2"), signature))) == []


def test_one_stretch_is_not_parted() -> None:
    assert parts(kernel_of(wrap(HEAD + "return", "kernel @k(%n: i32) {"))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return", "return %n"),
        ("%6 = add %5, %5 : f32", "%7 = random : f32\n%6 = add %5, %7 : f32"),
        ("%6 = add %5, %5 : f32", "%7 = load @t[] : f32\n%6 = add %5, %7 : f32"),
    ],
    ids=["a returned value", "random numbers", "a value that parts hand on"],
)
def test_what_parts_would_lose_keeps_a_kernel_whole(old: str, new: str) -> None:
    head = "kernel @k(%n: i32) -> (i32) {" if new == "return %n" else "kernel @k(%n: i32) {"
    place = "\nplace @t : f32[] temp" if "@t" in new else ""
    source = HEAD.replace("[4] field", f"[4] field{place}") + LOOPS
    assert parts(kernel_of(wrap(source.replace(old, new), head))) == []
