"""The source of a program, with what the device can't do refused by name."""

from __future__ import annotations

from adstack.backends.codegen_msl.tasks import Emitted, emit_program
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program

from .capability import DTYPES

__all__ = ["emit_module"]


def emit_module(program: Program, *, debug: bool) -> Emitted:
    """Every task of a program as a kernel function of one source.

    Raises:
        BackendUnavailableError: it needs floats of 64 bits, or atomic updates of 64 bits that can't be built.
    """
    for place in program.places.values():
        if place.dtype not in DTYPES:
            raise BackendUnavailableError(
                f"{place.called} holds {place.dtype}, a type that the Metal Shading Language does not have",
                do=f"use one of {', '.join(t.name for t in DTYPES)}, or another arch",
            )
    return emit_program(program, debug=debug)
