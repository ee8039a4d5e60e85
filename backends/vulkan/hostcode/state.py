"""What is recorded on a stream and not handed over yet, as words that Python and machine code share.

The protocol:

- Who holds the lock of the device's memory and stream reads and writes the words: Python's methods of `Stream`, and the
  machine code of `recorder`, which tries the lock without waiting, keeps the interpreter's lock meanwhile, and calls
  nothing of Python's until it is done.
- `commands` is the command buffer of the batch being recorded; 0 while there is none, and then the words about it say
  nothing. Only Python begins a batch and hands one over; machine code leaves it to Python to do so.
- A launch takes `used` to `used + size` of the batch's arena for its words, where there is room, and counts in
  `dispatches` what it dispatches.
- Launches of one serial task that follow each other are one dispatch. It stands in the words from `pipeline` to
  `repeats` until something else is recorded, or the batch is handed over; `pipeline` is 0 if there is none. `first`,
  `count` and `stride` stand side by side as the shader is told them.
- Where memory is bound, `set` and `layout` are of the dispatch that waits, or of the next: before they change, what
  waits is recorded. `given` is bound already, if `bound` is the pipeline as well.
- Whoever records a launch notes `batch`, the number that the batch will have, in every piece of memory that it uses.
"""

from __future__ import annotations

import ctypes
from typing import Final

from adstack.backends.hostcall.assembly import load

__all__ = ["ARENA", "BARRIER", "LAUNCHES", "LONGEST_RUN", "STATE", "State", "state_words"]

ARENA: Final = 256 << 10
"""Bytes of the words of a batch."""
LAUNCHES: Final = 256
"""How many dispatches make a batch full."""
LONGEST_RUN: Final = 64
"""How many launches are one dispatch: some systems end those that take long."""

BARRIER: Final = "i32 6144, i32 6144, i32 0, i32 1"
"""What a barrier is told: between compute and transfer, and compute and transfer; without flags; one of memory."""

_WORDS: Final = (
    ("commands", "the command buffer"),
    ("host", "where the host writes the arena of the batch"),
    ("address", "where the device reads it"),
    ("used", "bytes of it that are taken"),
    ("dispatches", "since the batch began, those that became one counted each"),
    ("batch", "the number that the batch will have"),
    ("bound", "the pipeline that is bound, or 0"),
    ("pipeline", "the pipeline of the dispatch that is not recorded yet, or 0"),
    ("groups", "its workgroups"),
    ("repeats", "whether its pipeline can be told of several launches"),
    ("first", "the address of the words of its first launch"),
    ("count", "how many launches it is"),
    ("stride", "how far apart their words are; 0 while there is one"),
    ("recorded", "how many dispatches have been recorded in all"),
    ("layout", "of its pipeline, and of all where nothing is bound"),
    ("set", "the descriptor set that it finds, or 0 where nothing is bound"),
    ("given", "the descriptor set that was bound last"),
    ("between", "the barrier between dispatches"),
    ("order", "vkCmdPipelineBarrier"),
    ("bind", "vkCmdBindPipeline"),
    ("push", "vkCmdPushConstants"),
    ("give", "vkCmdBindDescriptorSets"),
    ("dispatch", "vkCmdDispatch"),
    ("copy", "vkCmdCopyBuffer"),
)
_HALVES: Final = ("count", "stride")


class State(ctypes.Structure):
    """The words, by name: see `_WORDS`."""

    count: int
    stride: int
    _fields_ = tuple((name, ctypes.c_uint32 if name in _HALVES else ctypes.c_uint64) for name, _ in _WORDS)

    @property
    def place(self) -> int:
        """Where machine code finds it."""
        return ctypes.addressof(self)

    def joins(self, pipeline: int, address: int) -> bool:
        """Let the dispatch that is not recorded yet be one launch more, if that is like its launches, and its words
        stand behind theirs.
        """
        if pipeline != self.pipeline or not self.repeats or self.count == LONGEST_RUN:
            return False
        stride = self.stride or address - self.first
        if not 0 < stride < 1 << 32 or address != self.first + self.count * stride:
            return False
        self.count, self.stride = self.count + 1, stride
        return True

    def defer(self, pipeline: int, address: int, groups: int, *, repeats: bool) -> None:
        """Have a dispatch that is not recorded yet."""
        self.pipeline, self.first, self.groups, self.repeats = pipeline, address, groups, repeats
        self.count, self.stride = 1, 0


STATE: Final = {name: int(getattr(State, name).offset) for name, _ in _WORDS}
"""How many bytes from the start each word stands."""


def state_words(**wanted: str) -> str:
    """Load words of `%state`: name -> type."""
    return "\n".join(load(f"%{name}", kind, "%state", STATE[name]) for name, kind in wanted.items())
