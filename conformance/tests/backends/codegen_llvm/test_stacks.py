"""The adstack machine in machine code does what the interpreter's does."""

from __future__ import annotations

from random import Random

import pytest
from cpu_kit import agree_on, compiled, tasks_of
from programs_kit import SLOTS, inputs, machine, steps

from adstack import interpreter
from adstack.errors import AdstackMemoryError, AdstackOverflowError
from adstack.ir.types import ALL, f32, i32


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_any_operations_give_what_the_definition_says(dtype):
    for seed in range(4):
        text = machine(steps(Random(seed), dtype.name, SLOTS), dtype.name)
        cases = [(inputs(dtype, [c] * 6), ()) for c in (40, 41)]
        cases += [(inputs(dtype, [40, 0, 1, -1, 3, 2]), ())]  # overflows, if it is deep enough
        agree_on(text, cases, widths=(0, 1, 2, 8))


def test_values_survive_a_loop_and_come_back_in_reverse():
    body = """for %j = %zero to %c {
      %f = cast %j : f32
      stack.push %s, %f
      yield
    }
    for %k = %zero to %c {
      %t = stack.load_top %s : f32
      store @y[%i, %k], %t
      stack.acc_adjoint %s, %t
      %a = stack.load_top_adj %s : f32
      stack.pop %s
      yield
    }"""
    agree_on(machine(body, "f32"), [(inputs(f32, [0, 1, 5, 39, 40, 7]), ())], widths=(0, 2, 8))


def test_an_overflow_tells_the_capacity_and_the_depth_wanted():
    body = """%six = const 6 : i32
    for %j = %zero to %six {
      stack.push %s, %j
      yield
    }"""
    program = tasks_of(machine(body, "i32", n=1))
    errors = []
    for run in (compiled(program, 0), lambda b: interpreter.run(program, b, ())):
        with pytest.raises(AdstackOverflowError) as caught:
            run(inputs(i32, [4]))
        errors.append(str(caught.value))
    assert "6" in errors[0]
    assert "4" in errors[0]
    assert errors[0] == errors[1]


def test_a_launch_after_an_overflow_is_a_launch_like_any_other():
    body = "stack.push %s, %i\n%t = stack.load_top %s : i32\nstore @y[%i, %zero], %t"
    launch = compiled(machine(body, "i32"), 0)
    for capacities, fits in (
        ([1] * 6, True),
        ([0] * 6, False),
        ([1] * 6, True),
        ([1, 1, 1, 0, 1, 1], False),
        ([2] * 6, True),
    ):
        memory = inputs(i32, capacities)
        if fits:
            launch(memory)
            assert memory["y"][:, 0].tolist() == list(range(6))
        else:
            with pytest.raises(AdstackOverflowError):
                launch(memory)


def test_stacks_that_no_machine_can_hold_are_an_error():
    body = """%big = const 4611686018427387904 : i64
    %t = stack.alloca %big : stack<f64>
    %x = const 1.0 : f64
    stack.push %t, %x"""
    with pytest.raises(AdstackMemoryError, match="no memory"):
        compiled(machine(body, "i32"), 0)(inputs(i32, [1] * 6))


def test_stacks_in_debug_mode_agree_too():
    body = "stack.push %s, %i\n%t = stack.load_top %s : i32\nstore @y[%i, %zero], %t\nstack.pop %s"
    agree_on(machine(body, "i32"), [(inputs(i32, [2] * 6), ())], debug=True)
    agree_on(machine(body + "\nstack.pop %s", "i32"), [(inputs(i32, [2] * 6), ())], debug=True)
