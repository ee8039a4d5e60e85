"""How many workgroups machine code gives a task: as many as Python does."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from adstack.backends.shared.extents import READ, RULES, Extent, Step
from adstack.backends.shared.jit import runtime_library
from adstack.backends.vulkan.driver.pipeline import Pipeline
from adstack.backends.vulkan.hostcode.counting import COUNT, Counted
from adstack.ir.scalar_ops import CAST, CONST
from adstack.ir.types import DType, i8, i16, i32, i64, u8, u16, u32

TYPES: tuple[DType, ...] = (i8, u8, i16, u16, i32, u32, i64)
MOST = 64


@pytest.fixture(scope="module")
def groups() -> Any:
    """`groups`, for Python to call."""
    library = runtime_library(COUNT.replace("define internal i64 @groups", "define i64 @groups"), ["groups"], None)
    call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(library["groups"])
    call.keep = library
    return call


def number(draw: random.Random, dtype: DType) -> int:
    """A number of a type: small, or one of its ends."""
    near = draw.choice((0, 0, 0, dtype.min, dtype.max))
    return min(max(near + draw.randint(-130, 130), dtype.min), dtype.max)


def extent_of(draw: random.Random) -> Extent:
    """Of a task with some header."""
    steps = [Step(READ, dtype, (), k) for k, dtype in enumerate(TYPES)]
    steps += [Step(READ, i64, (), ("x", 0)), Step(READ, i32, (), ("x", 1))]
    for dtype in TYPES:
        steps.append(Step(CONST, dtype, (), number(draw, dtype)))
    for _ in range(draw.randint(0, 12)):
        rule, dtype = draw.choice(list(RULES)), draw.choice(TYPES)
        fitting = [k for k, step in enumerate(steps) if rule is CAST or step.dtype is dtype]
        steps.append(Step(rule, dtype, tuple(draw.choices(fitting, k=1 if rule is CAST else 2))))
    return Extent(None, tuple(steps), tuple(draw.choices(range(len(steps)), k=2 * draw.randint(1, 3))))


def slots_of(scalars: Sequence[int], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The words of a launch; above a number's own bits anything may stand."""
    words = [value & (1 << dtype.bits) - 1 | 0x5A << 56 for value, dtype in zip(scalars, TYPES, strict=True)]
    words[TYPES.index(i64)] = scalars[TYPES.index(i64)] & (1 << 64) - 1
    return np.array([word & (1 << 64) - 1 for word in (*words, *shape)], np.uint64)


@pytest.mark.parametrize("seed", range(8))
def test_machine_code_counts_as_python_does(seed: int, groups: Any) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        extent, pipeline = extent_of(draw), Pipeline(None, draw.choice((1, 32, 64)))
        pipeline.__dict__["number"] = 7
        counted = Counted(pipeline, extent, lambda k: k if isinstance(k, int) else len(TYPES) + k[1], MOST)
        row = np.array(counted.words, np.uint64)
        for _ in range(8):
            scalars = [number(draw, dtype) for dtype in TYPES]
            shape = draw.randint(0, 300), draw.randint(0, 2**31 - 1)
            slots = slots_of(scalars, shape)
            want = pipeline.groups(extent.count(scalars, {"x": shape}), MOST)
            assert groups(slots.ctypes.data, row.ctypes.data) == want


@pytest.mark.parametrize(("fixed", "want"), [(0, 0), (1, 1), (64, 1), (65, 2), (10**9, MOST), (None, MOST)])
def test_what_is_the_same_in_every_launch_is_not_counted(fixed: int | None, want: int, groups: Any) -> None:
    pipeline = Pipeline(None, 64)
    pipeline.__dict__["number"] = 7
    row = np.array(Counted(pipeline, Extent(fixed), lambda _: 0, MOST).words, np.uint64)
    assert groups(0, row.ctypes.data) == want
