"""Variants of sine and cosine for devices without a multiply-add: the same bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adstack.ir.functions import evaluate
from adstack.ir.types import f32
from adstack.transforms.math.algorithms import WIDE
from adstack.transforms.math.library import find, function


def everywhere():
    """Random bits, everyday numbers, the neighbours of every multiple of pi/2 that is near, and edges."""
    rng = np.random.default_rng(8)
    raw = rng.integers(0, 1 << 32, 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = rng.uniform(-20, 20, 50_000).astype(np.float32)
    quarters = (np.arange(1, int(2.0**17 * 2 / math.pi) + 1) * (math.pi / 2)).astype(np.float32).view(np.int32)
    near = np.concatenate([(quarters + k).view(np.float32) for k in (-1, 0, 1)])
    powers = np.concatenate([np.float32(2) ** np.arange(-149, 128, dtype=np.float32), np.float32([0, np.inf, np.nan])])
    points = np.concatenate([raw, usual, near, powers, np.nextafter(powers, np.float32(0))])
    return np.concatenate([points, -points])


@pytest.mark.parametrize("name", sorted(WIDE))
def test_they_give_the_same_bits(name):
    x = everywhere()
    for mine, theirs in zip(evaluate(find(f"{name}.wide.f32"), [x]), evaluate(function(name, f32), [x]), strict=True):
        different = (mine.view(np.uint32) != theirs.view(np.uint32)) & ~(np.isnan(mine) & np.isnan(theirs))
        assert not different.any(), x[different][:5]


@pytest.mark.parametrize("name", sorted(WIDE))
def test_they_have_fewer_multiply_adds(name):
    def count(name):
        return sum(op.name == "fma" for op in find(name).body.walk())

    assert count(f"{name}.wide.f32") < count(f"{name}.f32")


def test_f64_has_none():
    assert find("sin.wide.f64") is find("exp.wide.f32") is None
