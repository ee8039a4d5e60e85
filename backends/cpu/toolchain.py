"""From LLVM text to machine code in this process, with a cache on disk."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared import compiler
from adstack.backends.shared.compiler import Recipe
from adstack.backends.shared.compiling import accepted, bytes_for, compiled
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.room import room

from .machine import machine
from .machines import Code
from .passes import passes

__all__ = ["compile_text", "listing", "recipe", "warm_up"]

_START_BYTES: Final = 64 << 20


@cache
def warm_up() -> None:
    """Make code once: LLVM sets itself up with the first, which would lengthen the first call of a kernel."""
    room(_START_BYTES, "starting the compiler")
    text = "define <16 x float> @f(<16 x float> %x) {\n  %y = fadd <16 x float> %x, %x\n  ret <16 x float> %y\n}\n"
    with accepted():
        compiler.code(text, Recipe(machine().target))


def recipe(text: str) -> Recipe:
    """How machine code is made of a module."""
    return Recipe(machine().target, passes(len(text)))


def listing(text: str) -> dict[str, str]:
    """A module's text as it was, as it is after the passes, and as the machine's assembly."""
    room(bytes_for(text), "compiling a kernel")
    with accepted(text):
        module = compiler.optimised(_told(text), recipe(text))
        after = str(module)
        return {"llvm": text, "llvm-opt": after, "asm": compiler.machine(machine().target).emit_assembly(module)}


def _told(text: str) -> str:
    """A module each function of which is told something more."""
    attributes = machine().attributes
    return re.sub(r"^(attributes #\d+ = \{)", rf"\1 {attributes}", text, flags=re.MULTILINE) if attributes else text


def _key(text: str, cached: ObjectCache) -> str:
    """What decides which machine code is made of a module's text."""
    return cached.key(text, *machine().made_for, *map(str, llvm.llvm_version_info), repr(recipe(text)))


def compile_text(text: str, cached: ObjectCache | None) -> Code:
    """Machine code for a module, from the cache if it is there."""
    key = None if cached is None else _key(text, cached)
    image = cached.read(key) if cached is not None and key is not None else None
    if image is None:
        image = compiled(_told(text), recipe(text))
        if cached is not None and key is not None:
            cached.write(key, image)
    return machine().load(image)
