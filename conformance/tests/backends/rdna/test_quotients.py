"""Quotients and roots, by the instructions that LLVM makes of them: those of IEEE 754 for all operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amdgpu_kit import module_of
from interpreter_kit import parallel, read
from rdna_kit import EACH, random_of, same

from adstack.backends.amdgpu.emulator import started
from adstack.backends.amdgpu.layout import kernels_of
from adstack.backends.amdgpu.toolchain import code_object
from adstack.backends.rdna.machine import Code

COUNT = 40000
KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
SKEWS = (0, 1, -1)
"""The nearest approximations, and those above and below: results must not depend on which a device gives."""


def emulated(processor: str, text: str, operands: list[Any], skew: int) -> Any:
    """What a kernel that works on fields x and y leaves in x."""
    module = module_of(read(text))
    image = code_object(module.text, processor)
    fields = [operand.copy() for operand in operands]
    words = np.zeros(module.size, np.int64)
    for name, field in zip("xy", fields, strict=False):
        words[module.context.pointers[name]] = field.ctypes.data
    (kernel,) = kernels_of(image).values()
    Code(image).dispatch(started(kernel.descriptor), words.ctypes.data, 2, 40, skew)
    return fields[0]


def kernel(op: str, ty: str, names: str) -> str:
    loads = "\n".join(f"%{name} = load @{name}[%i] : {ty}" for name in names)
    operands = ", ".join(f"%{name}" for name in names)
    places = "\n".join(f"place @{name} : {ty}[{COUNT}] field" for name in names)
    return parallel(f"{loads}\n%s = {op} {operands} : {ty}\nstore @x[%i], %s", COUNT, places)


@EACH
@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("ty", KINDS)
def test_quotients_are_those_of_ieee_754(ty, skew, processor):
    x, y = random_of(KINDS[ty], COUNT, 1), random_of(KINDS[ty], COUNT, 2)
    with np.errstate(all="ignore"):
        assert same(emulated(processor, kernel("div", ty, "xy"), [x, y], skew), x / y)


@EACH
@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("ty", KINDS)
def test_quotients_by_numbers_of_which_all_digits_are_ones_are_too(ty, skew, processor):
    kind = KINDS[ty]
    x, y = random_of(kind, COUNT, 5), random_of(kind, COUNT, 6)
    word = np.dtype(f"u{y.dtype.itemsize}").type
    y = (y.view(word) | word((1 << np.finfo(kind).nmant) - 1)).view(kind)
    x[: COUNT // 4] = (x.view(word) | word((1 << np.finfo(kind).nmant) - 1)).view(kind)[: COUNT // 4]
    with np.errstate(all="ignore"):
        assert same(emulated(processor, kernel("div", ty, "xy"), [x, y], skew), x / y)


@EACH
@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("ty", KINDS)
def test_roots_are_those_of_ieee_754(ty, skew, processor):
    x = random_of(KINDS[ty], COUNT, 3)
    word = np.dtype(f"u{x.dtype.itemsize}").type
    ones = word((1 << np.finfo(x.dtype).nmant) - 1)
    x[: COUNT // 4] = ((x.view(word) | ones) - (np.arange(COUNT) % 4).astype(word)).view(x.dtype)[: COUNT // 4]
    with np.errstate(all="ignore"):
        assert same(emulated(processor, kernel("sqrt", ty, "x"), [x], skew), np.sqrt(x))


@EACH
@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_quotients_of_integers_do_not_depend_on_approximations(kind, skew, processor):
    ty = f"{np.dtype(kind).kind}{8 * np.dtype(kind).itemsize}"
    x, y = random_of(kind, COUNT, 1), np.maximum(random_of(kind, COUNT, 2), 1)
    assert same(emulated(processor, kernel("floordiv", ty, "xy"), [x, y], skew), x // y)
