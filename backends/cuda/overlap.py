"""Launches that overlap: the device gets a kernel ready while the one before it ends.

It may do so for launches that say so to `cuLaunchKernelEx` (programmatic dependent launch, CUDA C++ Programming Guide),
of kernels that begin with `griddepcontrol.wait`: there a thread waits until all before has ended and is in memory. That
saves a quarter of what a short launch costs. Devices of compute capability 9.0 and later can.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

from .toolchain import Code, host_code

__all__ = ["WAIT", "can_overlap", "overlapping"]

_SINCE: Final = (9, 0)

WAIT: Final = 'call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()'
"""What a kernel begins with, in LLVM IR."""

_SERIALIZATION: Final = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""

_CONFIG: Final = {
    **{at: f"i32 %{name}" for at, name in enumerate(("gx", "gy", "gz", "bx", "by", "bz", "shared"))},
    8: "ptr %stream",
    10: "ptr @attributes",
    12: "i32 1",
}
"""What stands in a CUlaunchConfig, by words of 32 bits."""

_STORES: Final = "".join(
    f"  %at{at} = getelementptr i32, ptr %config, i64 {at}\n  store {value}, ptr %at{at}\n"
    for at, value in _CONFIG.items()
)

_TEXT: Final = f"""
@function = internal global ptr null
%attribute = type {{ i32, i32, i32, [60 x i8] }}
@attributes = internal constant %attribute {{ i32 {_SERIALIZATION}, i32 0, i32 1, [60 x i8] zeroinitializer }}, align 8
define void @adstack.set(ptr %function) {{
  store ptr %function, ptr @function
  ret void
}}
define i32 @adstack.overlapping(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %stream,
    ptr %params, ptr %extra) {{
  %config = alloca [14 x i32], align 8
{_STORES}  %function = load ptr, ptr @function
  %code = call i32 %function(ptr %config, ptr %f, ptr %params, ptr %extra)
  ret i32 %code
}}
"""
"""A function that is called as cuLaunchKernel is; it fills a CUlaunchConfig."""


def can_overlap(capability: tuple[int, int]) -> bool:
    """Whether devices of a compute capability can."""
    return capability >= _SINCE


@cache
def _code() -> Code:
    return host_code(_TEXT, ["adstack.set", "adstack.overlapping"], None)


def overlapping(launch: int) -> int:
    """The address of a function that launches so, with the signature of cuLaunchKernel.

    Args:
        launch: the address of cuLaunchKernelEx.
    """
    code = _code()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.symbols["adstack.set"])(launch)
    return code.symbols["adstack.overlapping"]
