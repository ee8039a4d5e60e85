"""What LLVM does to a module before it makes code of it.

The code that arrives is simplified, free of common subexpressions, hoisted out of loops and vectorised already: what is
left is to inline, to give names to what stands in memory, and to clean up what emitting one operation after the other
left behind. The standard pipeline takes ten times as long and gains nothing over this on what we generate. Loops come
with their test at the end: to turn those that don't, LLVM takes time that grows with the square of what they carry.
"""

from __future__ import annotations

from typing import Final

__all__ = ["passes"]

_LONG: Final = 200_000
"""Letters of a module as text, from which on it takes less time to combine instructions first than to select more."""
_PASSES: Final = ("always_inliner", "global_dead_code_eliminate", "sroa", "simplify_cfg")
_LONG_PASSES: Final = ("always_inliner", "global_dead_code_eliminate", "sroa", "instruction_combine", "simplify_cfg")


def passes(length: int) -> tuple[str, ...]:
    """LLVM's passes over a module, in order, as `compiler.Recipe` names them; `length` is that of its text."""
    return _LONG_PASSES if length >= _LONG else _PASSES
