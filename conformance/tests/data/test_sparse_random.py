"""Random layouts with sparse levels: writes and deactivations leave what a set of active cells in Python says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd

AXES = {"i": (0,), "j": (1,), "ij": (0, 1)}
LEVEL = st.tuples(st.sampled_from(["pointer", "bitmasked", "hash", "dense"]), st.sampled_from(list(AXES)))
STEP = st.tuples(st.sampled_from(["kernel", "host", "drop"]), st.integers(0, 10**6))


class Model:
    """Cells that are active, by level, and what the elements hold."""

    def __init__(self, nodes: list[Any], shape: tuple[int, ...], numbers: tuple[int, ...]) -> None:
        self.nodes, self.numbers = nodes, numbers
        self.active: list[set[tuple[int, ...]]] = [set() for _ in nodes]
        self.values = np.zeros(shape, np.int32)

    def cell(self, node: Any, index: tuple[int, ...]) -> tuple[int, ...]:
        """The cell of a level in which an element lies."""
        places = dict(zip(self.numbers, zip(index, self.values.shape, strict=True), strict=True))
        sizes = zip(node.numbers, node.shape, strict=True)
        return tuple(places[a][0] // (places[a][1] // n) for a, n in sizes)

    def write(self, index: tuple[int, ...], value: int) -> None:
        self.values[index] = value
        for node, cells in zip(self.nodes, self.active, strict=True):
            cell = self.cell(node, index)
            if node.level.lists is None:
                cells.add(cell)
            else:  # the elements before it are in the list, too
                k, rank = node.level.lists.position, node.level.rank(cell)
                cells.update((*cell[:k], cell[k] - back, *cell[k + 1 :]) for back in range(rank + 1))

    def drop(self, number: int, cells: set[tuple[int, ...]]) -> None:
        """Deactivate cells of one level, and all that lies in them."""
        for index in product(*map(range, self.values.shape)):
            if self.cell(self.nodes[number], index) in cells:
                self.values[index] = 0
                for node, active in list(zip(self.nodes, self.active, strict=True))[number:]:
                    active.discard(self.cell(node, index))


@pytest.mark.usefixtures("on_reference")
@settings(max_examples=10, deadline=None)
@given(st.lists(LEVEL, min_size=2, max_size=3), st.sampled_from(["i", "j", ""]), st.lists(STEP, min_size=4, max_size=6))
def test_what_is_active_is_what_was_written_and_not_dropped(levels, lists, steps) -> None:  # type: ignore[no-untyped-def]
    node, nodes = qd.root, []
    for kind, axes in levels:
        node = getattr(node, kind)(getattr(qd, axes), 2)
        nodes += [node] if node.level is not None else []
    if lists:
        node = node.dynamic(getattr(qd, lists), 3)
        nodes.append(node)
    x, seen = qd.field(qd.i32), qd.field(qd.i32, shape=node.shape)
    node.place(x)
    model = Model(nodes, node.shape, node.numbers)
    for number, (what, random) in enumerate(steps):
        index = tuple(int(k) for k in np.unravel_index(random % model.values.size, node.shape))
        if what != "drop":
            put(x, index, number + 1, what)
            model.write(index, number + 1)
        elif nodes:
            chosen = random % len(nodes)
            drop(model, chosen, index)
    look(x, seen)
    active = model.active[-1] if nodes else None
    mask = np.array([active is None or model.cell(nodes[-1], k) in active for k in product(*map(range, node.shape))])
    assert x.to_numpy().tolist() == model.values.tolist()
    assert seen.to_numpy().reshape(-1).tolist() == mask.tolist()
    for level, cells in zip(nodes, model.active, strict=True):
        assert {k for k in product(*map(range, level.shape)) if qd.is_active(level, k)} == cells


@qd.kernel
def store(x: qd.template(), index: qd.template(), value: qd.i32):  # type: ignore[no-untyped-def, valid-type]
    x[index] = value


def put(x: Any, index: tuple[int, ...], value: int, how: str) -> None:
    if how == "host":
        x[index] = value
    else:
        store(x, index, value)


def drop(model: Model, number: int, index: tuple[int, ...]) -> None:
    node = model.nodes[number]
    cell, lists = model.cell(node, index), node.level.lists
    if lists is None:
        deactivate(node, cell)
        model.drop(number, {cell})
        return
    at = tuple(node.level.word(cell))
    deactivate(node, at)
    model.drop(number, {tuple(node.level.cell(at, k)) for k in range(lists.capacity)})


@qd.kernel
def deactivate(node: qd.template(), cell: qd.template()):  # type: ignore[no-untyped-def, valid-type]
    qd.deactivate(node, cell)


@qd.kernel
def look(x: qd.template(), seen: qd.template()):  # type: ignore[no-untyped-def, valid-type]
    for index in qd.grouped(x):
        seen[index] = 1
