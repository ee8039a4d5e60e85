"""The passes in order: `optimize(kernel)`, and `lower(kernel)`, which optimises and makes tasks.

Both leave the kernel they are given as it is. With ADSTACK_VERIFY=1 in the environment the verifier runs before the
first pass and after every one, and what a pass says it preserves is computed once more and compared; with `ends`, it
sees what comes in, and what leaves `optimize` and `lower`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ..analysis.manager import Analyses, Preserved
from ..errors import IRError
from ..ir.structure import Kernel, Program, Region
from ..ir.verify.verifier import asked, verify
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

__all__ = ["PASSES", "STAGES", "Observer", "Pass", "lower", "optimize"]

Observer = Callable[[str, "Kernel | Program"], None]
"""Called after each stage, with its name and the IR as it is then; it may read it, not keep it."""


Pass = Callable[[Region, Options, Analyses], Preserved]
"""Changes a region in place, with what analyses know of it; gives the analyses whose results are what they were."""

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

_ENDS: Final = (STAGES[0], PASSES[-1][0], STAGES[-1])


class Wanted(Protocol):
    """What the pipeline needs of a caller's options."""

    @property
    def debug(self) -> bool:
        """Whether the program will run with its checks on."""

    @property
    def fast_math(self) -> bool:
        """Whether math functions may be the variants that fast_math licenses."""


def optimize(
    kernel: Kernel, options: Wanted = DEFAULT, observe: Observer | None = None, *, keep_accesses: bool = False
) -> Kernel:
    """A kernel that computes the same, to the bit, with less. For `keep_accesses` see `Options`."""
    return _optimized(kernel, options, observe, keep_accesses=keep_accesses)[0]


def _optimized(
    kernel: Kernel, options: Wanted, observe: Observer | None, *, keep_accesses: bool = False
) -> tuple[Kernel, Analyses]:
    """The optimised kernel, and what analyses know of its body."""
    kernel, settings, analyses = clone_kernel(kernel), Options(options.debug, keep_accesses), Analyses()
    _done("frontend", kernel, observe)
    for name, run in PASSES:
        _run(run, kernel.body, settings, analyses)
        _done(name, kernel, observe, analyses)
    return kernel, analyses


def lower(kernel: Kernel, options: Wanted = DEFAULT, observe: Observer | None = None) -> Program:
    """The optimised kernel as tasks, its transcendentals as calls of the math library."""
    settings = Options(options.debug, keep_loops=True, fast_math=options.fast_math)
    kernel, analyses = _optimized(kernel, options, observe)
    _run(lower_math, kernel.body, settings, analyses)
    _done("math", kernel, observe, analyses)
    program, analyses = split(kernel, settings), Analyses()
    for task in program.tasks:
        for run in (simplify, cse, dce):
            _run(run, task.body, settings, analyses)
    _done("tasks", program, observe, analyses)
    return program


def _run(run: Pass, body: Region, options: Options, analyses: Analyses) -> None:
    analyses.invalidate(run(body, options, analyses))


def _done(stage: str, root: Kernel | Program, observe: Observer | None, analyses: Analyses | None = None) -> None:
    if asked(between_passes=stage not in _ENDS):
        try:
            verify(root)
            if analyses is not None:
                analyses.check()
        except IRError as error:
            raise IRError(f"after {stage}: {error.message}", loc=error.loc, note=error.note, do=error.do) from error
    if observe is not None:
        observe(stage, root)
