"""Blocks of threads: what leaves the frontend, and what waits may stand in."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.frontend import lower
from adstack.ir.ops import LOAD
from adstack.ir.structure import Kernel
from adstack.values.simt import block, subgroup
from adstack.values.specs import Request


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def lowered(body: Any) -> Kernel:
    return lower(Request(body, (), None, SimpleNamespace())).kernel


def arrays(kernel: Kernel) -> list[int]:
    return sorted(op.attrs["length"] for op in kernel.body.walk() if op.name == "array.alloc")


@pytest.mark.parametrize("module", [block, subgroup])
def test_on_the_host_each_function_says_where_it_belongs(module: Any) -> None:
    for name in module.__all__:
        if name != "SIZE":
            arguments = {"shape": 1, "dtype": qd.f32, "value": 1, "condition": 1}
            taken = inspect.signature(getattr(module, name)).parameters
            with pytest.raises(qd.AdstackSyntaxError, match=f"{name} has a meaning only in a kernel"):
                getattr(module, name)(**{taker: arguments.get(taker, 0) for taker in taken})


def test_without_blocks_in_the_body_block_dim_is_a_hint() -> None:
    def plain() -> None:
        for i in range(10):
            print(i)

    def hinted() -> None:
        qd.loop_config(block_dim=64)
        for i in range(10):
            print(i)

    assert [op.name for op in lowered(plain).body.walk()] == [op.name for op in lowered(hinted).body.walk()]


def test_a_thread_keeps_what_a_later_phase_needs_and_nothing_else() -> None:
    x = qd.field(qd.i32, shape=8)

    def body() -> None:
        qd.loop_config(block_dim=4)
        for i in x:
            tile = qd.simt.block.SharedArray(7, qd.i32)
            own = x[i]
            tile[0] = own + 1
            once = own * 2
            tile[1] = once
            later = once + 1
            qd.simt.block.sync()
            x[i] = tile[0] + later

    # the shared array; `later` and the index of the iteration, for each of 4 threads
    assert arrays(lowered(body)) == [4, 4, 7]


def in_common(branch: bool) -> Kernel:
    """Threads with a loop around a wait; a variable of its condition changes in a `branch` without a wait, or not."""
    x, n = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())

    def body() -> None:
        qd.loop_config(block_dim=4)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(7, qd.i32)
            step = n[None]
            while step < 100:
                qd.simt.block.sync()
                if t > step:
                    tile[t - step] = step
                step *= n[None]
                if qd.static(branch) and step > 4:
                    step = 10
            x[i] = step + tile[0]

    return lowered(body)


def test_what_threads_have_in_common_is_computed_once() -> None:
    kernel = in_common(branch=False)
    loads = [op for op in kernel.body.walk() if op.opdef is LOAD]
    inside = {o for op in kernel.body.walk() if "team" in op.attrs for r in op.regions for o in r.walk()}
    assert arrays(kernel) == [4, 7]  # the index of the iteration, and the shared array
    assert len(loads) == 2
    assert inside.isdisjoint(loads)


def test_a_variable_that_changes_in_a_branch_is_each_threads_own() -> None:
    # besides, `step`, and whether the loop goes on
    assert arrays(in_common(branch=True)) == [4, 4, 4, 7]


def test_waits_in_operands_of_branches_on_which_all_agree() -> None:
    x, out = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)

    @qd.kernel
    def k(c: qd.i32):
        qd.loop_config(block_dim=3)
        for i in x:
            some = c > 0 and qd.simt.subgroup.any_true(x[i] > 3)
            out[i] = qd.simt.subgroup.reduce_add(x[i]) if c > 1 else -1
            out[i] += 100 * some

    x.from_numpy(np.arange(6, dtype=np.int32))
    for c, wanted in ((0, [-1] * 6), (1, [-1] * 3 + [99] * 3), (2, [3] * 3 + [112] * 3)):
        k(c)
        assert out.to_numpy().tolist() == wanted


def test_threads_of_a_block_draw_one_after_another() -> None:
    qd.init(arch=qd.reference, random_seed=5)
    x = qd.field(qd.f32, shape=4)

    @qd.kernel
    def in_blocks():
        qd.loop_config(block_dim=2)
        for i in x:
            qd.simt.block.sync()
            x[i] = qd.random(qd.f32)

    @qd.kernel
    def by_iterations():
        for i in range(2):
            for k in range(2):
                y[i, k] = qd.random(qd.f32)

    in_blocks()
    first = x.to_numpy().tolist()
    qd.init(arch=qd.reference, random_seed=5)
    y = qd.field(qd.f32, shape=(2, 2))
    by_iterations()
    assert first == y.to_numpy().ravel().tolist()


def test_a_func_that_calls_itself_has_threads_wait_where_all_come() -> None:
    x = qd.field(qd.i32, shape=4)

    @qd.real_func(max_depth=4)
    def depth(n: qd.i32) -> qd.i32:
        below = 0
        if n > 0:
            below = depth(n - 1)
        return below + n

    @qd.kernel
    def k():
        qd.loop_config(block_dim=2)
        for i in x:
            tile = qd.simt.block.SharedArray(2, qd.i32)
            tile[qd.simt.block.thread_idx()] = depth(i)
            qd.simt.block.sync()
            x[i] = tile[1 - qd.simt.block.thread_idx()]

    k()
    assert x.to_numpy().tolist() == [1, 0, 6, 3]


@pytest.mark.parametrize(
    ("owner", "name", "do"),
    [(block, "mem_sync", "block.sync"), (subgroup, "elect", "== 0"), (qd.simt, "grid", "two loops")],
)
def test_what_others_have_besides_says_what_to_write(owner: Any, name: str, do: str) -> None:
    with pytest.raises(qd.AdstackAttributeError, match=f"has no '{name}'[^$]*{do}"):
        getattr(owner, name)
