"""Random kernels whose shared locals are read, overwritten, and read again: gradients are the oracle's, or refused.

Rules: grad.shared-local, grad.overwritten, grad.log
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_kit import check as check_journal
from nightly_kit import examples
from reverse_kit import Buffers, backward, gradients_of

from adstack.autodiff.checkpointing.schedule import Checkpoints
from adstack.autodiff.forward import forward
from adstack.autodiff.reverse import reverse
from adstack.error_analysis.bounds import gradient_bound
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.scalar_ops import AND, COS, MOD, SIN
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import f64, i32
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

SIZE = 4
LOCALS = [Place(name, f64, (), "temp") for name in ("a", "b")]
ROW = Place("row", f64, (SIZE,), "temp")
COUNT = Place("k", i32, (), "temp")
X, Y = Place("x", f64, (SIZE,)), Place("y", f64, (SIZE,))


class Writer:
    """Draws a kernel: serial code, loops of one iteration, which may do anything, and loops of several, without races.

    Attributes:
        b: what writes the IR.
        own: the index of the loop of several iterations that is being written.
        summed: the local that the iterations of that loop add to, and may not read.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw
        self.b = Builder()
        self.own: Value | None = None
        self.summed = LOCALS[0]
        self.depth = 0

    def kernel(self) -> Kernel:
        """Three to five stretches, then what is left of the locals goes to y."""
        for k, place in enumerate(LOCALS):
            self.b.store(place, [], self.b.load(X, [self.number(k)]))
        for _ in range(3 + self.pick(3)):
            (self.serial, self.alone, self.alone, self.several)[self.pick(4)]()
        for k, place in enumerate(LOCALS):
            self.b.atomic("add", Y, [self.number(k)], self.b.load(place))
        self.b.parallel_for([(self.number(0), self.number(SIZE))], self.region(self.sum_up, Value(i32)))
        self.b.return_()
        kernel = Kernel("locals", self.b.region, {p.name: p for p in (*LOCALS, ROW, COUNT, X, Y)})
        verify(kernel)
        return kernel

    def sum_up(self, index: Value) -> None:
        self.b.store(Y, [index], self.b.add(self.b.load(Y, [index]), self.b.load(ROW, [index])))

    # ---- stretches

    def serial(self) -> None:
        """Mostly without loops: of one that changes locals, before a parallel loop, little is differentiated."""
        self.depth += 2 * (self.pick(3) > 0)
        self.statements()
        self.depth = 0

    def alone(self) -> None:
        """A loop of one iteration, or of several of which one does something."""
        count, chosen = (1, 0) if self.pick(2) else (SIZE, self.pick(SIZE))

        def body(index: Value) -> None:
            self.branch(self.b.eq(index, self.number(chosen)), self.statements, lambda: None)

        self.b.parallel_for([(self.number(0), self.number(count))], self.region(body, Value(i32)))

    def several(self) -> None:
        def body(index: Value) -> None:
            self.own = index
            self.statements()
            self.own = None

        self.summed = LOCALS[self.pick(2)]
        self.b.parallel_for([(self.number(0), self.number(SIZE))], self.region(body, Value(i32)))

    # ---- statements

    def statements(self) -> None:
        for _ in range(1 + self.pick(3)):
            self.statement()

    def statement(self) -> None:
        self.depth += 1
        shallow = [self.store, self.store, self.add, self.output, self.fold, self.step]
        deep = [self.loop, self.turns, self.choice] if self.depth < 3 else []
        steps = [*shallow, *deep]
        steps[self.pick(len(steps))]()
        self.depth -= 1

    def store(self) -> None:
        value = self.b.emit(SIN, self.real())
        if self.own is not None or self.pick(2):
            self.b.store(ROW, [self.index()], value)
        else:
            self.b.store(LOCALS[self.pick(2)], [], value)

    def add(self) -> None:
        place = self.summed if self.own is not None else LOCALS[self.pick(2)]
        self.b.atomic("add", place, [], self.b.emit(COS, self.real()))

    def output(self) -> None:
        self.b.atomic("add", Y, [self.index()], self.real())

    def step(self) -> None:
        """The next k; loops of several iterations only read it."""
        if self.own is None:
            more = self.b.add(self.b.load(COUNT), self.number(1 + self.pick(3)))
            self.b.store(COUNT, [], self.b.emit(MOD, more, self.number(SIZE)))

    def fold(self) -> None:
        """A value that a loop carries."""
        value = Value(f64)
        body = Region([Value(i32), value])
        with self.b.into(body):
            self.b.yield_(self.b.emit(SIN, self.b.mul(value, self.real())))
        (total,) = self.b.for_(self.number(0), self.trips(), [self.real()], body)
        if self.own is None:
            self.b.store(LOCALS[self.pick(2)], [], total)
        else:
            self.b.store(ROW, [self.own], total)

    def loop(self) -> None:
        self.b.for_(self.number(0), self.trips(), [], self.region(lambda index: self.statements(), Value(i32)))

    def turns(self) -> None:
        """A `while` that looks at a local, and ends after three iterations in any case."""
        fuel = Value(i32)
        condition, body = Region([fuel]), Region([Value(i32)])
        with self.b.into(condition):
            wanted = self.b.emit(AND, self.b.lt(fuel, self.number(3)), self.test())
            self.b.yield_(wanted, fuel)
        with self.b.into(body):
            self.statements()
            self.b.yield_(self.b.add(body.args[0], self.number(1)))
        self.b.while_([self.number(0)], condition, body)

    def choice(self) -> None:
        self.branch(self.test(), self.statements, self.statements)

    def branch(self, condition: Value, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        self.b.if_(condition, self.region(lambda *_: then()), self.region(lambda *_: orelse()))

    def region(self, write: Callable[..., None], *args: Value) -> Region:
        region = Region(list(args))
        with self.b.into(region):
            write(*args)
            self.b.yield_()
        return region

    # ---- operands

    def pick(self, count: int) -> int:
        return self._draw(st.integers(0, count - 1))

    def number(self, value: int) -> Value:
        return self.b.const(value, i32)

    def index(self) -> Value:
        if self.own is not None:
            return self.own
        return self.b.load(COUNT) if self.pick(2) else self.number(self.pick(SIZE))

    def trips(self) -> Value:
        return self.b.load(COUNT) if self.pick(2) else self.number(1 + self.pick(3))

    def test(self) -> Value:
        if self.pick(2):
            return self.b.lt(self.b.load(COUNT), self.number(1 + self.pick(3)))
        return self.b.lt(self.real(), self.b.const(0.25, f64))

    def real(self) -> Value:
        """An element, a local, or a sum or product of two."""
        kind = self.pick(6)
        if kind < 2:
            return self.b.load((X, ROW)[kind], [self.index()])
        if kind < 4:
            readable = [place for place in LOCALS if self.own is None or place is not self.summed]
            return self.b.load(readable[self.pick(len(readable))])
        first, second = self.b.emit(SIN, self.b.load(X, [self.index()])), self.b.load(ROW, [self.index()])
        return self.b.mul(first, second) if kind == 4 else self.b.add(first, second)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    return Writer(draw).kernel()


BEFORE: Buffers = {"x": np.array([0.5, -0.75, 1.25, 0.3]), "y": np.array([0.1, 0.2, -0.3, 0.4])}
ADJOINTS: Buffers = {"x": np.array([0.5, 1.0, -0.25, 2.0]), "y": np.array([1.5, -0.75, 0.5, 1.0])}


@settings(max_examples=examples(40), deadline=None)
@given(kernels())
def test_gradients_are_the_oracles_or_refused(kernel: Kernel) -> None:
    try:
        gradients = backward(kernel, BEFORE, ADJOINTS)
    except AdstackDataAccessError:
        check_journal(kernel, BEFORE, ADJOINTS)
        return
    truth = gradient_bound(kernel, BEFORE, (), ADJOINTS)
    for name, gradient in gradients.items():
        assert (np.abs(gradient - truth.values[name]) <= 2 * truth.bounds[name]).all(), name


@settings(max_examples=examples(20), deadline=None)
@given(kernels(), st.integers(1, 2))
def test_checkpoints_change_no_bit(kernel: Kernel, levels: int) -> None:
    try:
        gradients = backward(kernel, BEFORE, ADJOINTS)
    except AdstackDataAccessError:
        return
    few = reverse(optimize(kernel, keep_accesses=True), gradients_of(kernel), checkpoints=Checkpoints(1, 1, levels))
    verify(few)
    memory = {name: buffer.copy() for name, buffer in BEFORE.items()}
    run(lower(kernel), memory)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in ADJOINTS.items()})
    run(lower(few), memory)
    assert all(np.array_equal(memory[f"{name}.grad"], gradients[name]) for name in ADJOINTS)


@settings(max_examples=examples(15), deadline=None)
@given(kernels())
def test_a_launch_with_a_log_is_differentiated_whatever_its_locals_do(kernel: Kernel) -> None:
    check_journal(kernel, BEFORE, ADJOINTS)


@settings(max_examples=examples(20), deadline=None)
@given(kernels())
def test_forward_mode_is_the_transpose_of_the_oracle(kernel: Kernel) -> None:
    duals = {name: replace(p, name=f"{name}.dual", role="dual", of=name) for name, p in (("x", X), ("y", Y))}
    memory = {name: buffer.copy() for name, buffer in BEFORE.items()}
    memory.update({f"{name}.dual": np.cos(buffer) for name, buffer in BEFORE.items()})
    run(lower(forward(optimize(kernel, keep_accesses=True), duals)), memory)
    truth = gradient_bound(kernel, BEFORE, (), ADJOINTS)
    tangent = sum(memory[f"{name}.dual"] @ ADJOINTS[name] for name in BEFORE)
    expected = sum(truth.values[name] @ np.cos(BEFORE[name]) for name in BEFORE)
    bound = sum(truth.bounds[name] @ np.abs(np.cos(BEFORE[name])) for name in BEFORE)
    terms = sum(np.abs(truth.values[name]).sum() for name in BEFORE)
    assert abs(tangent - expected) <= 4 * bound + 64 * np.finfo(np.float64).eps * terms
