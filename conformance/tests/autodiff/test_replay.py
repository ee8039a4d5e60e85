"""Launches that overwrite what their own reversal needs: run again in scratch memory under a tape, or logged."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from interpreter_kit import same_bits
from transforms_kit import kernel_of, wrap

import adstack as qd
from adstack.autodiff.overwrite.replay import with_scratch
from adstack.autodiff.reverse import reverse
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Place
from adstack.ir.types import f32
from adstack.ir.verify.verifier import verify

HEAD = """kernel @k() {
  place @x : f32[4] field
  place @y : f32[4] field
  place @t : f32[] temp"""
FRONT = "%0 = const 0 : i32\n%4 = const 4 : i32\n%k = const 1.5 : f32\n"


def accesses(body: str) -> list[str]:
    """The places that loads, stores and atomics are of when x has scratch memory, in order."""
    rewritten = with_scratch(kernel_of(wrap(f"{FRONT}{body}\nreturn", HEAD)), {"x"})
    verify(rewritten.kernel)
    return [op.attrs["place"].name for op in rewritten.kernel.body.walk() if op.name in ("load", "store", "atomic")]


def threads(body: str) -> str:
    return f"parallel_for (%i = %0 to %4) {{\n{body}\nyield\n}}\n"


def repeated(until: str) -> str:
    return f"for %j = %0 to %{until} {{\nstore @x[%0], %k\nyield\n}}"


DECIDING = {
    "the bound of a for": f"%v = load @x[%0]\n%h = cast %v : i32\n{repeated('h')}",
    "its lower bound": f"%v = load @x[%0]\n%h = cast %v : i32\n{repeated('4').replace('= %0 to', '= %h to')}",
    "an old value": f"%v = atomic add @x[%0], %k\n%h = cast %v : i32\n{repeated('h')}",
    "a condition": "while () {\n%v = load @x[%0]\n%c = lt %v, %k\nyield %c\n} do () {\nstore @x[%0], %k\nyield\n}",
    "a branch around": (
        f"%v = load @x[%0]\n%c = lt %v, %k\nif %c {{\n{repeated('4')}\nyield\n}} else {{\nstore @x[%0], %k\nyield\n}}"
    ),
    "a local array": (
        "%m = array.alloc : array<f32, 4>\n%v = load @x[%0]\narray.store %m, %0, %v\n%w = array.load %m, %0\n"
        f"%h = cast %w : i32\n{repeated('h')}"
    ),
    "what a loop carries": (
        "%l = for %i = %0 to %4 carry (%h = %0) {\n"
        f"{repeated('h')}\n%v = load @x[%0]\n%g = cast %v : i32\nyield %g\n}}"
    ),
}


@pytest.mark.parametrize("name", DECIDING)
def test_what_decides_how_often_a_loop_runs_is_not_moved(name: str) -> None:
    assert set(accesses(DECIDING[name])) == {"x"}


def test_earlier_loads_see_memory_from_before_and_later_ones_that_from_after() -> None:
    reads = "%v = load @x[%i]\nstore @y[%i], %v\n"
    body = threads(reads) + threads(reads.replace("@y", "@x").replace("%v", "%w")) + threads(reads.replace("%v", "%u"))
    assert accesses(body) == ["x.before", "y", "x.scratch", "x.scratch", "x", "y"]


def test_a_branch_without_a_loop_decides_nothing() -> None:
    body = "%v = load @x[%i]\n%c = lt %v, %k\nif %c {\nstore @x[%i], %k\nyield\n} else {\nyield\n}"
    assert set(accesses(threads(body))) == {"x.scratch"}


@pytest.mark.parametrize(
    "body",
    [
        threads("store @x[%i], %k") + threads("%o = atomic add @x[%i], %k"),
        threads("%o = atomic max @x[%i], %k"),
        threads("store @x[%i], %k\n%o = atomic add @t[], %k"),
    ],
    ids=["two writers", "an extreme", "a value for others"],
)
def test_what_can_not_be_written_again_stays(body: str) -> None:
    assert not {"x.scratch", "x.before"} & set(accesses(body))


def test_a_reverse_kernel_may_read_what_it_repeats_in_scratch_memory() -> None:
    steps = "for %j = %0 to %4 {\n%v = load @x[%i]\n%s = sin %v\nstore @x[%i], %s\nyield\n}"
    kernel = kernel_of(wrap(f"{FRONT}{threads(steps)}\nreturn", HEAD))
    rewritten = with_scratch(kernel, {"x"})
    grad = Place("x.grad", f32, (4,), "field", "grad", "x")
    scratch = rewritten.scratch["x"].name
    verify(reverse(rewritten.kernel, {"x": grad, scratch: grad}, {scratch}))
    with pytest.raises(qd.AdstackDataAccessError):
        reverse(rewritten.kernel, {"x": grad, scratch: grad})


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_means_the_same(seed: int) -> None:
    kernel = random_kernel(seed, 60)
    rewritten = with_scratch(kernel, set(kernel.places))
    verify(rewritten.kernel)
    first = random_buffers(kernel, seed)
    second = copy.deepcopy(first)
    for aliases in (rewritten.scratch, rewritten.before):
        second.update({alias.name: np.array(first[name]) for name, alias in aliases.items()})
    quiet = RunOptions(stdout=lambda text: None)
    run(kernel, first, random_params(kernel, seed), options=quiet)
    run(rewritten.kernel, second, random_params(kernel, seed), options=quiet)
    for name, array in first.items():
        where = rewritten.scratch[name].name if name in rewritten.scratch else name
        assert same_bits(array, second[where])


class World:
    """Two fields, and a loss made of the first."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=4, needs_grad=True, name="x")
        self.v = qd.field(qd.f64, shape=4, needs_grad=True, name="v")
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        x.from_numpy(np.array([0.3, 0.7, 0.9, 0.5]))
        self.v.from_numpy(np.array([0.1, 0.2, 0.3, 0.4]))

        @qd.kernel
        def total():
            for i in x:
                loss[None] += x[i] * x[i]

        self.total = total

    def check(self, kernel: Any) -> None:
        """Two launches in place; gradients agree with finite differences."""
        with qd.ad.Tape(self.loss, grad_check=[self.x, self.v]):
            kernel()
            kernel()
            self.total()
        assert np.all(self.x.grad.to_numpy() != 0.0)


def loop_in_a_thread(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            for _ in range(5):
                x[i] = x[i] * x[i] * 0.5 + 0.3 * v[i]

    return run


def loops_in_loops(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            for _ in range(3):
                for _ in range(i + 1):
                    v[i] += 0.1 * qd.sin(x[i]) * v[i]
                x[i] += 0.2 * v[i] * x[i]

    return run


def serial_time_steps(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        qd.loop_config(serialize=True)
        for _ in range(3):
            for i in range(4):
                x[i] = qd.sin(x[i]) * x[(i + 1) % 4] + v[i] * v[i]

    return run


def branches(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            for _ in range(4):
                if x[i] > 0.4:
                    x[i] = x[i] * x[i]
                else:
                    x[i] = x[i] * 3.0 + v[i]

    return run


def several_tasks(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in v:
            v[i] = v[i] * x[i]
            v[i] = v[i] * v[i] + 1.0
        for i in x:
            x[i] = qd.sin(x[i]) * v[i]
            x[i] = x[i] * x[i]

    return run


def written_by_two(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            x[i] = x[i] * x[i] + v[i]
        x[0] = x[1] * x[0]

    return run


IN_PLACE = [loop_in_a_thread, loops_in_loops, serial_time_steps, branches, several_tasks, written_by_two]


@pytest.mark.parametrize("arch", ["reference", "cpu"])
@pytest.mark.parametrize("make", IN_PLACE)
def test_in_place_launches_are_differentiated_under_a_tape(make: Any, arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    world = World()
    kernel = make(world.x, world.v)
    world.check(kernel)
    with pytest.raises(qd.AdstackDataAccessError):
        kernel.grad()


def deciding(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            while x[i] < 2.0:
                x[i] = x[i] * 1.5 + 0.1 * v[i] * x[i]

    return run


def written_by_two_with_a_sum(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        total = 0.0
        for i in x:
            x[i] = x[i] * x[i]
            total += x[i]
        for i in x:
            x[i] = x[i] * x[i] + total

    return run


def won(x: Any, v: Any) -> Any:
    @qd.kernel
    def run():
        for i in x:
            for _ in range(3):
                qd.atomic_max(x[i], x[i] * x[i] * v[i])

    return run


@pytest.mark.parametrize("arch", ["reference", "cpu"])
@pytest.mark.parametrize("make", [deciding, written_by_two_with_a_sum, won])
def test_what_can_not_be_run_again_is_logged(make: Any, arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64)
    world = World()
    world.check(make(world.x, world.v))
