"""What sizing tells of a program: how each element of "depths" is computed, and on what it depends."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.location import Loc
from ..ir.structure import Program
from .dependence import Dependence
from .expr import SizeExpr
from .text import Speller

__all__ = ["Size", "Sized"]


@dataclass(frozen=True)
class Size:
    """What is known of one element of "depths".

    Attributes:
        number: its index in "depths".
        task: name of the task whose adstacks it sizes.
        expr: the formula; None if the thread's code has to be run to know.
        dependence: of the task that the formula is about.
        loc: the outermost loop that is counted.
        serial: whether it is the same for all iterations.
    """

    number: int
    task: str
    expr: SizeExpr | None
    dependence: Dependence = field(repr=False)
    loc: Loc
    serial: bool

    @property
    def text(self) -> str:
        """The formula for people; "counted" where there is none."""
        if self.expr is None:
            return "counted"
        shown = Speller(self.dependence.task).formula(self.expr)
        arguments = self.dependence.arguments_in(self.expr)
        over = ", ".join(v.name or "index" for v in self.dependence.indices if v in arguments)
        return shown if self.serial else f"max over {over} of {shown}"


@dataclass(frozen=True)
class Sized:
    """A program with sizers.

    Attributes:
        program: to be compiled.
        sizes: of each element of "depths".
        reads: names of the places on which depths depend.
        transient: whether they depend on what an earlier task of the launch computes, so that they hold for one launch.
    """

    program: Program
    sizes: tuple[Size, ...] = ()
    reads: frozenset[str] = frozenset()
    transient: bool = False
