"""The schedule of checkpointing: it does what it must, with the fewest blocks run again that there can be."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from adstack.autodiff.checkpointing.schedule import (
    Checkpoints,
    actions,
    emit_stride,
    forward_blocks,
    repetitions,
    stride,
)
from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import i64

BLOCKS, SNAPSHOTS = range(60), range(1, 9)


@cache
def fewest(blocks: int, snapshots: int) -> int:
    """By trying every place of the next snapshot."""
    if blocks <= 1:
        return 0
    if snapshots == 1:
        return blocks * (blocks - 1) // 2
    return min(m + fewest(m, snapshots) + fewest(blocks - m, snapshots - 1) for m in range(1, blocks))


@pytest.mark.parametrize("snapshots", SNAPSHOTS)
def test_the_formula_gives_the_fewest_blocks_that_any_schedule_runs_again(snapshots: int) -> None:
    assert [forward_blocks(n, snapshots) for n in BLOCKS] == [fewest(n, snapshots) for n in BLOCKS]


@pytest.mark.parametrize("snapshots", SNAPSHOTS)
def test_the_schedule_takes_no_more_and_reverses_every_block_from_its_state(snapshots: int) -> None:
    for blocks in BLOCKS:
        held, state, reversed_, runs = {0: 0}, 0, [], [0] * blocks
        for what, a, b in actions(blocks, snapshots):
            if what == "advance":
                assert a in (state, max(held.values(), default=0))
                state = b
                for block in range(a, b):
                    runs[block] += 1
            elif what == "snapshot":
                assert a == state
                assert b < snapshots
                held = {slot: at for slot, at in held.items() if slot < b} | {b: a}
            else:
                assert a in (state, *held.values())
                reversed_.append(a)
                held = {slot: at for slot, at in held.items() if at < a}
                state = max(held.values(), default=0)
        assert reversed_ == list(range(blocks))[::-1]
        assert sum(runs) == forward_blocks(blocks, snapshots)
        assert max(runs, default=0) <= repetitions(blocks, snapshots)


def test_kernels_compute_the_same_strides() -> None:
    blocks, snapshots = np.meshgrid(np.arange(2, 70, dtype=np.int64), np.arange(1, 40, dtype=np.int64))
    cases = [(int(n), int(s)) for n, s in zip(blocks.ravel(), snapshots.ravel(), strict=True)]
    cases += [(10**9, 3), (10**12, 60), (2**40, 7), (10**6, 2), (10**9, 1), (5, 10**9)]
    assert strides_in_a_kernel(cases) == [stride(n, s) for n, s in cases]


def strides_in_a_kernel(cases: list[tuple[int, int]]) -> list[int]:
    names = {name: Place(name, i64, (len(cases),)) for name in ("blocks", "snapshots", "found")}
    b = Builder()
    body = Region([Value(i64)])
    with b.into(body):
        index = body.args
        taken = emit_stride(b, b.load(names["blocks"], index), b.load(names["snapshots"], index))
        b.store(names["found"], index, taken)
        b.yield_()
    b.parallel_for([(b.const(0, i64), b.const(len(cases), i64))], body)
    b.return_()
    memory = dict(zip(names, (*np.array(cases, np.int64).T.copy(), np.zeros(len(cases), np.int64)), strict=True))
    run(Kernel("strides", b.region, names), memory)
    strides: list[int] = memory["found"].tolist()
    return strides


@pytest.mark.parametrize(("snapshots", "block"), [(0, 1), (1, 0), (-3, 5)])
def test_there_is_at_least_one_snapshot_and_one_trip_to_a_block(snapshots: int, block: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Checkpoints(snapshots, block)
