"""Kernels that mark what they look at, and the loads that decide their control flow."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

from adstack.autodiff.seen import Seen, deciding, seen, written
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify


@pytest.mark.parametrize("marking", [seen, written])
@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_does_what_it_did(seed: int, marking: Callable[[Kernel, set[str]], Seen]) -> None:
    kernel = random_kernel(seed, 60)
    marked = marking(kernel, set(kernel.places))
    verify(marked.kernel)
    first = random_buffers(kernel, seed)
    second = copy.deepcopy(first)
    second.update({mark.name: np.zeros(first[name].shape, np.int32) for name, mark in marked.marks.items()})
    quiet = RunOptions(stdout=lambda text: None)
    run(kernel, first, random_params(kernel, seed), options=quiet)
    run(marked.kernel, second, random_params(kernel, seed), options=quiet)
    assert [name for name in first if not same_bits(first[name], second[name])] == []


TEXT = """
    place @n : i32[4] field
    place @m : i32[4] field
    place @x : f32[4] field
    %0 = const 0 : i32
    %1 = const 2 : i32
    %2 = load @n[%1] : i32
    %3 = load @m[%2] : i32
    for %4 = %0 to %3 {
      %5 = load @x[%4] : f32
      store @x[%1], %5
      yield
    }
    %6 = load @m[%0] : i32
    store @n[%0], %6
    return
"""


def test_what_is_read_is_marked_by_the_number_of_its_load() -> None:
    marked = seen(kernel_of(wrap(TEXT)), {"n", "x"})
    assert list(marked.marks) == ["n", "x"]
    memory = {"n": np.array([0, 0, 3, 0], np.int32), "m": np.array([5, 0, 0, 2], np.int32), "x": np.ones(4, np.float32)}
    memory.update({mark.name: np.zeros(4, np.int32) for mark in marked.marks.values()})
    run(marked.kernel, memory)
    assert memory["n.seen"].tolist() == [0, 0, 1, 0]
    assert memory["x.seen"].tolist() == [2, 2, 0, 0]
    assert [op and op.attrs["place"].name for op in marked.sites] == [None, "n", "x"]


def test_what_is_written_is_marked_though_nothing_changes() -> None:
    marked = written(kernel_of(wrap(TEXT)), {"n", "m", "x"})
    assert list(marked.marks) == ["n", "x"]
    memory = {"n": np.array([5, 0, 3, 0], np.int32), "m": np.array([5, 0, 0, 2], np.int32), "x": np.ones(4, np.float32)}
    memory.update({mark.name: np.zeros(4, np.int32) for mark in marked.marks.values()})
    run(marked.kernel, memory)
    assert memory["n.written"].tolist() == [2, 0, 0, 0]
    assert memory["x.written"].tolist() == [0, 0, 1, 0]


def test_a_bound_is_decided_by_all_that_leads_to_it() -> None:
    kernel = kernel_of(wrap(TEXT))
    loads = [op for op in kernel.body.walk() if op.name == "load"]
    assert deciding(kernel) == set(loads[:2])


def test_a_kernel_with_local_arrays_is_left_as_it_is() -> None:
    kernel = kernel_of(
        wrap(
            """
            %0 = const 0 : i32
            %1 = array.alloc : array<i32, 4>
            array.store %1, %0, %0
            %2 = array.load %1, %0
            for %3 = %0 to %2 {
              yield
            }
            return
            """
        )
    )
    before = print_ir(kernel)
    assert deciding(kernel) == set()
    assert print_ir(kernel) == before


DECIDED = {
    "a lower bound": "for %k = %v to %4 {\nyield\n}",
    "an upper bound": "for %k = %0 to %v {\nyield\n}",
    "a parallel loop": "parallel_for (%k = %0 to %v) {\nyield\n}",
    "a condition": "%c = lt %v, %4\nif %c {\nstore @n[%0], %0\nyield\n} else {\nyield\n}",
    "a while": "while (%w = %v) {\n%c = lt %w, %4\nyield %c, %w\n} do (%u) {\n%t = add %u, %4\nyield %t\n}",
    "a local array": (
        "%l = array.alloc : array<i32, 4>\narray.store %l, %0, %v\n%w = array.load %l, %0\n"
        "for %k = %0 to %w {\nyield\n}"
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_decides_is_found(name: str) -> None:
    head = "kernel @k() {\n  place @n : i32[4] field"
    kernel = kernel_of(wrap(f"%0 = const 0 : i32\n%4 = const 4 : i32\n%v = load @n[%4]\n{DECIDED[name]}\nreturn", head))
    assert deciding(kernel) == {op for op in kernel.body.walk() if op.name == "load"}
