"""The passes in order: `optimize(kernel)`, and `lower(kernel)`, which optimises and makes tasks.

Both leave the kernel they are given as it is. With ADSTACK_VERIFY=1 in the environment the verifier runs before the
first pass and after every one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Protocol

from ..errors import IRError
from ..ir.structure import Kernel, Program, Region
from ..ir.verify.verifier import verify
from .loops.licm import licm
from .math.lower import lower_math
from .memory.forward import forward
from .memory.scalar_replacement import replace_arrays
from .rewriting.options import DEFAULT, Options
from .rewriting.rewrite import clone_kernel
from .scalar.cse import cse
from .scalar.dce import dce
from .scalar.fold import fold
from .scalar.simplify import simplify
from .tasks.tasks import split

__all__ = ["PASSES", "STAGES", "Observer", "lower", "optimize"]

Pass = Callable[[Region, Options], None]
Observer = Callable[[str, "Kernel | Program"], None]
"""Called after each stage, with its name and the IR as it is then; it may read it, not keep it."""

PASSES: Final[tuple[tuple[str, Pass], ...]] = (
    ("fold", fold),
    ("simplify", simplify),
    ("promote", replace_arrays),
    ("cse", cse),
    ("forward", forward),
    ("simplify-2", simplify),
    ("licm", licm),
    ("cse-2", cse),
    ("dce", dce),
)
"""Simplify and cse make equal indices one value, which forward needs; what it finds is simplified in turn. Cse merges
what licm brought together, and dce sweeps up after all."""

STAGES: Final = ("frontend", *(name for name, _ in PASSES), "math", "tasks")
"""The names of what an observer of `lower` sees."""


class Wanted(Protocol):
    """What the pipeline needs of a caller's options."""

    @property
    def debug(self) -> bool: ...

    @property
    def fast_math(self) -> bool: ...


def optimize(
    kernel: Kernel, options: Wanted = DEFAULT, observe: Observer | None = None, *, keep_accesses: bool = False
) -> Kernel:
    """A kernel that computes the same, to the bit, with less. For `keep_accesses` see `Options`."""
    kernel, settings = clone_kernel(kernel), Options(options.debug, keep_accesses)
    _done("frontend", kernel, observe)
    for name, run in PASSES:
        run(kernel.body, settings)
        _done(name, kernel, observe)
    return kernel


def lower(kernel: Kernel, options: Wanted = DEFAULT, observe: Observer | None = None) -> Program:
    """The optimised kernel as tasks, its transcendentals as calls of the math library."""
    settings = Options(options.debug, keep_loops=True, fast_math=options.fast_math)
    kernel = optimize(kernel, options, observe)
    lower_math(kernel.body, settings)
    _done("math", kernel, observe)
    program = split(kernel, settings)
    for task in program.tasks:
        for run in (simplify, cse, dce):
            run(task.body, settings)
    _done("tasks", program, observe)
    return program


def _done(stage: str, root: Kernel | Program, observe: Observer | None) -> None:
    if os.environ.get("ADSTACK_VERIFY") == "1":
        try:
            verify(root)
        except IRError as error:
            raise IRError(f"after {stage}: {error.message}", loc=error.loc, note=error.note, do=error.do) from error
    if observe is not None:
        observe(stage, root)
