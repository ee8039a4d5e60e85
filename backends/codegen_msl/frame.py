"""What the code of a task needs to know of the task, and what a running task may report."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.backends.shared.thread_code import Frame

from .rows import Rows

__all__ = ["TaskFrame"]


@dataclass(kw_only=True)
class TaskFrame(Frame[str, str]):
    """What the code of one task needs to know of it, as names in its text.

    Attributes:
        iteration: the linear index of the iteration (u64).
        rows: of the thread in the adstack heap, if the task has any.
        counter: a variable that counts the random numbers drawn (u32), if any are.
        leaves: whether a thread may end before the others, with an error.
    """

    iteration: str = "0ul"
    rows: Rows | None = None
    counter: str = ""
    leaves: bool = False
