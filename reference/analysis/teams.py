"""Teams: the blocks of a parallel loop whose threads a device may run side by side, as the frontend has marked them.

An iteration of such a loop is a block. Its body is code that all threads of the block would run alike, arrays that they
have together, and `for`s with the attribute "team", whose iterations are the threads: what each does between two waits.
The marks say what only the program can promise: that in such a `for` no iteration touches what another one writes,
except by atomics. An array is marked "shared", or "updated" if there are updates that were atomic before they became a
load and a store.

Every pass takes a team for the serial loops that it is, and what passes make of it may be a team no more. Then, and
where there is anything whose result depends on the order of threads, `team_of` finds none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ir.ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ARRAY_STORE,
    ASSERT,
    ATOMIC,
    FOR,
    IF,
    LOAD,
    PLACE_WRITES,
    PRINT,
    RANDOM,
    STACK_OPS,
    STORE,
    WHILE,
    YIELD,
)
from ..ir.scalar_ops import ADD, MUL, SHL
from ..ir.structure import Op, Place, Region, Value
from .exclusivity import may_overlap
from .facts import integer
from .shared_updates import Update, updates_of
from .waits import waits

__all__ = ["Team", "team_of"]

_IN_ORDER = frozenset({RANDOM, PRINT, ASSERT, *STACK_OPS})
"""What threads of a block do one after another."""


@dataclass(frozen=True)
class Team:
    """What a device needs to know of the blocks of a loop.

    Attributes:
        threads: of a block; the last block may use fewer.
        shared: the arrays whose elements several threads touch.
        own: the arrays that have elements for each thread, which no other touches: those whose numbers are the
            thread's, modulo `threads`.
        waits: the loops over threads, allocations and loads in front of which all threads wait for each other.
        updates: the stores to shared arrays that are updates of elements which others update, too: a load, an operation
            and the store must be one atomic instruction.
    """

    threads: int
    shared: tuple[Op, ...]
    own: tuple[Op, ...]
    waits: frozenset[Op]
    updates: Mapping[Op, Update]


def team_of(loop: Op, *, coherent: bool = False, atomics: Collection[int] = ()) -> Team | None:
    """What the blocks of a `parallel_for` are; None if its iterations are no blocks that can run so.

    Args:
        loop: the `parallel_for`.
        coherent: whether a thread of the device sees what others of its block have written to places, once all have
            waited for each other; if not, only what was written to shared arrays.
        atomics: bits of the integers of shared arrays that threads of the device update atomically.
    """
    body = loop.regions[0]
    loops = [op for op in body.walk() if "team" in op.attrs and op.opdef is FOR]
    sizes = {op.attrs["team"] for op in loops}
    if len(sizes) != 1:
        return None
    search = _Search(body, sizes.pop(), coherent=coherent)
    if not search.alike(body) or not all(map(search.is_apart, loops)):
        return None
    own = [op for op in search.arrays if search.is_own(op)]
    shared = [op for op in search.arrays if op not in own]
    updates = search.updates(shared, loops, atomics)
    if updates is None:
        return None
    return Team(search.threads, tuple(shared), tuple(own), waits(body, {op.result for op in shared}), updates)


class _Search:
    """Looks whether a body is that of a team.

    Attributes:
        threads: of a block.
        arrays: what allocates those that the threads have together.
        coherent: see `team_of`.
    """

    def __init__(self, body: Region, threads: int, *, coherent: bool) -> None:
        self.threads, self.coherent = threads, coherent
        self.arrays = [op for op in body.ops if op.opdef is ARRAY_ALLOC]
        self._handles = {op.result: op for op in self.arrays}
        self._writing = [op for op in body.walk() if op.opdef in PLACE_WRITES]
        self._before: list[Op] = []
        self._index_of: dict[Op, Value] = {}

    def alike(self, region: Region) -> bool:
        """Whether all threads may run what stands around the loops over threads, with the same values."""
        return all(self._is_alike(op) for op in region.ops)

    def _is_alike(self, op: Op) -> bool:
        if op.opdef is FOR and "team" in op.attrs:
            return self._is_phase(op)
        if op.opdef is FOR or op.opdef is WHILE:
            return all(self.alike(region) for region in (*op.regions, *op.regions))  # the second time round, too
        if op.opdef is IF:
            return all(map(self.alike, op.regions))
        if op.opdef is LOAD:
            return not self._is_among(op, self._writing)
        if op.opdef is ARRAY_LOAD:
            return op.operands[0] in self._handles
        if op.opdef is ARRAY_ALLOC:
            return op.result in self._handles and "team" in op.attrs
        return op.opdef.pure or op.opdef is YIELD

    def _is_phase(self, op: Op) -> bool:
        """Whether threads may do side by side what they do between two waits.

        Where places are not coherent, nothing may rely on what another thread has stored to one before the wait.
        """
        inside = list(op.regions[0].walk())
        if integer(op.operands[0]) != 0 or len(op.operands) != 2 or any(o.opdef in _IN_ORDER for o in inside):
            return False
        for access in inside:
            self._index_of[access] = op.regions[0].args[0]
            if self.coherent:
                continue
            rivals = self._before if access.opdef is LOAD else [o for o in self._before if o.opdef is STORE]
            if access.opdef in (LOAD, ATOMIC) and self._is_among(access, rivals):
                return False
        self._before += [o for o in inside if o.opdef in PLACE_WRITES]
        return True

    def _is_among(self, access: Op, others: list[Op]) -> bool:
        place: Place = access.attrs["place"]
        return any(o.attrs["place"] == place or may_overlap(o.attrs["place"], place) for o in others)

    def is_apart(self, loop: Op) -> bool:
        """Whether no update of the loop over threads relies on others not to run at the same time."""
        for op in loop.regions[0].walk():
            if op.opdef is FOR and "team" in op.attrs:
                return False
            if op.opdef is ATOMIC and op.attrs.get("sums") == "own":
                return False
        return True

    def updates(self, shared: Sequence[Op], loops: Sequence[Op], atomics: Collection[int]) -> dict[Op, Update] | None:
        """The stores that must be part of atomic updates; None if some may have to be of which that can't be made."""
        found: dict[Op, Update] = {}
        for array in shared:
            stores = [op for op in _accesses(array) if op.opdef is ARRAY_STORE]
            if array.attrs["team"] != "updated" or all(op.operands[1] is self._index_of[op] for op in stores):
                continue
            updates = updates_of(array.result, loops, atomics)
            if updates is None:
                return None
            found |= updates
        return found

    def is_own(self, array: Op) -> bool:
        """Whether each thread touches elements of its own alone."""
        if array.attrs["length"] % self.threads:
            return False
        return all(op in self._index_of and self._is_own_index(op) for op in _accesses(array))

    def _is_own_index(self, op: Op) -> bool:
        """Whether the number of an element is that of the thread, modulo the threads of a block."""
        index, thread = op.operands[1], self._index_of[op]
        if index is thread:
            return "guarded" not in op.attrs
        maker = index.op
        if maker is None or maker.opdef is not ADD or thread not in maker.operands:
            return False
        (row,) = [v for v in maker.operands if v is not thread] or [thread]
        return self._is_row(row)

    def _is_row(self, value: Value) -> bool:
        """Whether an integer is a multiple of the threads of a block."""
        number, maker = integer(value), value.op
        if number is not None:
            return number % self.threads == 0
        if maker is None or maker.opdef not in (MUL, SHL):
            return False
        factor = integer(maker.operands[1])
        if factor is None:
            return False
        return (factor if maker.opdef is MUL else 1 << factor if 0 <= factor < 31 else 1) % self.threads == 0


def _accesses(array: Op) -> Iterator[Op]:
    for op in array.result.uses:
        if op.opdef in (ARRAY_LOAD, ARRAY_STORE):
            yield op
