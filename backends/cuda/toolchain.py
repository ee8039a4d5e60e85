"""From LLVM text to PTX, to machine code of the device, and to the host's functions that launch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared.compiler import Recipe, Target
from adstack.backends.shared.compiling import compiled
from adstack.backends.shared.jit import PLAIN, Library, host_target, linked, made_for
from adstack.backends.shared.object_cache import ObjectCache

from .played.blocks import COROUTINE

__all__ = ["NEWEST", "Code", "architecture", "host_code", "ptx", "recipe"]

NEWEST: Final = (9, 0)
"""The newest architecture that code is made for; later ones run it too, as the driver translates it."""
_FEATURES: Final = "+ptx81"
_TRIPLE: Final = "nvptx64-nvidia-cuda"
_PASSES: Final = ("always_inliner", "global_dead_code_eliminate", "sroa", "instruction_combine", "simplify_cfg")


@dataclass(frozen=True)
class Code:
    """Machine code in the host's memory; it goes when this object goes."""

    library: Library
    symbols: dict[str, int]


def architecture(capability: tuple[int, int] = NEWEST) -> tuple[str, str]:
    """The processor and its features, as LLVM calls them, for a device."""
    major, minor = min(capability, NEWEST)
    return f"sm_{major}{minor}", _FEATURES


@cache
def recipe() -> str:
    """What decides, besides a module's text, which code is made of it."""
    return f"{llvm.llvm_version_info} {Path(__file__).read_text()}"


def ptx(text: str, target: tuple[str, str] | None = None) -> str:
    """PTX of a module for the device."""
    device = Target(_TRIPLE, *(target or architecture()), level=3)
    return compiled(text, Recipe(device, _PASSES, assembly=True)).decode()


def _recipe(text: str) -> Recipe:
    """How the host's code is made: only LLVM's own pipeline makes code of coroutines."""
    return Recipe(host_target(), pipeline=1) if COROUTINE in text else Recipe(host_target(), _PASSES)


def host_code(text: str, symbols: Sequence[str], cached: ObjectCache | None, *, plain: bool = False) -> Code:
    """Machine code of a module for the host, from the cache if it is there.

    Args:
        text: the module, as LLVM IR.
        symbols: the functions that are called from outside.
        cached: the cache on disk, if there is one.
        plain: leave optimisation out, which for what launches kernels takes a fifth of the time, and costs a launch
            nothing that could be measured.

    Returns:
        The code, with the address of each of the symbols.
    """
    key = "" if cached is None else cached.key(text, *made_for(), recipe(), str(plain))
    image = None if cached is None else cached.read(key)
    if image is None:
        image = compiled(text, Recipe(PLAIN) if plain else _recipe(text))
        if cached is not None:
            cached.write(key, image)
    library = linked(image, symbols)
    return Code(library, {symbol: library[symbol] for symbol in symbols})
