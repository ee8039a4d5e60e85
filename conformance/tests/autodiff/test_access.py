"""Checked kernels do what they did, and record what was read and then written."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

from adstack.autodiff.access import RECORD, checked
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.verify.verifier import verify


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_does_what_it_did(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    marked = checked(kernel, set(kernel.places))
    verify(marked.kernel)
    first = random_buffers(kernel, seed)
    second = copy.deepcopy(first)
    second.update({mark.name: np.zeros(first[name].shape, np.int32) for name, mark in marked.marks.items()})
    if marked.marks:
        second[RECORD] = np.zeros(marked.record.shape, np.int32)
    quiet = RunOptions(stdout=lambda text: None)
    run(kernel, first, random_params(kernel, seed), options=quiet)
    run(marked.kernel, second, random_params(kernel, seed), options=quiet)
    assert [name for name in first if not same_bits(first[name], second[name])] == []


def test_the_first_write_of_a_read_element_is_on_record() -> None:
    text = """
    place @x : f32[4] field
    place @y : f32[4] field
    %0 = const 0 : i32
    %1 = const 1 : i32
    %2 = load @x[%0] : f32
    store @y[%0], %2
    store @x[%1], %2
    %3 = load @x[%1] : f32
    %4 = atomic add @x[%1], %3 : f32
    store @x[%0], %3
    return
    """
    marked = checked(kernel_of(wrap(text)), {"x", "y"})
    assert list(marked.marks) == ["x"]
    memory = {"x": np.ones(4, np.float32), "y": np.ones(4, np.float32)}
    memory["x.read"], memory[RECORD] = np.zeros(4, np.int32), np.zeros(marked.record.shape, np.int32)
    run(marked.kernel, memory)
    overwritten, read, written, element = memory[RECORD].tolist()
    assert overwritten == 1
    names = [None if op is None else op.name for op in marked.sites]
    assert names == [None, "load", "store", "load", "atomic", "store"]
    assert (read, written, element) == (3, 4, 1)
