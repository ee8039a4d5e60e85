"""What LLVM does to a module before it makes code of it.

The code that arrives is simplified, free of common subexpressions, hoisted out of loops and vectorised already: what is
left is to inline, to give names to what stands in memory, and to clean up what emitting one operation after the other
left behind. The standard pipeline takes ten times as long and gains nothing over this on what we generate. Loops come
with their test at the end: to turn those that don't, LLVM takes time that grows with the square of what they carry.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.shared.jit import pass_builder

__all__ = ["run_passes"]

_LONG: Final = 200_000
"""Letters of a module as text, from which on it takes less time to combine instructions first than to select more."""


def run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, length: int = 0) -> None:
    """Optimise a module in place, for a machine; `length` is that of its text."""
    _passes(long=length >= _LONG).run(module, pass_builder(machine))


@cache
def _passes(*, long: bool) -> llvm.ModulePassManager:
    """The passes are listed once: LLVM keeps 5 KiB of each list that was run."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    if long:
        passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes
