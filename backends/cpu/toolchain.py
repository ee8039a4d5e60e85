"""From LLVM text to machine code in this process, with a cache on disk."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import llvmlite.binding as llvm

from adstack.backends.llvm.cache import ObjectCache
from adstack.errors import InternalError

from . import passes
from .capability import host

__all__ = ["Code", "compile_text", "optimised", "runtime_library", "target_machine", "warm_up"]

_LEVEL = 1
_counter = itertools.count()


@dataclass(frozen=True)
class Code:
    """Machine code in memory; it goes when this object goes.

    Attributes:
        library: keeps the code alive.
        entry: address of `run`.
    """

    library: Any
    entry: int


@cache
def target_machine() -> Any:
    """LLVM's code generator for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = host()
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=_LEVEL, jit=True)


@cache
def warm_up() -> None:
    """Make code once: LLVM sets itself up with the first, which would lengthen the first call of a kernel."""
    text = "define <16 x float> @f(<16 x float> %x) {\n  %y = fadd <16 x float> %x, %x\n  ret <16 x float> %y\n}\n"
    target_machine().emit_object(llvm.parse_assembly(text))


@cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=False, suppress_errors=True)


def optimised(text: str) -> Any:
    """The module, parsed, verified and optimised."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the code generated for it: {error}\n{text}") from error
    passes.run_passes(module, target_machine())
    return module


@cache
def _recipe() -> str:
    """What decides, besides a module's text, which machine code is made of it: the passes."""
    return f"{_LEVEL} {Path(passes.__file__).read_text()}"


def compile_text(text: str, cached: ObjectCache | None) -> Code:
    """Machine code for a module, from the cache if it is there."""
    machine = target_machine()
    key = None if cached is None else cached.key(text, *host(), *map(str, llvm.llvm_version_info), _recipe())
    image = cached.read(key) if cached is not None and key is not None else None
    if image is None:
        image = machine.emit_object(optimised(text))
        if cached is not None and key is not None:
            cached.write(key, image)
    library = (
        llvm.JITLibraryBuilder()
        .add_object_img(image)
        .export_symbol("run")
        .add_current_process()
        .link(_jit(), f"adstack{next(_counter)}")
    )
    return Code(library, library["run"])


def runtime_library(
    text: str, symbols: Sequence[str], cached: ObjectCache | None, imports: Mapping[str, int] = MappingProxyType({})
) -> Any:
    """The backend's own code, written as it should run: symbol -> address, of those asked for."""
    key = None if cached is None else cached.key(text, *map(str, llvm.llvm_version_info))
    image = None if cached is None or key is None else cached.read(key)
    if image is None:
        target_machine()  # knows the target from here on
        quick = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
        image = quick.emit_object(llvm.parse_assembly(text))
        if cached is not None and key is not None:
            cached.write(key, image)
    builder = llvm.JITLibraryBuilder().add_object_img(image)
    for symbol in symbols:
        builder.export_symbol(symbol)
    for symbol, address in imports.items():
        builder.import_symbol(symbol, address)
    return builder.add_current_process().link(_jit(), f"adstack{next(_counter)}")
