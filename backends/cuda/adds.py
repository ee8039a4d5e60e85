"""Whether the device's memory adds floats as the language does.

NVIDIA's manual says that atomic additions of f32 in global memory take subnormal numbers for zero. Whether a device
does that is looked at, not believed: where it does, a loop of compare-and-swap adds instead.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from adstack.backends.llvm.cache import ObjectCache

from .driver import Driver

__all__ = ["float_adds"]

ALWAYS: Final = frozenset({"f16", "f64"})
"""Types for which the manual promises it."""
_LEAST: Final = 2.0**-149
_CASES: Final = np.array(
    [[_LEAST, _LEAST], [0.0, _LEAST], [2.0**-126, -_LEAST], [1.0, -1.0], [-(2.0**-127), 2.0**-128]], np.float32
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
    "red.global.add.f32 [%at], %value;\n    mov.f32 %old, 0f00000000;",
)


def float_adds(driver: Driver, cached: ObjectCache | None) -> frozenset[str]:
    """Names of the float types to which memory adds by itself, to the bit; what was found is kept on disk."""
    device = driver.device
    key = "" if cached is None else cached.key("adds", device.name, str(device.capability), str(device.driver), _TEXT)
    known = None if cached is None else cached.read(key)
    if known is None:
        known = bytes([all(_is_right(driver, operation) for operation in _OPERATIONS)])
        if cached is not None:
            cached.write(key, known)
    return ALWAYS | {"f32"} if known == b"\1" else ALWAYS


def _is_right(driver: Driver, operation: str) -> bool:
    """Whether additions of subnormal numbers give what IEEE 754 says."""
    module = driver.load(driver.link(_TEXT.replace("OPERATION", operation)))
    memory = driver.allocate(_CASES.nbytes)
    try:
        driver.upload(memory, _CASES)
        driver.launch(driver.function(module, "adds"), len(_CASES), memory)
        found = np.empty_like(_CASES)
        driver.download(memory, found)
    finally:
        driver.free(memory)
        driver.unload(module)
    wanted = _CASES[:, 0] + _CASES[:, 1]
    return found[:, 0].tobytes() == wanted.tobytes()
