"""What a launch may touch: never less than it touches, and tight where indices can be followed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

import adstack as qd
from adstack.analysis.boxes import slices
from adstack.analysis.may_access import may_access
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import AdstackRuntimeError
from adstack.interpreter import RunOptions, run
from adstack.transforms.pipeline import lower


def outside(boxes: Any, shape: Any) -> Any:
    """Where no box is."""
    mask = np.ones(shape, bool)
    for box in boxes:
        mask[slices(box)] = False
    return mask


@pytest.mark.parametrize("seed", range(40))
def test_elements_out_of_reach_stay_and_do_not_matter(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    program, params, buffers = lower(kernel), random_params(kernel, seed), random_buffers(kernel, seed)
    reach = may_access(program, params, {name: array.shape for name, array in buffers.items()})
    quiet = RunOptions(stdout=lambda text: None)
    first, second = copy.deepcopy(buffers), copy.deepcopy(buffers)
    unread = {name: outside(reach.read.get(name, ()), array.shape) for name, array in buffers.items()}
    unwritten = {name: outside(reach.written.get(name, ()), array.shape) for name, array in buffers.items()}
    for name, array in second.items():
        array[unread[name]] = 1
    try:
        returned = run(program, first, params, options=quiet)
    except AdstackRuntimeError as error:
        with pytest.raises(type(error)):
            run(program, second, params, options=quiet)
        return
    again = run(program, second, params, options=quiet)
    assert len(returned) == len(again)
    for name, array in first.items():
        assert same_bits(array[unwritten[name]], buffers[name][unwritten[name]])
        written = ~unwritten[name]
        untouched = second[name] == 1
        same = np.array([same_bits(a, b) for a, b in zip(array[written], second[name][written], strict=True)], bool)
        # what may be written and was neither read nor written keeps what the test put there
        assert np.all(same | (unread[name] & untouched)[written])


def boxes_of(kernel: Any, *args: Any) -> Any:
    specialisation, call, _ = kernel.prepared(args, {})
    shapes = {name: buffer.shape for name, buffer in call.arrays.items()}
    return specialisation.plan.compiled.reach(call.scalars, shapes)


def test_rows_of_a_history_are_told_apart() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, shape=(10, 4))

    @qd.kernel
    def step(t: qd.i32):
        for i in range(4):
            for j in range(3):
                x[t + 1, i] = x[t, (i + j) % 4] + x[t - 1, i]

    reach = boxes_of(step, 5)
    assert reach.read == {x.place.name: [((4, 5), (0, 3))]}
    assert reach.written == {x.place.name: [((6, 6), (0, 3))]}


def test_branches_clamps_and_array_arguments_are_followed() -> None:
    qd.init(arch=qd.reference)

    @qd.kernel
    def run(a: qd.types.ndarray(), n: qd.i32):
        for i in range(n):
            k = i // 2 if n > 3 else qd.min(i + 1, 4)
            a[k] = a[a.shape[0] - 1 - i] * 2.0

    array = np.zeros(20, np.float32)
    reach = boxes_of(run, array, 6)
    assert reach.read == {"a": [((14, 19),)]}
    assert reach.written == {"a": [((0, 4),)]}
    assert boxes_of(run, array, 0).written == {}


def test_what_can_not_be_followed_is_anything() -> None:
    qd.init(arch=qd.reference)
    x, n = qd.field(qd.f32, shape=10), qd.field(qd.i32, shape=10)

    @qd.kernel
    def run():
        for i in range(4):
            j = n[i]
            while j < 8:
                j += 3
            x[j] = 1.0

    reach = boxes_of(run)
    assert reach.written == {x.place.name: [((0, 9),)]}
    assert reach.read == {n.place.name: [((0, 3),)]}


def test_integers_that_wrap_are_not_followed() -> None:
    kernel = kernel_of(
        wrap(
            """
            place @x : f32[300] field
            %0 = const 200 : u8
            %1 = add %a, %0 : u8
            %2 = const 1.0 : f32
            store @x[%1], %2
            return
            """,
            "kernel @k(%a: u8) {",
        )
    )
    assert may_access(lower(kernel), [50], {}).written == {"x": [((250, 250),)]}
    assert may_access(lower(kernel), [100], {}).written == {"x": [((0, 299),)]}
