"""Additions of f32 are left to memory that flushes subnormal numbers only where that does not show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from interpreter_kit import parallel
from programs_kit import interesting
from vulkan_kit import STRICT, agree, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.errors import BackendUnavailableError
from adstack.ir.types import f32

NUMBERS = interesting(f32, 3)
EDGES = np.array([2.0**-100, np.nextafter(np.float32(2.0**-100), np.float32(0)), -(2.0**-100), 0.0, -0.0], np.float32)
N = len(NUMBERS)
PLACES = f"place @x : f32[{N}] field\nplace @y : f32[{N}] field\nplace @z : f32[{N}] field"
ADD = parallel(
    "%one = const 1 : i32\n%k = mul %i, %one : i32\n"  # which is not known to be an own element
    "%v = load @x[%i] : f32\n%o = atomic add @y[%k], %v : f32\nstore @z[%i], %o",
    N,
    PLACES,
)


@pytest.mark.parametrize("traits", [{}, {"float_add": False}, {"float_add": False, "float_add_large": False}], ids=str)
def test_sums_and_old_values_are_the_interpreters(traits):
    added, there = NUMBERS.copy(), np.roll(NUMBERS, 1)
    added[: len(EDGES)] = EDGES
    there[: len(EDGES)] = np.float32(1e-45)
    agree(tasks_of(ADD), {"x": added, "y": there, "z": np.zeros(N, np.float32)}, device=backend(**traits))


def test_memory_adds_where_it_can():
    for large, native in ((True, True), (False, False)):
        traits = dataclasses.replace(STRICT, float_add=False, float_add_large=large)
        (shader,) = emit_program(tasks_of(ADD), traits).shaders
        assert ("AtomicFAddEXT" in listing(shader.words)) is native
        assert "AtomicCompareExchange" in listing(shader.words)


def test_integers_of_64_bits_are_updated_by_the_instruction_or_refused():
    one = "%one = const 1 : i64\n%k = const 0 : i32\n%old = atomic add @s[%k], %one : i64"
    program = tasks_of(parallel(one, N, "place @s : i64[1] field"))
    (shader,) = emit_program(program, STRICT).shaders
    assert "OpAtomicIAdd " in listing(shader.words)
    assert "OpAtomicCompareExchange" not in listing(shader.words)
    with pytest.raises(BackendUnavailableError, match="shaderBufferInt64Atomics"):
        emit_program(program, dataclasses.replace(STRICT, int64_atomics=False))


def test_a_serial_task_that_reports_nothing_may_be_told_of_several_launches():
    serial = "kernel @k() {\nplace @s : i32[] field\n%one = const 1 : i32\nstore @s[], %one\nreturn\n}"
    (shader,) = emit_program(tasks_of(serial), STRICT).shaders
    assert shader.repeats
