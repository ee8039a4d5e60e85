"""The interpreter as a backend: adstacks within a limit, fewer lanes at a time where it is small."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import read
from sizing_kit import after_forward, sized_program

from adstack import interpreter
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.runtime.reference_backend import open_device

CHAIN = """
kernel @chain() {
  place @n : i32[?] field
  place @x : f64[?] field
  place @y : f64[?] field
  %0 = const 0 : i32
  %m = shape @n, 0 : i32
  parallel_for (%i = %0 to %m) {
    %c = load @n[%i] : i32
    %v = load @x[%i] : f64
    %w = for %j = %0 to %c carry (%a = %v) {
      %s = sin %a : f64
      yield %s
    }
    store @y[%i], %w
    yield
  }
  return
}
"""


def gradients(counts, **options):
    """(x.grad, the heap of the only task, how many lanes ran together)."""
    kernel = read(CHAIN)
    n = np.array(counts, np.int32)
    memory = after_forward(kernel, {"n": n, "x": np.linspace(0.1, 1, len(n)), "y": np.zeros(len(n))})
    backend, program = open_device(), sized_program(kernel).program
    executable = backend.compile(program, Options(**options))
    backend.launch(executable, [], Bindings(memory, {name: array.shape for name, array in memory.items()}))
    (use,) = backend.adstacks(executable)
    return memory["x.grad"], use


def test_gradients_do_not_depend_on_how_many_lanes_have_room():
    counts = np.arange(60) % 11
    plain, use = gradients(counts)
    assert (use.stride, use.capacities) == (80, (10,))
    for limit in (80, 100, 4_000):
        grads, use = gradients(counts, ad_stack_heap_limit=limit)
        assert use.blocks == limit // 80
        assert grads.tobytes() == plain.tobytes()


@pytest.mark.parametrize("count", [0, 1, 7, 9000])
def test_there_are_no_more_lanes_than_iterations(count):
    _, use = gradients(np.full(count, 3))
    assert (use.blocks, use.bytes) == (min(count, 8192), min(count, 8192) * use.stride)


def test_no_more_lanes_run_together_than_have_room():
    kernel = read(CHAIN)
    memory = after_forward(kernel, {"n": np.full(9, 3, np.int32), "x": np.ones(9), "y": np.zeros(9)})
    teams = []
    make = interpreter.stacks.Stack.__init__

    def watched(self, dtype, lanes, *rest):
        teams.append(lanes)
        make(self, dtype, lanes, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter.stacks.Stack, "__init__", watched)
        backend = open_device()
        executable = backend.compile(sized_program(kernel).program, Options(ad_stack_heap_limit=100))
        backend.launch(executable, [], Bindings(memory, {}))
    assert teams == [4, 4, 1]


def test_a_limit_below_one_lane_is_an_error_that_says_how_much_it_takes():
    with pytest.raises(HeapLimit, match=r"chain.*take 80 bytes; ad_stack_heap_limit is 79") as caught:
        gradients([3, 10, 1], ad_stack_heap_limit=79)
    assert caught.value.touched is False
