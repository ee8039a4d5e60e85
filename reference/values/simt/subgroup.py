"""`qd.simt.subgroup`: what the threads of a subgroup tell each other.

The threads of a block are divided into subgroups of 32, in the order of their numbers; the last one may have fewer. The
rules of `qd.simt.block.sync` hold: every thread of the block calls them, see spec/simt.md.
"""

from __future__ import annotations

from typing import Final

from ...absent import missing as _missing
from ..calling import takes
from ..kinds import KernelObject
from ._host import refused

__all__ = [
    "SIZE",
    "all_true",
    "any_true",
    "ballot",
    "broadcast",
    "group_size",
    "invocation_id",
    "reduce_add",
    "reduce_max",
    "reduce_min",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
]

SIZE: Final = 32
"""How many threads a subgroup has."""


@takes("simt.subgroup.group_size")
def group_size() -> KernelObject:
    """How many threads a subgroup has: 32, known while compiling."""
    return refused("group_size")


@takes("simt.subgroup.invocation_id")
def invocation_id() -> KernelObject:
    """The number of this thread in its subgroup, an i32."""
    return refused("invocation_id")


@takes("simt.subgroup.shuffle")
def shuffle(value: KernelObject, lane: KernelObject) -> KernelObject:
    """The value of another thread of the subgroup; of a thread that is not there, the own value."""
    return refused("shuffle")


@takes("simt.subgroup.shuffle_up")
def shuffle_up(value: KernelObject, offset: KernelObject) -> KernelObject:
    """The value of the thread whose number is smaller by `offset`; of one that is not there, the own value."""
    return refused("shuffle_up")


@takes("simt.subgroup.shuffle_down")
def shuffle_down(value: KernelObject, offset: KernelObject) -> KernelObject:
    """The value of the thread whose number is larger by `offset`; of one that is not there, the own value."""
    return refused("shuffle_down")


@takes("simt.subgroup.shuffle_xor")
def shuffle_xor(value: KernelObject, mask: KernelObject) -> KernelObject:
    """The value of the thread whose number differs in the bits of `mask`; of one that is not there, the own value."""
    return refused("shuffle_xor")


@takes("simt.subgroup.broadcast")
def broadcast(value: KernelObject, lane: KernelObject) -> KernelObject:
    """The value of one thread of the subgroup, which all ask for; where it is not there, the own value."""
    return refused("broadcast")


@takes("simt.subgroup.reduce_add")
def reduce_add(value: KernelObject) -> KernelObject:
    """The sum over the subgroup, in the order of the threads."""
    return refused("reduce_add")


@takes("simt.subgroup.reduce_min")
def reduce_min(value: KernelObject) -> KernelObject:
    """The least value of the subgroup."""
    return refused("reduce_min")


@takes("simt.subgroup.reduce_max")
def reduce_max(value: KernelObject) -> KernelObject:
    """The largest value of the subgroup."""
    return refused("reduce_max")


@takes("simt.subgroup.any_true")
def any_true(condition: KernelObject) -> KernelObject:
    """Whether the condition holds in any thread of the subgroup, a u1."""
    return refused("any_true")


@takes("simt.subgroup.all_true")
def all_true(condition: KernelObject) -> KernelObject:
    """Whether the condition holds in every thread of the subgroup, a u1."""
    return refused("all_true")


@takes("simt.subgroup.ballot")
def ballot(condition: KernelObject) -> KernelObject:
    """A u32 with a bit for each thread of the subgroup: whether the condition holds there."""
    return refused("ballot")


def __getattr__(name: str) -> object:
    raise _missing("qd.simt.subgroup", name, __all__)
