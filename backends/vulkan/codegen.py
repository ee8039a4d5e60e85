"""Tasks for a Vulkan device: its traits, how many threads a workgroup has, and how many workgroups a launch gets."""

from __future__ import annotations

import os
from typing import Final

from adstack.backends.codegen_spirv.assembly.traits import Traits
from adstack.backends.codegen_spirv.tasks import Emitted, emit_program
from adstack.ir.structure import Program

__all__ = ["LOCAL_SIZE", "emit_module", "most_groups"]

LOCAL_SIZE: Final = 64
"""Threads of a workgroup in a parallel task."""
_GROUPS_ON_CPU: Final = max(16, 8 * (os.cpu_count() or 1))
"""A few for every processor: fewer threads have fewer rows of adstacks, which then stay in its cache."""
_GROUPS: Final = 2048


def emit_module(program: Program, traits: Traits, *, debug: bool) -> Emitted:
    """The shaders of a program.

    Args:
        program: the program.
        traits: what the device can do.
        debug: with checks of bounds, of operands, and of assertions.
    """
    return emit_program(program, traits, debug=debug, local_size=LOCAL_SIZE)


def most_groups(is_cpu: bool, limit: int) -> int:
    """How many workgroups keep a device busy: threads take several iterations where there are more."""
    return min(_GROUPS_ON_CPU if is_cpu else _GROUPS, limit)
