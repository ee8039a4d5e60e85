"""From LLVM text to machine code in this process, with a cache on disk."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared.jit import LEVEL, emitted, parsed
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.room import room

from . import passes
from .machine import machine
from .machines import Code

__all__ = ["compile_text", "optimised", "warm_up"]

_START_BYTES: Final = 64 << 20


@cache
def warm_up() -> None:
    """Make code once: LLVM sets itself up with the first, which would lengthen the first call of a kernel."""
    room(_START_BYTES, "starting the compiler")
    text = "define <16 x float> @f(<16 x float> %x) {\n  %y = fadd <16 x float> %x, %x\n  ret <16 x float> %y\n}\n"
    machine().target().emit_object(llvm.parse_assembly(text))


def optimised(text: str) -> llvm.ModuleRef:
    """The module, parsed, verified and optimised, with memory for what comes then."""
    module = parsed(_told(text, machine().attributes))
    if machine().triple:
        module.triple = machine().triple
    passes.run_passes(module, machine().target(), len(text))
    return module


def _told(text: str, attributes: str) -> str:
    """A module each function of which is told something more."""
    return re.sub(r"^(attributes #\d+ = \{)", rf"\1 {attributes}", text, flags=re.MULTILINE) if attributes else text


@cache
def _recipe() -> str:
    """What decides, besides a module's text, which machine code is made of it: the passes."""
    return f"{LEVEL} {Path(passes.__file__).read_text()}"


def compile_text(text: str, cached: ObjectCache | None) -> Code:
    """Machine code for a module, from the cache if it is there."""
    runs = machine()
    key = None if cached is None else cached.key(text, *runs.made_for, *map(str, llvm.llvm_version_info), _recipe())
    image = cached.read(key) if cached is not None and key is not None else None
    if image is None:
        image = emitted(runs.target(), optimised(text))
        if cached is not None and key is not None:
            cached.write(key, image)
    return runs.load(image)
