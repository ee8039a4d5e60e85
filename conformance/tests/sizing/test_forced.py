"""Adstacks of one capacity, whatever they need."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import read
from sizing_kit import after_forward, reverse_program

from adstack.errors import AdstackOverflowError
from adstack.interpreter import run
from adstack.ir.verify.verifier import verify
from adstack.sizing.forced import with_capacity

RAGGED = """
kernel @ragged() {
  place @n : i32[4] field
  place @x : f64[4] field
  place @y : f64[] field
  %0 = const 0 : i32
  %4 = const 4 : i32
  parallel_for (%i = %0 to %4) {
    %c = load @n[%i] : i32
    %v = load @x[%i] : f64
    %w = for %j = %0 to %c carry (%a = %v) {
      %s = sin %a : f64
      %b = for %k = %0 to %j carry (%d = %s) {
        %e = sin %d : f64
        yield %e
      }
      yield %b
    }
    %old = atomic add @y[], %w : f64
    yield
  }
  return
}
"""


def memory(counts):
    return {"n": np.array(counts, np.int32), "x": np.linspace(0.1, 1, 4), "y": np.zeros(())}


def forced(slots):
    program = with_capacity(reverse_program(read(RAGGED)), slots)
    verify(program)
    return program


def allocations(program):
    return [op for task in program.tasks for op in task.body.walk() if op.name == "stack.alloca"]


def test_every_adstack_gets_the_capacity_and_nothing_is_counted_any_more():
    program, plain = forced(12), reverse_program(read(RAGGED))
    capacities = {v: op for task in program.tasks for op in task.body.walk() for v in op.results}
    assert {capacities[op.operands[0]].attrs["value"] for op in allocations(program)} == {12}
    assert len(allocations(program)) == len(allocations(plain)) > 1
    assert not any(task.sizes for task in program.tasks)

    def loops(of):
        return sum(op.name == "for" for task in of.tasks for op in task.body.walk())

    assert loops(program) < loops(plain)


def test_gradients_are_the_same_where_all_adstacks_have_room():
    kernel = read(RAGGED)
    before = after_forward(kernel, memory((3, 0, 5, 1)))
    plain = {name: buffer.copy() for name, buffer in before.items()}
    run(reverse_program(kernel), plain)
    run(forced(10), before)
    assert plain["x.grad"].tobytes() == before["x.grad"].tobytes()


def test_a_smaller_capacity_is_an_overflow_that_says_what_would_do():
    before = after_forward(read(RAGGED), memory((3, 0, 5, 1)))
    with pytest.raises(AdstackOverflowError, match="capacity 9 was pushed 10 deep"):
        run(forced(9), before)
