"""What the code of a task needs to know of the task, and what a running task may report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adstack.backends.shared.thread_code import Frame
from adstack.ir.structure import Op

from .assembly.code import Num
from .memory import Address
from .rows import Rows

__all__ = ["TaskFrame"]


@dataclass(kw_only=True)
class TaskFrame(Frame[Num, Address]):
    """What the code of one task needs to know of it.

    Attributes:
        own: where the launch reports, by name: "errors", "overflow", "print".
        keys: of the random streams, by name: "seed", "launch" (u32).
        thread, threads: the number of this thread, and how many there are (u64).
        rows: of the thread in the adstack heap, if the task has any.
        in_bounds: guarded accesses -> the axes on which they are in bounds in the launches that the code is for.
        counter: a variable that counts the random numbers drawn (u32), if any are.
    """

    own: dict[str, Address]
    keys: dict[str, Num]
    thread: Num
    threads: Num
    rows: Rows | None = None
    counter: int = 0
    in_bounds: Mapping[Op, tuple[int, ...]] = field(default_factory=dict)
