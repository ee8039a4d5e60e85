"""Walking a record backwards: adjoints of what was read, from adjoints of what was written."""

from __future__ import annotations

from functools import singledispatchmethod

import numpy as np

from ..interpreter.lanes import Array
from ..ir.opdef import OpDef
from ..ir.ops import TABLE
from ..ir.pulls import Saved
from .adjoints import Adjoint
from .beside import Beside
from .numbers import Num
from .recorder import swapped
from .trace import Arg, Atomic, Load, Move, Node, Record, Scalar, Storage, Store

__all__ = ["Walker"]


class Walker:
    """The adjoints of nodes and storages while a record is walked.

    Args:
        beside: what the record carries along: it says in which numbers adjoints are computed.
    """

    def __init__(self, beside: Beside) -> None:
        self.beside = beside
        self._nodes: dict[Node, Adjoint] = {}
        self._storages: dict[Storage, Adjoint] = {}
        self._constant: set[Storage] = set()

    def of(self, storage: Storage) -> Adjoint:
        """The adjoint of a storage; nothing is connected at first."""
        if storage not in self._storages:
            self._storages[storage] = self.beside.adjoint(storage.dtype, storage.own.size)
        return self._storages[storage]

    def of_node(self, node: Node) -> Adjoint:
        """The adjoint of a node."""
        if node not in self._nodes:
            self._nodes[node] = self.beside.adjoint(node.dtype, len(node.own))
        return self._nodes[node]

    def cut(self, storage: Storage) -> None:
        """This storage has no adjoint: whatever it holds is constant."""
        self._constant.add(storage)

    def walk(self, tape: list[Record]) -> None:
        """From the last record to the first."""
        for record in reversed(tape):
            self.back(record)

    @singledispatchmethod
    def back(self, record: Record) -> None:
        """Undo one record."""
        raise TypeError(record)

    @back.register
    def _(self, record: Scalar) -> None:
        adjoint = self._nodes.get(record.result)
        if adjoint is None:
            return
        at = record.result.at(record.frame)
        connected = adjoint.live[at]
        if connected.all():
            where = [node.at(record.frame) for node in record.operands]
            args = [node.of(record.frame) for node in record.operands]
            self._pull(record.row, adjoint.read(at), args, record.result.of(record.frame), record.operands, where)
            return
        live = np.flatnonzero(connected)
        if not len(live):
            return
        where = [node.at(record.frame)[live] for node in record.operands]
        args = [node.read(spot) for node, spot in zip(record.operands, where, strict=True)]
        self._pull(record.row, adjoint.read(at[live]), args, record.result.read(at[live]), record.operands, where)

    def _pull(
        self, row: OpDef, change: Num, args: list[Arg], result: Arg, nodes: tuple[Node, ...], where: list[Array]
    ) -> None:
        saved = [self.beside.number(arg) for arg in args]
        for pull, node, spot in zip(row.pulls or (), nodes, where, strict=True):
            if pull is not None and node.dtype.is_float:
                shown = {letter: number for letter, number in zip("xyz", saved, strict=False) if letter in pull.needs}
                if "r" in pull.needs:
                    shown["r"] = self.beside.number(result)
                self.of_node(node).add(spot, pull.map(change, Saved(**shown)))

    @back.register
    def _(self, record: Move) -> None:
        adjoint = self._nodes.get(record.target)
        if adjoint is not None:
            at = record.target.at(record.frame)
            self.of_node(record.source).add(record.source.at(record.frame), adjoint.read(at))

    @back.register
    def _(self, record: Load) -> None:
        self._was_read(record.storage, record.at, record.result, record.result.at(record.frame))

    @back.register
    def _(self, record: Store) -> None:
        adjoint = self.of(record.storage)
        # several lanes at one element: the last one's value stayed
        _, last = np.unique(record.at[::-1], return_index=True)
        chosen = len(record.at) - 1 - last
        at = record.at[chosen]
        self.of_node(record.value).add(record.value.at(record.frame)[chosen], adjoint.read(at))
        adjoint.clear(at)

    @back.register
    def _(self, record: Atomic) -> None:
        adjoint, at = self.of(record.storage), record.at
        spots = [node.at(record.frame)[record.chosen] for node in record.operands]
        change = adjoint.read(at)
        if record.old is None:
            self.of_node(record.operands[0]).add(spots[0], change)
            return
        adjoint.clear(at)
        args = [node.read(spot) for node, spot in zip(record.operands, spots, strict=True)]
        self._give_back(record, change, args, spots)
        assert record.result is not None
        self._was_read(record.storage, at, record.result, record.chosen)

    def _was_read(self, storage: Storage, at: Array, node: Node, spots: Array) -> None:
        """What was read from a storage gives its adjoint back, unless it counts as constant."""
        adjoint = self._nodes.get(node)
        if adjoint is not None and storage not in self._constant:
            self.of(storage).add(at, adjoint.read(spots))

    def _give_back(self, record: Atomic, change: Num, args: list[Arg], spots: list[Array]) -> None:
        """What an element became goes back to what it was and to the operand."""
        adjoint, node, old = self.of(record.storage), record.operands[-1], record.old
        assert old is not None
        if record.kind == "xchg":
            self.of_node(node).add(spots[-1], change)
        elif record.kind == "cas":
            taken = Num(old.dtype, swapped(old, args[0]))
            self.of_node(node).add(spots[-1], taken.where(change, 0.0))
            adjoint.add(record.at, taken.where(0.0, change))
        else:
            saved = Saved(self.beside.number(old), self.beside.number(args[0]))
            to_old, to_value = TABLE[record.kind].pulls or ()
            assert to_old is not None
            assert to_value is not None
            adjoint.add(record.at, to_old.map(change, saved))
            self.of_node(node).add(spots[-1], to_value.map(change, saved))
