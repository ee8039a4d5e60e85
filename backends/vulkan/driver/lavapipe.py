"""Mesa's driver for the processor, which has to be told to use vectors as wide as the processor's.

It takes 8 lanes of 32 bits unless LP_NATIVE_VECTOR_WIDTH says otherwise. Shaders of 16 lanes take about half the time
where the processor has AVX-512, and as long to compile, large ones up to half as long again. It goes through bound
buffers lane by lane: there they would take minutes to compile where they now take seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["ADDRESSES", "VARIABLE", "widen"]

VARIABLE: Final = "LP_NATIVE_VECTOR_WIDTH"
ADDRESSES: Final = "ADSTACK_VULKAN_ADDRESSES"
_NEEDED: Final = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})


def widen(processor: Path = Path("/proc/cpuinfo")) -> None:
    """Before the driver is loaded, ask for 512 bits, unless the user asks for a width or the processor has less."""
    asked = VARIABLE in os.environ or os.environ.get(ADDRESSES) == "0"
    if not asked and _features(processor) >= _NEEDED:
        os.environ[VARIABLE] = "512"


def _features(processor: Path) -> frozenset[str]:
    """What Linux says that the processor has; elsewhere, nothing."""
    try:
        lines = processor.read_text().splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.split())
