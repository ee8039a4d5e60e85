"""From LLVM text to AMD's assembly, and to code objects that a driver loads."""

from __future__ import annotations

from typing import Final

from adstack.backends.shared.compiler import Recipe, Target, machine
from adstack.backends.shared.compiling import compiled
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.errors import AdstackArgumentError

from .linker import linked

__all__ = ["PROCESSORS", "assembly", "code_object"]

PROCESSORS: Final = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
"""CDNA 2 and 3, whose waves have 64 threads, and RDNA 2, 3 and 4, whose waves have 32."""
_TRIPLE: Final = "amdgcn-amd-amdhsa"


def assembly(text: str, processor: str) -> str:
    """The assembly of a module; see `code_object`."""
    return _compiled(text, processor, assembly=True).decode()


def code_object(text: str, processor: str, *, keep: bool = False) -> bytes:
    """A module's code object, which a driver loads as it is.

    Args:
        text: of a module of `codegen`.
        processor: one of `PROCESSORS`.
        keep: whether it may be kept on disk, and taken from there.

    Raises:
        AdstackArgumentError: there is no such processor among those.
        AdstackMemoryError: there is no memory for LLVM.
        InternalError: LLVM refuses the text.
    """
    cached = ObjectCache(default_folder()) if keep else None
    key = ObjectCache.key(text, processor, _TRIPLE)
    image = None if cached is None else cached.read(key)
    if image is None:
        image = linked(_compiled(text, processor))
        if cached is not None:
            cached.write(key, image)
    return image


def _compiled(text: str, processor: str, *, assembly: bool = False) -> bytes:
    """What LLVM makes of a module.

    LLVM's own pipeline has what no pass that llvmlite offers by itself does: it infers address spaces, and which of the
    values that the hardware sets up for a kernel are used at all.
    """
    if processor not in PROCESSORS:
        raise AdstackArgumentError(f"no code is made for {processor!r}", do=f"use one of {', '.join(PROCESSORS)}")
    target = Target(_TRIPLE, processor, level=3)
    head = f'target triple = "{_TRIPLE}"\ntarget datalayout = "{machine(target).target_data}"\n'
    return compiled(head + text, Recipe(target, assembly=assembly, pipeline=1))
