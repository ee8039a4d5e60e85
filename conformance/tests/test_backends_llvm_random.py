"""The random streams of machine code are those of the interpreter, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import WIDTHS, backend, tasks_of
from interpreter_kit import parallel, same_bits

from adstack import interpreter
from adstack.ir.types import ALL
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options


def both(text: str, y: np.ndarray, lanes: int, seed: int, launches: int = 1) -> None:
    """The streams of a few launches in a row agree."""
    program = tasks_of(text)
    executable = backend().compile(program, Options(cpu_lanes=lanes, random_seed=seed, offline_cache=False))
    for _ in range(launches):
        mine, theirs = y.copy(), y.copy()
        backend().launch(executable, (), Bindings({"y": mine}, {"y": y.shape}))
        options = interpreter.RunOptions(seed=seed, launch=backend().launches)
        interpreter.run(program, {"y": theirs}, (), options=options)
        assert same_bits(mine, theirs)


@pytest.mark.parametrize("dtype", [t for t in ALL if not t.is_bool], ids=str)
def test_numbers_of_every_type_agree(dtype):
    body = f"""%a = random : {dtype}
    %b = random : {dtype}
    %one = const 1 : i32
    store @y[%i, %zero], %a
    store @y[%i, %one], %b"""
    for lanes in (1, 8):
        both(parallel(body, 70, f"place @y : {dtype}[70, 2] field"), np.zeros((70, 2), dtype.numpy), lanes, seed=5)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_lanes_draw_as_often_as_their_iterations(lanes):
    body = """%three = const 3 : i32
    %m = mod %i, %three : i32
    %sum = for %j = %zero to %m carry (%s = %zero) {
      %r = random : i32
      %t = add %s, %r : i32
      yield %t
    }
    %odd = lt %m, %sum : u1
    %r2 = if %odd -> (i32) {
      %q = random : i32
      yield %q
    } else {
      yield %zero
    }
    %last = random : i32
    %u = add %r2, %last : i32
    store @y[%i], %u"""
    both(parallel(body, 131, "place @y : i32[131] field"), np.zeros(131, np.int32), lanes, seed=1, launches=3)


def test_every_section_of_a_program_has_a_stream_of_its_own():
    text = """kernel @k() {
      place @y : u32[12] field
      %zero = const 0 : i32
      %four = const 4 : i32
      %eight = const 8 : i32
      %a = random : u32
      store @y[%eight], %a
      parallel_for (%i = %zero to %four) {
        %b = random : u32
        store @y[%i], %b
        yield
      }
      %c = random : u32
      %nine = const 9 : i32
      store @y[%nine], %c
      parallel_for (%j = %zero to %four) {
        %d = random : u32
        %k = add %j, %four : i32
        store @y[%k], %d
        yield
      }
      return
    }
    """
    for lanes in (1, 2):
        both(text, np.zeros(12, np.uint32), lanes, seed=2**63 - 1, launches=2)
