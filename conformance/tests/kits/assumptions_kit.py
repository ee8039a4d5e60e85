"""A program whose guards an argument and an extent decide, and launches of it: in order, and out of order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cpu_kit import Case

STEP = """kernel @k(%t: i32) {
  place @u : f32[9, 64] field
  place @x : f32[?] field
  %zero = const 0 : i32
  %one = const 1 : i32
  %n = shape @x, 0 : i32
  parallel_for (%i = %zero to %n) {
    %v = load guarded (0, 1) @u[%t, %i] : f32
    %g = load @x[%i] : f32
    %w = add %v, %g : f32
    %s = add %t, %one : i32
    store guarded (0, 1) @u[%s, %i], %w
    yield
  }
  return
}"""


def steps() -> Iterator[Case]:
    """The argument is outside, the extent, both or none; or the argument plus 1 wraps around."""
    for size in (0, 3, 64, 65):
        memory = {"u": np.arange(576, dtype=np.float32).reshape(9, 64), "x": np.arange(size, dtype=np.float32)}
        for t in (-(2**31), -2, -1, 0, 3, 7, 8, 9, 2**31 - 1):
            yield memory, (t,)
