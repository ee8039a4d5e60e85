"""Marks for races: who leaves any, that they change nothing, and that without a race none of them conflict."""

from __future__ import annotations

import math

import numpy as np
import pytest
from interpreter_kit import same_bits

import adstack as qd
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import run
from adstack.ir.ops import LOAD, STORE
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower
from adstack.transforms.tasks.races import BASES, BOXES, MARKS, RECORD, watched


def memory_for(watching, buffers):
    """Zeros for marks, as if no two places shared memory."""
    bases, count = [], 0
    for _, name in watching.rows:
        place = watching.program.places[name]
        bases.append((count, 1))
        count += math.prod(buffers[name].shape if name in buffers else place.shape)
    dtype, words = watching.dtype.numpy, 2 * len(watching.kinds)
    return {
        MARKS: np.zeros((count, words), dtype),
        BASES: np.array(bases, np.int64),
        BOXES: np.zeros((len(watching.axes), 2 * max(watching.axes)), np.int64),
        RECORD: np.zeros(1 + words, dtype),
    }


@pytest.mark.parametrize("wide", [True, False])
def test_marks_change_nothing_and_do_not_conflict_where_nothing_races(wide):
    marked = 0
    for seed in range(24):
        kernel = random_kernel(seed)
        program = lower(kernel)
        watching = watched(program, wide=wide, everywhere=True)
        if watching is None:
            continue
        verify(watching.program)
        plain, buffers = random_buffers(kernel, seed), random_buffers(kernel, seed)
        params, memory = random_params(kernel, seed), memory_for(watching, buffers)
        assert run(program, plain, params) == run(watching.program, {**buffers, **memory}, params)
        assert all(same_bits(plain[name], buffers[name]) for name in plain)
        assert not memory[RECORD].any()
        marked += 1
    assert marked > 12


def program_of(kernel, *args):
    specialisation, _, runtime = kernel.prepared(args, {})
    return lower(specialisation.kernel, runtime.options)


def test_iterations_that_keep_to_their_elements_leave_no_marks():
    qd.init(arch="reference", debug=True)
    x, y, total = qd.field(qd.f32, shape=(4, 5)), qd.field(qd.f32, shape=4), qd.field(qd.f32, shape=())

    @qd.kernel
    def apart():
        for i, j in x:
            x[i, j] = x[i, j] * y[i] + y[(i + 1) % 4]
            total[None] += x[i, j]
        for i in range(3):
            for j in range(5):
                x[i + 1, j] = x[i + 1, (j + 1) % 5]

    @qd.kernel
    def close():
        for i in range(4):
            for j in range(5):
                x[i, j] = x[i, (j + 1) % 5] + x[(i + 1) % 4, j]

    assert watched(program_of(apart)) is None
    watching = watched(program_of(close))
    assert len(watching.sites) == 3
    assert watching.kinds == (STORE, LOAD)
    assert len(watched(program_of(apart), everywhere=True).sites) > 3
