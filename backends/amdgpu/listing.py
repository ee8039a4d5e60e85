"""Assembly to read: what becomes of a program on AMD's devices, on any machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adstack.ir.structure import Program

from .codegen import emit_module
from .toolchain import assembly

__all__ = ["PROCESSOR", "Listing", "emit_program"]

PROCESSOR: Final = "gfx1100"
"""Which processor's assembly is shown where none is named."""


@dataclass(frozen=True)
class Listing:
    """The assembly of a program."""

    text: str


def emit_program(program: Program, processor: str = PROCESSOR) -> Listing:
    """The kernels of a program; AdstackArgumentError if no code is made for the processor."""
    return Listing(assembly(emit_module(program, debug=False).text, processor))
