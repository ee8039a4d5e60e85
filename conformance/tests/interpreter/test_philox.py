"""The generator gives the published vectors, and numbers of every type in their range."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.interpreter.philox import draw, philox
from adstack.ir.types import FLOATS, INTS, DType, f32, f64, i8, i64, u64

VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "block"), VECTORS)
def test_the_blocks_are_those_that_the_authors_published(counter, key, block):
    words = philox(tuple(np.array([word], np.uint64) for word in counter), key)
    assert tuple(int(word[0]) for word in words) == block


def many(to: DType, n: int = 20000, **where: int) -> np.ndarray:
    at = {"seed": 1, "launch": 2, "section": 3, **where}
    return draw(to, at["seed"], at["launch"], at["section"], np.arange(n, dtype=np.uint64), np.zeros(n, np.uint64))


@pytest.mark.parametrize("to", FLOATS, ids=str)
def test_floats_are_uniform_below_one(to):
    x = many(to)
    assert x.dtype == to.numpy
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(float(x.astype(np.float64).mean()) - 0.5) < 0.01
    assert np.bincount((x.astype(np.float64) * 10).astype(int)).min() > 1800


@pytest.mark.parametrize("to", INTS, ids=str)
def test_integers_cover_their_whole_range(to):
    x = many(to)
    assert x.dtype == to.numpy
    span = to.max - to.min
    assert int(x.max()) > to.max - span / 100
    assert int(x.min()) < to.min + span / 100


def test_the_bits_are_used_as_documented():
    iteration, number = np.array([(5 << 32) + 7], np.uint64), np.array([9], np.uint64)
    low, high, _, _ = (int(w[0]) for w in philox(tuple(np.array([w], np.uint64) for w in (9, 7, 5, 3)), (1, 2)))
    got = {to: draw(to, 1, 2, 3, iteration, number)[0] for to in (i8, i64, u64, f32, f64)}
    assert got[i8] == np.int64(low).astype(np.int8)
    assert got[u64] == low + (high << 32)
    assert got[i64] == np.uint64(low + (high << 32)).astype(np.int64)
    assert got[f32] == (low >> 8) / 2**24
    assert got[f64] == ((low + (high << 32)) >> 11) / 2**53


@pytest.mark.parametrize("change", [{"seed": 2}, {"launch": 3}, {"section": 4}])
def test_every_part_of_the_key_matters(change):
    assert (many(f64, 50) != many(f64, 50, **change)).all()
