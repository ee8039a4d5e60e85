"""Whole numbers computed without the device's instructions for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import STRICT, agree, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.opcodes import STD
from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.scalars.integral import WAYS
from adstack.backends.codegen_spirv.tasks import emit_program

OPS = {"trunc": "Trunc", "rint": "RoundEven", "floor": "Floor", "ceil": "Ceil", "round": "Trunc"}


def numbers(dtype: str) -> np.ndarray:
    """Halves, numbers beside whole ones, beside the first that have no fractions; zeros, infinities, NaN, the least."""
    kind = np.dtype({"f16": "f2", "f32": "f4", "f64": "f8"}[dtype])
    digits = np.finfo(kind).nmant
    halves = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 2.0 ** (digits - 1) + 0.5, 2.0**digits, 2.0 ** (digits + 1)], kind)
    some = np.concatenate([halves, np.nextafter(halves, kind.type(np.inf)), np.nextafter(halves, kind.type(-np.inf))])
    rest = np.array([0.3, 51921665.4, np.inf, np.nan, np.finfo(kind).tiny, np.finfo(kind).max]).astype(kind)
    return np.concatenate([some, -some, rest, -rest])


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("op", OPS)
def test_sums_give_the_whole_numbers_of_the_interpreter(op, dtype):
    with np.errstate(over="ignore"):
        x = numbers(dtype)
    body = f"%v = load @x[%i] : {dtype}\n%w = {op} %v : {dtype}\nstore @y[%i], %w"
    places = f"place @x : {dtype}[{len(x)}] field\nplace @y : {dtype}[{len(x)}] field"
    device = backend(round32=False, round64=False)
    agree(parallel(body, len(x), places), {"x": x, "y": np.zeros_like(x)}, device=device)


@pytest.mark.parametrize("op", OPS)
def test_a_device_that_is_right_is_asked(op):
    body = f"%v = load @x[%i] : f64\n%w = {op} %v : f64\nstore @x[%i], %w"
    program = tasks_of(parallel(body, 4, "place @x : f64[4] field"))
    for sure in (True, False):
        (shader,) = emit_program(program, replace(STRICT, round64=sure)).shaders
        lines = [line.split() for line in listing(shader.words).splitlines() if "OpExtInst " in line]
        assert (str(STD[OPS[op]]) in {line[-2] for line in lines}) is sure
    assert set(OPS.values()) == set(WAYS)
