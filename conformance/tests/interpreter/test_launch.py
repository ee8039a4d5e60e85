"""run(): buffers and arguments are checked, results come back, programs run their tasks in order."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel, read, run_text, same_bits, serial

from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import AdstackArgumentError, AdstackMemoryError, InternalError
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel, Place
from adstack.ir.types import f32

X = 'place @x : f32[3, ?] field label "a.x"'
NOTHING = serial("return", places=X)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (None, "no buffer was given for field a.x"),
        (np.zeros((3, 2)), "field a.x holds f32, got a buffer of float64"),
        (np.zeros(3, np.float32), r"field a.x has the shape \(3, None\), got a buffer of shape \(3,\)"),
        (np.zeros((2, 3), np.float32), r"field a.x has the shape \(3, None\), got a buffer of shape \(2, 3\)"),
    ],
)
def test_a_buffer_that_does_not_fit_is_refused(buffer, message):
    with pytest.raises(AdstackArgumentError, match=message):
        run_text(NOTHING, {} if buffer is None else {"x": buffer})


def test_the_number_of_arguments_is_checked():
    with pytest.raises(AdstackArgumentError, match="k takes 1 scalar arguments, got 2"):
        run_text(serial("return", "(%a: i32)"), scalars=(1, 2))


def test_arguments_have_the_type_of_their_parameter():
    text = serial("return %a, %b, %c", "(%a: f32, %b: u8, %c: u1) -> (f32, u8, u1)")
    assert run_text(text, scalars=(0.1, 257, np.int64(3))) == (float(np.float32(0.1)), 1, True)


def test_a_place_that_lives_in_a_launch_needs_a_fixed_shape():
    kernel = read(serial("return"))
    assert isinstance(kernel, Kernel)
    kernel.places["t"] = Place("t", f32, (None,), "temp")
    with pytest.raises(InternalError, match="the temp t has no fixed shape"):
        run(kernel, {})


PROGRAM = """program @sum -> (f32, i32) results (@r0, @r1) {
  place @x : f32[?] field
  place @s : f32[] temp
  place @t : i32[2] temp
  place @r0 : f32[] result
  place @r1 : i32[] result
  task @first serial (%a: i32) {
    %one = const 1 : i32
    %b = add %a, %one : i32
    store @t[%one], %b
    return
  }
  task @second parallel (%a: i32) {
    %zero = const 0 : i32
    %n = shape @x, 0 : i32
    parallel_for (%i = %zero to %n) {
      %v = load @x[%i] : f32
      %old = atomic add @s[], %v : f32
      yield
    }
    return
  }
  task @third serial (%a: i32) {
    %one = const 1 : i32
    %v = load @s[] : f32
    store @r0[], %v
    %w = load @t[%one] : i32
    store @r1[], %w
    return
  }
}
"""


def test_a_program_runs_its_tasks_in_order_and_returns_its_result_places():
    x = np.arange(5, dtype=np.float32)
    for _ in range(2):
        assert run_text(PROGRAM, {"x": x}, (41,)) == (10.0, 42)


def test_an_overflow_names_the_task():
    body = "%c = const 0 : i32\n %s = stack.alloca %c : stack<i32>\n stack.push %s, %a\n %one = const 1 : i32"
    with pytest.raises(OverflowError, match="Adstack overflow in first"):
        run_text(PROGRAM.replace("%one = const 1 : i32", body, 1), {"x": np.zeros(1, np.float32)}, (1,))


def test_a_program_and_its_kernel_draw_the_same_numbers():
    loop = """
      %z = const 0 : i32
      %n = const 3 : i32
      parallel_for (%i = %z to %n) {
        %v = random : f32
        store @x[%i], %v
        yield
      }
    """
    first = "%w = random : f32\n store @y[%z], %w"
    second = "%one = const 1 : i32\n %u = random : f32\n store @y[%one], %u"
    places = "place @x : f32[?] field\n place @y : f32[?] field"
    kernel = serial(f"{loop}\n {first}\n {second}\n return", places=places)
    program = f"""program @k {{
      {places}
      task @a parallel () {{
        {loop}
        return
      }}
      task @b serial () {{
        %z = const 0 : i32
        {first}
        return
      }}
      task @c serial () {{
        {second}
        return
      }}
    }}
    """
    results = []
    for text in (kernel, program):
        buffers = {"x": np.zeros(3, np.float32), "y": np.zeros(2, np.float32)}
        run_text(text, buffers, seed=3)
        results.append(np.concatenate((buffers["x"], buffers["y"])))
    assert same_bits(results[0], results[1])
    assert len(set(results[0].tolist())) == 5


def test_memory_that_runs_out_is_an_error_of_its_own():
    body = "%a = array.alloc : array<f64, 17592186044416>"
    with pytest.raises(AdstackMemoryError, match="do: use smaller local arrays"):
        run_text(parallel(body, 3))


@pytest.mark.parametrize("debug", [False, True])
def test_random_programs_give_the_same_whatever_the_chunk_size(debug):
    for seed in range(20):
        kernel = random_kernel(seed, 60)
        results = []
        for lanes in (1, 4, 1000):
            buffers = random_buffers(kernel, seed)
            try:
                returned = run(
                    kernel, buffers, random_params(kernel, seed), options=RunOptions(debug=debug, lanes=lanes)
                )
            except AssertionError as error:
                results.append(type(error))
                continue
            results.append([*returned, *buffers.values()])
        assert all(map(agree, results, results[1:]))


def agree(a, b):
    """The same memory, or the same error."""
    return a == b if isinstance(a, type) or isinstance(b, type) else all(map(same_bits, a, b))
