"""Which machine runs the code of this process."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

from .emulated import Emulated
from .host import Host
from .machines import Machine

__all__ = ["EMULATED", "emulated", "machine"]

EMULATED: Final = "ADSTACK_CPU_EMULATED"
"""The environment variable that names the emulated processor, if there is to be one: "aarch64"."""


def emulated() -> str:
    """The name of the emulated processor; "" where code runs on the processor of this process."""
    return os.environ.get(EMULATED, "")


@cache
def machine() -> Machine:
    """What runs code, in this process."""
    return Emulated(emulated()) if emulated() else Host()
