"""A tape in the block of a graph: `Taped`, the calls that each launch of the graph makes under such a tape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..gradients.tapes.tape import Tape

if TYPE_CHECKING:
    from ..runtime.memory.buffers import Buffer
    from .recorded import Step

__all__ = ["Taped"]

Called = tuple[Callable[..., object], tuple[object, ...], dict[str, object]]
"""What was called, with its arguments."""


@dataclass
class Taped:
    """What a block of a graph does under a tape.

    What a tape keeps depends on the memory of the launch, so that the calls are made anew each time. The tape follows
    what it has learned of them.

    Attributes:
        tape: as the block opened it; each launch has one of its own like it.
        calls: in order.
        steps: those of kernels and of their reverse modes, as the graph has checked them.
    """

    tape: Tape
    calls: list[Called] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What was called, as it is written."""
        return f"Tape({', '.join(step.title for step in self.steps)})"

    @property
    def buffers(self) -> list[Buffer]:
        """All memory that it works on, as far as that is known before a launch."""
        return [buffer for step in self.steps for buffer in step.buffers]

    def run(self) -> None:
        """Make the calls, and differentiate the loss."""
        asked = self.tape
        with Tape(asked.loss.data, asked.clear_gradients, asked.validation, asked.grad_check):
            for function, args, kwargs in self.calls:
                function(*args, **kwargs)
