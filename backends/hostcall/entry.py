"""A compiled program as machine code of the host sees it: addresses, and what it calls where it can't go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from adstack.ir.structure import Program

__all__ = ["Context", "Entry"]


class Context(Protocol):
    """Which slot holds what, of any code generator's: see `adstack.backends.codegen_llvm.function.context`."""

    @property
    def pointers(self) -> Mapping[str, int]:
        """Place name -> the slot of its address."""

    @property
    def extents(self) -> Mapping[tuple[str, int], int]:
        """(place name, axis) -> the slot of an extent that is not known before the launch."""

    @property
    def params(self) -> tuple[int, ...]:
        """The slots of the scalar arguments, in their order."""

    @property
    def own(self) -> Mapping[str, int]:
        """The name of one of the runtime's own words -> its slot."""


@dataclass(frozen=True)
class Entry:
    """A compiled program, as machine code of the host sees it.

    Attributes:
        program: it.
        context: which slot of the context holds which argument.
        run: the address of its entry.
        slots: the address of the context.
        errors, overflow: the addresses of the reports of failed checks, and of adstacks that overflowed.
        launches: the address of the number of launches.
        results: place name -> address, of what it returns.
        long: whether it may run for long: then the interpreter's lock is released, so that other threads run meanwhile.
        failed: raises the error that was reported.
        goes_on: runs the rest of a launch that stopped for its heap.
        keep: what all these addresses point to.
        marks: place name -> slot of the address where launches note that they use its memory, if they do.
        depths: the address of the word that says which memo the depths in memory are of (see `record`), or 0.
        sized: the address of the word where a launch is told that these depths are valid.
    """

    program: Program
    context: Context
    run: int
    slots: int
    errors: int
    overflow: int
    launches: int
    results: dict[str, int]
    long: bool
    failed: Callable[[], object]
    goes_on: Callable[[int], object]
    keep: tuple[object, ...] = field(repr=False)
    marks: Mapping[str, int] = field(default_factory=dict)
    depths: int = 0
    sized: int = 0
