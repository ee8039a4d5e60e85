"""Whether the device's memory adds floats as the language does.

NVIDIA's manual says that atomic additions of f32 in global memory take subnormal numbers for zero. Whether a device
does that is looked at, not believed. Where it does, memory still adds by itself what is not below 2^-100 in magnitude,
as no subnormal number matters then, to the bit, whatever is in memory. Let v be added to x, |v| >= 2^-100:

- If x is subnormal, |x| < 2^-126. Numbers next to v are 2^-124 away from it at least (2^-123 above, half of that below
  a power of two), so x is less than half of the way: the sum rounds to v, as it does when x is taken for zero.
- If |x| <= |v| / 2, the sum is 2^-101 at least in magnitude: not subnormal.
- If |x| > |v| / 2, then |x| > 2^-101, and both are multiples of 2^-124: so is the sum, which is zero or not subnormal.
- Infinities and NaN are never subnormal, nor are sums with them.

What is smaller, zero among it, is added by a loop of compare-and-swap; so is everything where memory does otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.object_cache import ObjectCache

from .interface.driver import Driver, Launch

__all__ = ["LEAST", "adds_pairs", "float_adds"]

ALWAYS: Final[Mapping[str, float]] = MappingProxyType({"f16": 0, "f64": 0})
"""Types for which the manual promises it."""
LEAST: Final = 2.0**-100
"""Adding so much to an f32 involves no subnormal numbers that matter."""
_TINY: Final = 2.0**-149
_PAIRS_SINCE: Final = (9, 0)
CASES: Final = np.array(
    [
        *([_TINY, _TINY], [0.0, _TINY], [2.0**-126, -_TINY], [1.0, -1.0], [-(2.0**-127), 2.0**-128]),
        *([_TINY, LEAST], [-_TINY, LEAST], [2.0**-126 - _TINY, -LEAST], [-0.0, LEAST], [-LEAST, LEAST]),
        *([-LEAST * (1 - 2.0**-24), LEAST], [2.0**-126, -LEAST], [-LEAST * (1 + 2.0**-23), LEAST], [0.1, 0.2]),
        *([1.0, 2.0**-24], [1.0 + 2.0**-23, 2.0**-24], [3e38, 3e38], [np.inf, -1.0], [np.nan, 1.0], [1.0, np.nan]),
    ],
    np.float32,
)
"""What is there, and what is added to it."""

_TEXT: Final = """.version 8.1
.target sm_70
.address_size 64
.visible .entry adds(.param .align 8 .b8 ctx[8])
{
    .reg .b64 %at, %p;
    .reg .b32 %t;
    .reg .f32 %value, %old;
    ld.param.u64 %p, [ctx];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %at, %t, 8;
    add.s64 %at, %at, %p;
    ld.global.f32 %value, [%at+4];
    OPERATION
    st.global.f32 [%at+4], %old;
    ret;
}
"""
_OPERATIONS: Final = (
    "atom.global.add.f32 %old, [%at], %value;",
    "ld.global.f32 %old, [%at];\n    red.global.add.f32 [%at], %value;",
)


class Assembling(Driver, Protocol):
    """A driver that takes PTX: what is tried here is not told by LLVM text."""

    def link(self, ptx: str) -> bytes:
        """Machine code of a text of PTX."""

    def load_image(self, image: bytes) -> object:
        """A module of machine code."""


def adds_pairs(capability: tuple[int, int]) -> bool:
    """Whether devices of a compute capability add two f32 to neighbours at once (PTX ISA: `red` of vectors)."""
    return capability >= _PAIRS_SINCE


def float_adds(driver: Assembling, cached: ObjectCache | None) -> Mapping[str, float]:
    """The float types to which memory adds by itself -> the least magnitude with which it does so to the bit, 0 where
    it always does; what was found is kept on disk.
    """
    device, asked = driver.device, _TEXT + str(_OPERATIONS) + str(CASES.tolist())
    key = "" if cached is None else cached.key("adds", device.name, str(device.capability), str(device.driver), asked)
    measured = None if cached is None else cached.read(key)
    if measured is None:
        right = np.logical_and.reduce([_right(driver, operation) for operation in _OPERATIONS])
        small = np.abs(CASES[:, 1]) < LEAST
        measured = bytes([int(right[~small].all()), int(right.all())])
        if cached is not None:
            cached.write(key, measured)
    large, everything = measured
    return {**ALWAYS, "f32": 0 if everything else LEAST} if large else ALWAYS


def _right(driver: Assembling, operation: str) -> npt.NDArray[np.bool_]:
    """Which of the additions give what IEEE 754 says, and what was there before."""
    module = driver.load_image(driver.link(_TEXT.replace("OPERATION", operation)))
    memory = driver.allocate(CASES.nbytes)
    try:
        driver.upload(memory, CASES)
        driver.launch(Launch(driver.function(module, "adds"), 1, len(CASES), np.array([memory], np.int64)))
        results = np.empty_like(CASES)
        driver.download(memory, results)
    finally:
        driver.free(memory)
        driver.unload(module)
    right: npt.NDArray[np.bool_] = same(results[:, 0], _sums()) & same(results[:, 1], CASES[:, 0])
    return right


def _sums() -> npt.NDArray[np.float32]:
    with np.errstate(all="ignore"):
        total: npt.NDArray[np.float32] = CASES[:, 0] + CASES[:, 1]
    return total


def same(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Where bits are the same, or both are NaN."""
    bits = [np.ascontiguousarray(x).view(np.uint32) for x in (a, b)]
    same: npt.NDArray[np.bool_] = (bits[0] == bits[1]) | (np.isnan(a) & np.isnan(b))
    return same
