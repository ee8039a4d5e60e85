"""Blocks of threads as workgroups: an iteration of the task's loop is run by all threads of a workgroup.

Code around the loops over threads is run by every thread alike. A loop over threads becomes a branch that the threads
take which there are, with a barrier in front of it where `analysis/waits.py` says so. Arrays that threads share are in
the memory of the workgroup; of arrays with elements for each thread, a thread has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.shared.workgroups import TeamArrays, rows
from adstack.ir.structure import Op, Value
from adstack.ir.types import ArrayType, DType, u32, u64

from .assembly.code import Code, Num
from .assembly.module import Module
from .assembly.opcodes import BUILTIN, Storage
from .assembly.opcodes import Op as Spv

__all__ = ["WORKGROUP", "TeamCode"]

WORKGROUP: Final = 2
"""The scope of a barrier: those that wait, and those that see what was written before."""
_ORDERS: Final = 0x8 | 0x40 | 0x100
"""What is written to buffers and to the memory of the workgroup before a barrier is seen behind it."""


class TeamCode(TeamArrays[int]):
    """The arrays and threads of a task's workgroups.

    Attributes:
        thread: the number of this one in its workgroup (u32).
    """

    def __init__(self, c: Code, team: Team) -> None:
        self.c = c
        self.thread = c.let(Spv.Load, u32, c.m.builtin(BUILTIN["LocalInvocationIndex"], c.m.type(u32)))
        shared = {op.result: c.m.variable(Storage.Workgroup, _type(c.m, op, op.attrs["length"])) for op in team.shared}
        super().__init__(team, shared, {op.result: c.local(_type(c.m, op, rows(op, team))) for op in team.own})

    def wait(self, op: Op) -> None:
        """Have all threads of the workgroup wait for each other, where they must in front of an op."""
        if op in self.team.waits:
            scope = self.c.m.word(WORKGROUP)
            self.c.do(Spv.ControlBarrier, scope, scope, self.c.m.word(_ORDERS))

    def allocate(self, op: Op) -> None:
        """Set the elements of an array to 0."""
        self.wait(op)
        c, share = self.c, self.team.threads
        null = c.m.null(c.m.type(op.attrs["dtype"]))
        shared = op.result in self.shared
        if shared:
            first, step, length = self.thread, share, op.attrs["length"]
        else:
            first, step, length = c.const(0, u32), 1, rows(op, self.team)

        def iteration(carried: Sequence[Num]) -> list[Num]:
            c.do(Spv.Store, self.pointer(op.result, carried[0] if shared else carried[0] * share), null)
            return [carried[0] + step]

        c.loop([first], lambda carried: (carried[0] < length, carried), iteration)

    def pointer(self, array: Value, number: Num) -> int:
        """A pointer to the element of an array with a number."""
        assert isinstance(array.type, ArrayType)
        c, element = self.c, self.c.m.type(array.type.dtype)
        if array in self.shared:
            return c.raw(Spv.AccessChain, c.m.pointer(Storage.Workgroup, element), self.shared[array], number.id)
        if array.type.length > self.team.threads:
            own = number.signed(u64 if number.dtype.bits == 64 else u32) // self.team.threads
        else:
            own = c.const(0, u32)
        return c.raw(Spv.AccessChain, c.m.pointer(Storage.Function, element), self.own[array], own.id)


def _type(m: Module, op: Op, length: int) -> int:
    dtype: DType = op.attrs["dtype"]
    return m.array(dtype, length)
