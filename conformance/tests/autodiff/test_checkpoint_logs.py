"""Nests that look up what a launch has logged: from any snapshot they find the same entries."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from checkpoint_kit import LANES, Array, Buffers, T, buffers, places
from journal_kit import launched

import adstack as qd
from adstack.autodiff.checkpoint_plan import plan_checkpoints
from adstack.autodiff.journaled import Journaled, journaled
from adstack.autodiff.overwrite.updates import ordered_updates
from adstack.autodiff.reverse import Checkpoints, reverse
from adstack.interpreter import run
from adstack.ir.structure import Kernel
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize


@qd.kernel
def ragged(x: T, w: T, y: T, n: T):
    for i in x:
        s = w[i]
        for a in range(n[i]):
            for b in range(a % 4):
                s = qd.sin(s + qd.atomic_mul(x[i], w[i]))
            s = s * x[i]
            x[i] = x[i] + 0.1 * s
        y[i] = s


@qd.kernel
def twice(x: T, w: T, y: T, n: T):
    for i in x:
        s = w[i]
        for a in range(n[i]):
            if a % 3 != 1:
                for _ in range(a % 4):
                    s = qd.cos(s) * qd.atomic_add(x[i], 0.25)
            else:
                j = 0
                while j < a % 5 and s < 30.0:
                    s = s * 0.5 + qd.atomic_mul(x[i], w[i])
                    j += 1
        for a in range(n[i] // 2):
            for _ in range(2):
                s = s + qd.atomic_mul(x[i], qd.sin(s))
        y[i] = s


@qd.kernel
def three(x: T, w: T, y: T, n: T):
    for i in x:
        s = w[i]
        a = 0
        while a < n[i]:
            for b in range(a % 3 + 1):
                s = s + 0.1 * qd.atomic_mul(x[i], w[i])
                for c in range((a + b) % 4):
                    s = qd.sin(s) * (1.5 - qd.atomic_add(x[i], 0.01 * c))
                    if c % 2 == 1:
                        w[i] = w[i] * qd.cos(s)
            a += 1
        y[i] = s + x[i]


@qd.kernel
def stopping(x: T, w: T, y: T, n: T):
    for i in x:
        s = 0.0
        for _ in range(n[i] // 4):
            j = 0
            while qd.atomic_add(x[i], 0.3) < 4.0 + s and j < 9:
                s = s * 0.75 + w[i] * x[i]
                j += 1
            x[i] = x[i] * 0.125
        y[i] = s


NAMES = {"ragged": ragged, "twice": twice, "three": three, "stopping": stopping}
SCHEMES = [Checkpoints(1, 1), Checkpoints(3, 2), Checkpoints(2, 7), Checkpoints(2, 3, 2), Checkpoints(3, 1, 3)]


@cache
def logging(name: str) -> tuple[Kernel, Journaled]:
    qd.init(arch=qd.reference)
    x, w, y = (qd.field(qd.f32, shape=LANES, needs_grad=True, name=label) for label in "xwy")
    n = qd.field(qd.i32, shape=LANES)
    kernel = optimize(ordered_updates(NAMES[name].prepared((x, w, y, n), {})[0].kernel), keep_accesses=True)
    return kernel, journaled(kernel, places(kernel))


def memory_of(kernel: Kernel, trips: list[int], seed: int) -> Buffers:
    """What a launch that has logged everything leaves, with adjoints at random."""
    _, logged = logging(next(name for name in NAMES if logging(name)[0] is kernel))
    before = buffers(kernel, trips, seed)
    _, wanted = launched(logged, before, np.zeros(2 * logged.sheets, np.int64))
    memory, again = launched(logged, before, wanted)
    assert (wanted == again).all()
    return memory


def gradients(kernel: Kernel, memory: Buffers) -> dict[str, Array]:
    memory = {name: buffer.copy() for name, buffer in memory.items()}
    run(lower(kernel), memory)
    return {name: buffer for name, buffer in memory.items() if name.endswith(".grad")}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda c: f"{c.snapshots}, {c.block}, {c.levels}")
def test_gradients_have_the_same_bits_as_without(name: str, scheme: Checkpoints) -> None:
    kernel, logged = logging(name)
    parts = reverse(logged.source, places(kernel), journal=logged.journal, checkpoints=scheme)
    parts.places.update({log.place.name: log.place for log in logged.logs})
    verify(parts)
    for seed, trips in enumerate([[1, 2, 3, 0, 6, 0], [9, 17, 5, 0, 8, 10]]):
        memory = memory_of(kernel, trips, seed)
        wanted, got = gradients(logged.backward, memory), gradients(parts, memory)
        assert {k: v.tobytes() for k, v in got.items()} == {k: v.tobytes() for k, v in wanted.items()}, trips
        assert any((wanted[key] != memory[key]).any() for key in wanted)


@pytest.mark.parametrize("name", NAMES)
def test_no_loop_is_refused_and_a_snapshot_holds_no_more_for_more_trips(name: str) -> None:
    kernel, logged = logging(name)
    plan = plan_checkpoints(logged.source, places(kernel), journal=logged.journal, levels=3)
    assert plan.loops
    assert not plan.refused
    assert all(sum(loop.state.values()) <= 12 for loop in plan.loops)
