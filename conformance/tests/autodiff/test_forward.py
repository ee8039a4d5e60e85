"""Forward mode: primal results unchanged to the bit, tangents that finite differences confirm."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from ad_kit import Program, check_dot, check_forward
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

import adstack as qd
from adstack.autodiff.forward import forward
from adstack.autodiff.places import in_lane
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel, Place
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize


def duals_of(kernel: Kernel) -> dict[str, Place]:
    return {
        p.name: Place(f"{p.name}.dual", p.dtype, p.shape, p.kind, "dual", p.name)
        for p in kernel.places.values()
        if p.dtype.is_float and p.kind in ("field", "ndarray")
    }


@pytest.mark.parametrize("seed", range(40))
def test_primal_results_are_those_of_the_kernel(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    duals = duals_of(kernel)
    changed = forward(optimize(kernel, keep_accesses=True), duals)
    verify(changed)
    plain, with_duals = random_buffers(kernel, seed), random_buffers(kernel, seed)
    with_duals.update({d.name: np.zeros_like(plain[name]) for name, d in duals.items()})
    params, texts = random_params(kernel, seed), []
    for root, buffers in ((kernel, plain), (lower(changed), with_duals)):
        printed: list[str] = []
        run(root, buffers, params, options=RunOptions(stdout=printed.append))
        texts.append("".join(printed))
    assert texts[0] == texts[1]
    assert [name for name in plain if not same_bits(plain[name], with_duals[name])] == []


@pytest.mark.parametrize("seed", range(40, 60))
def test_tangents_are_linear_in_the_direction(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    duals = duals_of(kernel)
    changed = lower(forward(optimize(kernel, keep_accesses=True), duals))
    rng = np.random.default_rng(seed)
    results = []
    first = random_buffers(kernel, seed)
    directions = {name: np.asarray(rng.normal(size=first[name].shape), first[name].dtype) for name in duals}
    for scale in (1.0, 4.0):
        buffers: dict[str, Any] = copy.deepcopy(first)
        for name, dual in duals.items():
            buffers[dual.name] = np.asarray(directions[name] * scale, directions[name].dtype)
        run(changed, buffers, random_params(kernel, seed), options=RunOptions(stdout=lambda text: None))
        results.append({dual.name: buffers[dual.name] for dual in duals.values()})
    for name, once in results[0].items():
        with np.errstate(all="ignore"):
            four = once * once.dtype.type(4)
        normal = np.isfinite(four) & (np.abs(once) > 1e3 * np.finfo(once.dtype).tiny) & np.isfinite(results[1][name])
        assert same_bits(four[normal], results[1][name][normal])


def test_nothing_is_computed_where_no_dual_reaches() -> None:
    text = wrap(
        """
        place @a : f32[4] field
        place @b : f32[4] field
        %0 = const 0 : i32
        %1 = load @a[%0] : f32
        %2 = mul %1, %1 : f32
        store @b[%0], %2
        return
        """
    )
    kernel = kernel_of(text)
    dual = Place("b.dual", kernel.places["b"].dtype, (4,), "field", "dual", "b")
    changed = print_ir(forward(kernel, {"b": dual}))
    assert changed.count("mul") == 1
    assert "store @b.dual" in changed


def straight(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            a = qd.sin(x[i]) * qd.exp(x[i + 1]) / (1.0 + x[i] * x[i])
            y[i] = a + qd.sqrt(x[i]) * qd.log(x[i + 1]) - qd.tanh(x[i]) ** 3 + qd.atan2(x[i], x[i + 1])

    return run


def adds(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            y[i % 3] += x[i] * x[i] * x[0]

    return run


def loops(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            a, b = x[i], 1.0
            for j in range(i + 4):
                a, b = b * 0.5 + qd.sin(a), a * x[j % 4]
            y[i] = a + b

    return run


def whiles(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            a, n = x[i], 0
            while a < 40.0:
                a = a * (1.0 + x[i + 1]) + 0.3
                n += 1
                if n > 20:
                    break
            y[i] = a * n

    return run


def branches(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            a = 0.0
            if x[i] > 1.0:
                a = x[i] * x[i + 1]
            elif x[i + 1] > 1.0:
                a = qd.max(x[i], 0.9 * x[i + 1]) ** 2
            else:
                a = qd.min(x[i], x[i + 1]) * 3.0
            y[i] = a if i != 1 else qd.abs(a - 1.0)

    return run


def vectors(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            v = qd.Vector([x[i], x[i + 1], x[0]])
            m = qd.Matrix([[x[i], 1.0, 0.2], [0.1, x[3], x[1]], [x[2], 0.3, 2.0]])
            w = m @ v
            for k in range(3):
                w[k] = w[(k + 1) % 3] * v[k] + w.dot(v)
            y[i] = w.norm() + w[i] * m.determinant()

    return run


def across_tasks(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        total = 0.0
        for i in x:
            total += x[i] * x[i]
        scale = qd.sqrt(total)
        for i in y:
            y[i] = x[i] / scale + total

    return run


def in_place(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            y[i] = y[i] * x[i]
            y[i] = y[i] * y[i] + x[i + 1]

    return run


def winners(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            qd.atomic_max(y[0], x[i] * x[i] * x[0])
            qd.atomic_min(y[1], x[i] * x[1])
        for i in range(1):
            qd.atomic_mul(y[2], x[1])

    return run


def old_values(x: Any, y: Any) -> Any:
    @qd.kernel
    def run():
        for i in y:
            old = qd.atomic_add(y[i], x[i] * x[i])
            y[i] *= old

    return run


PROGRAMS = [straight, adds, loops, whiles, branches, vectors, across_tasks, in_place, winners, old_values]
REFUSED = {in_place, winners, old_values}


@pytest.mark.parametrize("arch", ["reference", "cpu"])
@pytest.mark.parametrize("make", PROGRAMS)
def test_tangents_agree_with_finite_differences(make: Any, arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    for seed in range(3):
        check_forward(Program(make, seed=seed))


@pytest.mark.parametrize("make", [make for make in PROGRAMS if make not in REFUSED])
def test_forward_and_reverse_are_transposes_of_each_other(make: Any) -> None:
    qd.init(arch=qd.reference, default_fp=qd.f64)
    for seed in range(3):
        program = Program(make, seed=seed)
        check_dot(program, program.run)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100_000), st.integers(2, 4))
def test_each_lane_is_what_one_direction_gives(seed: int, lanes: int) -> None:
    kernel = random_kernel(seed, 60)
    optimized, duals = optimize(kernel, keep_accesses=True), duals_of(kernel)
    every = [{name: in_lane(dual, lane) for name, dual in duals.items()} for lane in range(lanes)]
    rng, params = np.random.default_rng(seed), random_params(kernel, seed)
    start = random_buffers(kernel, seed)
    tangents = [{name: rng.normal(size=start[name].shape) for name in duals} for _ in range(lanes)]

    def launched(*which: int) -> tuple[dict[str, Any], list[float], list[str]]:
        memory, printed = copy.deepcopy(start), list[str]()
        for place, lane in enumerate(which):
            for name, values in tangents[lane].items():
                memory[every[place][name].name] = np.asarray(values, start[name].dtype)
        changed = forward(optimized, *every[: len(which)])
        verify(changed)
        return memory, [*run(lower(changed), memory, params, options=RunOptions(stdout=printed.append))], printed

    memory, returned, printed = launched(*range(lanes))
    real = sum(dtype.is_float for dtype in kernel.returns)
    for lane in range(lanes):
        alone, returned_alone, printed_alone = launched(lane)
        assert printed == printed_alone
        assert all(same_bits(memory[name], alone[name]) for name in start)
        assert all(same_bits(memory[every[lane][name].name], alone[dual.name]) for name, dual in duals.items())
        first = len(kernel.returns)
        assert np.array_equal(returned[first + lane :: lanes][:real], returned_alone[first:], equal_nan=True)
