"""From LLVM text to AMD's assembly, and to code objects that a driver loads."""

from __future__ import annotations

from functools import cache
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared.jit import accepted, emitted, parsed
from adstack.errors import AdstackArgumentError

from .linker import linked

__all__ = ["PROCESSORS", "assembly", "code_object"]

PROCESSORS: Final = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
"""CDNA 2 and 3, whose waves have 64 threads, and RDNA 2, 3 and 4, whose waves have 32."""
_TRIPLE: Final = "amdgcn-amd-amdhsa"


def assembly(text: str, processor: str) -> str:
    """The assembly of a module; see `code_object`."""
    machine = _machine(processor)
    module = _optimised(text, machine)
    with accepted():
        listing: str = machine.emit_assembly(module)
    return listing


def code_object(text: str, processor: str) -> bytes:
    """A module's code object, which a driver loads as it is.

    Args:
        text: of a module of `codegen`.
        processor: one of `PROCESSORS`.

    Raises:
        AdstackArgumentError: there is no such processor among those.
        InternalError: LLVM refuses the text.
    """
    machine = _machine(processor)
    return linked(emitted(machine, _optimised(text, machine)))


def _machine(processor: str) -> llvm.TargetMachine:
    if processor not in PROCESSORS:
        raise AdstackArgumentError(f"no code is made for {processor!r}", do=f"use one of {', '.join(PROCESSORS)}")
    return _created(processor)


@cache
def _created(processor: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(_TRIPLE).create_target_machine(cpu=processor, opt=3)


def _optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module, parsed, verified and optimised.

    LLVM's own pipeline has what no pass that llvmlite offers by itself does: it infers address spaces, and which of the
    values that the hardware sets up for a kernel are used at all.
    """
    head = f'target triple = "{_TRIPLE}"\ntarget datalayout = "{machine.target_data}"\n'
    module = parsed(head + text)
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module
