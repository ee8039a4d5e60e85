"""From LLVM text to PTX, to machine code of the device, and to the host's functions that launch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared import device_passes
from adstack.backends.shared.device_passes import optimised
from adstack.backends.shared.jit import (
    Library,
    accepted,
    emitted,
    generator,
    linked,
    made_for,
    parsed,
    target_machine,
)
from adstack.backends.shared.object_cache import ObjectCache

__all__ = ["NEWEST", "Code", "architecture", "host_code", "ptx", "recipe"]

NEWEST: Final = (9, 0)
"""The newest architecture that code is made for; later ones run it too, as the driver translates it."""
_FEATURES: Final = "+ptx81"


@dataclass(frozen=True)
class Code:
    """Machine code in the host's memory; it goes when this object goes."""

    library: Library
    symbols: dict[str, int]


@cache
def _device_machine(processor: str, features: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu=processor, features=features, opt=3)


def architecture(capability: tuple[int, int] = NEWEST) -> tuple[str, str]:
    """The processor and its features, as LLVM calls them, for a device."""
    major, minor = min(capability, NEWEST)
    return f"sm_{major}{minor}", _FEATURES


@cache
def recipe() -> str:
    """What decides, besides a module's text, which code is made of it."""
    return f"{device_passes.recipe()} {Path(__file__).read_text()}"


def ptx(text: str, target: tuple[str, str] | None = None) -> str:
    """PTX of a module for the device."""
    machine = _device_machine(*(target or architecture()))
    module = optimised(text, machine)
    with accepted():
        assembly: str = machine.emit_assembly(module)
    return assembly


@cache
def _plain_machine() -> llvm.TargetMachine:
    target_machine()  # makes LLVM ready
    return generator(0)


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
        machine = _plain_machine() if plain else target_machine()
        image = emitted(machine, parsed(text) if plain else optimised(text, machine))
        if cached is not None:
            cached.write(key, image)
    library = linked(image, symbols)
    return Code(library, {symbol: library[symbol] for symbol in symbols})
