"""PTX to read: what becomes of a program on NVIDIA's devices, on any machine."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.structure import Program

from .codegen import emit_module
from .toolchain import ptx

__all__ = ["Listing", "emit_program"]


@dataclass(frozen=True)
class Listing:
    """The PTX of a program."""

    text: str


def emit_program(program: Program) -> Listing:
    """The kernels of a program, for the newest devices that LLVM is asked for."""
    module = emit_module(program, debug=False, adds={"f32": 0, "f64": 0}, host=False, pairs=True)
    return Listing(ptx(module.text))
