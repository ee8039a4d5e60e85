"""What LLVM makes of a module's text: machine code, in whatever process this runs.

As a script it does so once, for the process that started it (see `compiling`): the recipe and the text come in, the
code goes out. So this file imports nothing but llvmlite, and needs no more memory than LLVM does.
"""

from __future__ import annotations

import json
import os
import sys
import weakref
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]  # where llvmlite is

import llvmlite.binding as llvm

__all__ = ["REFUSED", "Recipe", "Target", "code", "machine", "optimised", "request"]

REFUSED: Final = 3
"""How the script ends where LLVM refuses the text: it writes why."""
_FIRST_TO_END: Final = "1000"
"""For the system, where it is short of memory: this process may end, and the one that waits for it need not."""


@dataclass(frozen=True)
class Target:
    """A kind of machine, and how LLVM makes code for it.

    Attributes:
        triple: what LLVM calls it; "" for that of this process.
        processor: its name, as LLVM calls it; "" for any.
        features: what the processor can do besides, as LLVM writes it.
        level: how hard the code generator tries, from 0 to 3.
        reloc, codemodel: where code may stand, and how far from what it calls, as LLVM calls that.
        jit: whether the code is for the process that makes it.
    """

    triple: str = ""
    processor: str = ""
    features: str = ""
    level: int = 2
    reloc: str = "default"
    codemodel: str = "jitdefault"
    jit: bool = False


@dataclass(frozen=True)
class Recipe:
    """How code is made of a module.

    Attributes:
        target: what for.
        passes: names of llvmlite's passes over the module, without `add_` and `_pass`, in order.
        assembly: whether text is wanted, in place of an object.
        pipeline: the level of LLVM's own pipeline, without what vectorises and unrolls, in place of passes; 0 for none.
    """

    target: Target
    passes: tuple[str, ...] = ()
    assembly: bool = False
    pipeline: int = 0


@cache
def machine(target: Target) -> llvm.TargetMachine:
    """LLVM's code generator. RuntimeError if LLVM refuses."""
    if target.triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        kind = llvm.Target.from_triple(target.triple)
    else:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        kind = llvm.Target.from_default_triple()
    return kind.create_target_machine(
        cpu=target.processor,
        features=target.features,
        opt=target.level,
        reloc=target.reloc,
        codemodel=target.codemodel,
        jit=target.jit,
    )


@cache
def _manager(passes: tuple[str, ...]) -> llvm.ModulePassManager:
    """The passes are listed once: LLVM keeps 5 KiB of each list that was run."""
    manager = llvm.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    return manager


def _parsed(text: str) -> llvm.ModuleRef:
    """A module in a context of its own: what LLVM makes for it, constants and types, would stay in the process's.

    Disposing of a module whose context is gone ends the process, and the garbage collector disposes of both in any
    order where a cycle has led to them. The finalizer's reference keeps the context out of what is collected then.
    """
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context=context)
    weakref.finalize(module, _dropped, context).atexit = False
    return module


def _dropped(context: llvm.ContextRef) -> None:
    """Called once a module is gone: holds its context until then, to which the module refers."""


def optimised(text: str, recipe: Recipe) -> llvm.ModuleRef:
    """The module, parsed, verified and with the passes run over it. RuntimeError if LLVM refuses it."""
    module = _parsed(text)
    module.verify()
    if recipe.target.triple:
        module.triple = recipe.target.triple
    if recipe.passes or recipe.pipeline:
        options = llvm.create_pipeline_tuning_options(speed_level=recipe.pipeline or 2)
        if recipe.pipeline:
            options.loop_vectorization = options.slp_vectorization = False
            options.loop_interleaving = options.loop_unrolling = False
        # a builder serves one module: a run leaves callbacks in it that point to what the run had on its stack
        builder = llvm.create_pass_builder(machine(recipe.target), options)
        manager = builder.getModulePassManager() if recipe.pipeline else _manager(recipe.passes)
        manager.run(module, builder)
    return module


def code(text: str, recipe: Recipe) -> bytes:
    """An object, or the assembly, of a module. RuntimeError if LLVM refuses it."""
    module, generator = optimised(text, recipe), machine(recipe.target)
    image: bytes = generator.emit_assembly(module).encode() if recipe.assembly else generator.emit_object(module)
    return image


def request(text: str, recipe: Recipe) -> bytes:
    """What the script reads."""
    return json.dumps({"recipe": asdict(recipe), "text": text}).encode()


def _serve() -> int:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_FIRST_TO_END)
    except OSError:
        pass  # a system that does not ask which process to end
    asked = json.loads(sys.stdin.buffer.read())
    target = Target(**asked["recipe"].pop("target"))
    recipe = Recipe(target, **{**asked["recipe"], "passes": tuple(asked["recipe"]["passes"])})
    try:
        image, ended = code(asked["text"], recipe), 0
    except RuntimeError as error:
        image, ended = str(error).encode(), REFUSED
    sys.stdout.buffer.write(image)
    sys.stdout.buffer.flush()
    return ended


if __name__ == "__main__":
    os._exit(_serve())
