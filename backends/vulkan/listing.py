"""SPIR-V to read: what becomes of a program on a device that keeps every rule of IEEE 754, on any machine."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.tasks import emit_program as shaders_of
from adstack.ir.structure import Program

__all__ = ["Listing", "emit_program"]


@dataclass(frozen=True)
class Listing:
    """The SPIR-V of a program, one module behind the other."""

    text: str


def emit_program(program: Program) -> Listing:
    """The shaders of a program, one for each task."""
    return Listing("\n".join(f"; {each.task.name}\n{listing(each.words)}" for each in shaders_of(program).shaders))
