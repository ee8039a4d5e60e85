"""Which loads read memory from before the launch, and that the kernel means the same."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

from adstack.autodiff.overwrite.before import split_before
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_means_the_same(seed: int) -> None:
    kernel = random_kernel(seed, 60, traps=False)
    changed, aliases = split_before(kernel, set(kernel.places))
    verify(changed)
    first = random_buffers(kernel, seed)
    second = copy.deepcopy(first)
    second.update({alias.name: np.array(first[name]) for name, alias in aliases.items()})
    quiet = RunOptions(stdout=lambda text: None)
    run(kernel, first, random_params(kernel, seed), options=quiet)
    run(changed, second, random_params(kernel, seed), options=quiet)
    assert [name for name in first if not same_bits(first[name], second[name])] == []


HEAD = """
    place @x : f32[4] field
    place @y : f32[4] field
    %0 = const 0 : i32
    %1 = const 4 : i32
"""


def loads(body: str, names: set[str]) -> list[str]:
    """The places that the loads of a kernel read, in order."""
    text = wrap(HEAD + body)
    changed, _ = split_before(kernel_of(text), names)
    return [line.split("load @")[1].split("[")[0] for line in print_ir(changed).splitlines() if "load @" in line]


def test_a_load_before_the_write_is_moved_and_one_after_it_is_not() -> None:
    body = """
    parallel_for (%i = %0 to %1) {
      %2 = load @x[%i] : f32
      store @x[%i], %2
      %3 = load @x[%i] : f32
      %4 = load @y[%i] : f32
      %5 = add %3, %4 : f32
      %6 = atomic add @x[%0], %5 : f32
      yield
    }
    %7 = load @x[%0] : f32
    return
    """
    assert loads(body, {"x", "y"}) == ["x.before", "x", "y", "x"]
    assert loads(body, set()) == ["x", "x", "y", "x"]


def test_a_serial_loop_may_come_back_to_what_it_wrote() -> None:
    body = """
    %2 = load @x[%0] : f32
    for %i = %0 to %1 {
      %3 = load @x[%i] : f32
      store @x[%0], %3
      yield
    }
    return
    """
    assert loads(body, {"x"}) == ["x.before", "x"]


@pytest.mark.parametrize(
    "write", ["store @x[%0], %k", "%o = atomic add @x[%0], %k : f32"], ids=["a store", "an atomic addition"]
)
@pytest.mark.parametrize(
    "around",
    ["for %i = %0 to %1 {{\n{}\nyield\n}}", "while () {{\nyield %c\n}} do () {{\n{}\nyield\n}}", "{}"],
    ids=["for", "while", "statements"],
)
def test_every_write_counts_in_every_loop(write: str, around: str) -> None:
    front = "%k = const 1.5 : f32\n%c = const false : u1\n"
    reads = "%v = load @x[%0] : f32\nstore @y[%0], %v\n"
    later = around.format(f"{reads}{write}")
    assert loads(f"{front}{later}\nreturn", {"x"}) == ["x.before" if around == "{}" else "x"]
    later = around.format(f"{write}\n{reads}")
    assert loads(f"{front}{later}\nreturn", {"x"}) == ["x"]
