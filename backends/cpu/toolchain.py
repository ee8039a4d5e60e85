"""From LLVM text to machine code in this process, with a cache on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared.jit import LEVEL, Library, linked, made_for, parsed, target_machine
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.room import room

from . import passes

__all__ = ["Code", "compile_text", "optimised", "target_machine", "warm_up"]


_START_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Code:
    """Machine code in memory; it goes when this object goes.

    Attributes:
        library: keeps the code alive.
        entry: address of `run`.
    """

    library: Library
    entry: int


@cache
def warm_up() -> None:
    """Make code once: LLVM sets itself up with the first, which would lengthen the first call of a kernel."""
    room(_START_BYTES, "starting the compiler")
    text = "define <16 x float> @f(<16 x float> %x) {\n  %y = fadd <16 x float> %x, %x\n  ret <16 x float> %y\n}\n"
    target_machine().emit_object(llvm.parse_assembly(text))


def optimised(text: str) -> llvm.ModuleRef:
    """The module, parsed, verified and optimised, with memory for what comes then."""
    module = parsed(text)
    passes.run_passes(module, target_machine(), len(text))
    return module


@cache
def _recipe() -> str:
    """What decides, besides a module's text, which machine code is made of it: the passes."""
    return f"{LEVEL} {Path(passes.__file__).read_text()}"


def compile_text(text: str, cached: ObjectCache | None) -> Code:
    """Machine code for a module, from the cache if it is there."""
    machine = target_machine()
    key = None if cached is None else cached.key(text, *made_for(), *map(str, llvm.llvm_version_info), _recipe())
    image = cached.read(key) if cached is not None and key is not None else None
    if image is None:
        image = machine.emit_object(optimised(text))
        if cached is not None and key is not None:
            cached.write(key, image)
    library = linked(image, ["run"])
    return Code(library, library["run"])
