"""LLVM's passes for code of devices: functions are inlined and cleaned up, and the code generator does the rest."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from .jit import parsed, pass_builder

__all__ = ["optimised", "recipe"]


def optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module, parsed, verified and cleaned up."""
    module = parsed(text)
    _passes().run(module, pass_builder(machine))
    return module


@cache
def recipe() -> str:
    """What decides, besides a module's text, what becomes of it here."""
    return f"{llvm.llvm_version_info} {Path(__file__).read_text()}"


@cache
def _passes() -> llvm.ModulePassManager:
    """The passes are listed once: LLVM keeps 5 KiB of each list that was run."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes
