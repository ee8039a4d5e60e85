"""What is known of a kernel in another mode, apart from how it is made: nothing of differentiation is loaded for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..ir.ops import LOAD, PLACE_WRITES
from ..ir.structure import Kernel, Op

if TYPE_CHECKING:
    from ..autodiff.checkpoint_plan import CheckpointPlan
    from ..autodiff.checkpointing.schedule import Checkpoints
    from ..autodiff.emission.journal import Log

__all__ = ["Derived", "JournalMode", "Recipe", "has_outputs", "inputs"]


class Recipe(Protocol):
    """How a reverse mode is made again with checkpoints."""

    def plan(self, levels: int = 1) -> CheckpointPlan:
        """What checkpoints take, of so many levels of nested loops.

        Raises:
            AdstackDataAccessError: if the kernel can't have any.
        """

    def made(self, checkpoints: Checkpoints) -> Derived:
        """The same reverse mode with these checkpoints."""


@dataclass(frozen=True)
class Derived:
    """A kernel in another mode.

    Attributes:
        kernel: to be lowered and launched with the arguments of the one that it comes from.
        beside: name of a place that comes with the launch -> the primal place that it stands beside. In reverse mode it
            must hold what the primal held before the forward launch.
        marks: name of a place of zeros that comes with the launch, too, for marks -> what it stands beside.
        sites: the accesses that leave marks, by number.
        recipe: how to make a reverse mode again with checkpoints; None where that can't be.
    """

    kernel: Kernel
    beside: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    sites: Sequence[Op | None] = ()
    recipe: Recipe | None = None


@dataclass(frozen=True)
class JournalMode:
    """A launch that logs, and the reverse mode that reads the logs.

    Attributes:
        forward: does what the kernel does; `silent`: the same, but it neither prints nor asserts, or None if that is no
            difference.
        backward: the reverse mode.
        logs, sheets: see `journal.py`.
    """

    forward: Kernel
    silent: Kernel | None
    backward: Derived
    logs: Sequence[Log]
    sheets: int


def inputs(kernel: Kernel) -> set[str]:
    """Names of the places of real numbers that the kernel reads."""
    reads = (op.attrs["place"] for op in kernel.body.walk() if op.opdef is LOAD)
    read = {place for place in reads if place.dtype.is_float and place.role == "primal" and place.kind != "temp"}
    return {place.name for place in read}


def has_outputs(kernel: Kernel) -> bool:
    """Whether the kernel writes or returns real numbers; if not, there is nothing to differentiate."""
    writes = (op.attrs["place"] for op in kernel.body.walk() if op.opdef in PLACE_WRITES)
    return any(dtype.is_float for dtype in kernel.returns) or any(
        place.dtype.is_float and place.role == "primal" and place.kind != "temp" for place in writes
    )
