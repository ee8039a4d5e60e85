"""Scalar arguments as words."""

from __future__ import annotations

import pytest

from adstack.backends.shared.bits import raw_bits, signed_bits
from adstack.ir.types import f16, f32, i8, i64, u1, u64


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [(-1, i8, 2**64 - 1), (-1, i64, 2**64 - 1), (2**64 - 1, u64, 2**64 - 1), (True, u1, 1), (1.0, f32, 0x3F800000),
     (-2.0, f16, 0xC000), (0.1, f32, 0x3DCCCCCD), (1e39, f32, 0x7F800000),
     (float("-inf"), f32, 0xFF800000), (3, f32, 0x40400000),
     (300, i8, 44), (2.9, i8, 2)],
)  # fmt: skip
def test_an_argument_stands_in_the_first_bytes_of_its_word(value, dtype, bits):
    assert raw_bits(value, dtype) == bits
    assert signed_bits(value, dtype) % 2**64 == bits
    assert -(2**63) <= signed_bits(value, dtype) < 2**63
