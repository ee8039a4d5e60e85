"""Local arrays hold zeros whenever a thread comes to them, whatever it left there before."""

from __future__ import annotations

import numpy as np
import pytest
from vulkan_kit import agree_on

from adstack.backends.codegen_spirv.access import ZEROED_AT_ONCE
from adstack.ir.types import ArrayType, i32

ROUNDS = 3
SOURCE = """kernel @k() {{
  place @y : i32[{rounds}, {length}] field
  %zero = const 0 : i32
  %one = const 1 : i32
  %rounds = const {rounds} : i32
  %length = const {length} : i32
  for %t = %zero to %rounds {{
    %a = array.alloc : {array}
    for %j = %zero to %length {{
      %old = array.load %a, %j : i32
      store @y[%t, %j], %old
      array.store %a, %j, %one
      yield
    }}
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize("length", [ZEROED_AT_ONCE, ZEROED_AT_ONCE + 1, 3 * ZEROED_AT_ONCE])
def test_an_array_begins_with_zeros_in_every_iteration(length):
    source = SOURCE.format(rounds=ROUNDS, length=length, array=ArrayType(i32, length))
    agree_on(source, [({"y": np.full((ROUNDS, length), 7, np.int32)}, ())])
