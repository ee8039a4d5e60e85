"""The functions of a task: any piece of a loop may run at any time; the count says how many iterations there are."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from cpu_kit import PIECES, Pieces, tasks_of

from adstack.backends.codegen_llvm.function.context import Context


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_any_pieces_of_a_loop_make_the_whole(lanes):
    pieces = Pieces(lanes)
    random = Random(lanes)
    for rows, columns in ((3, 5), (2, 70), (9, 64), (2, 1), (40, 7)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        y, total = np.zeros_like(x), np.zeros(1, np.int64)
        context = pieces.context(rows, columns, x=x, y=y, sum=total)
        count = (rows - 1) * columns
        assert pieces.count(context) == count
        cuts = sorted({0, count, *(random.randint(0, count) for _ in range(4))})
        ranges = list(pairwise(cuts))
        random.shuffle(ranges)
        for done, (begin, end) in enumerate(ranges):
            pieces.task(context, begin, end)
            assert np.count_nonzero(y) == sum(e - b for b, e in ranges[: done + 1])
        assert (y[1:] == 2 * x[1:]).all()
        assert not y[0].any()
        assert total[0] == count


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (0, 5), (-7, 5), (5, 0), (5, -1)])
def test_an_empty_box_counts_nothing(rows, columns):
    pieces = Pieces(8)
    nothing = np.zeros((0, 0), np.float32)
    assert pieces.count(pieces.context(rows, columns, x=nothing, y=nothing, sum=np.zeros(1, np.int64))) == 0


def test_every_part_of_a_context_has_a_slot_of_its_own():
    context = Context.of(tasks_of(PIECES))
    slots = [*context.params, *context.pointers.values(), *context.extents.values(), *context.own.values()]
    assert sorted(slots) == list(range(context.size))
    assert set(context.extents) == {("x", 0), ("x", 1), ("y", 0), ("y", 1)}
