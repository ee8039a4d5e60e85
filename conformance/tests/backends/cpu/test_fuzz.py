"""Random programs give the same bits on the cpu as in the interpreter, over any number of lanes, checked or not.

ADSTACK_FUZZ=N tries N times as many.
"""

from __future__ import annotations

import os

import pytest
from cpu_kit import agree_on

from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params

DEPTH = int(os.environ.get("ADSTACK_FUZZ", "1"))
SEEDS = range(6 * DEPTH)


def inputs(kernel, seed: int):
    return [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, seed + 1_000_000)]


@pytest.mark.parametrize("size", [15, 60])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_agree(seed, size):
    kernel = random_kernel(seed + 1000 * size, size, transcendentals=seed % 3 == 0)
    widths = (1, 2, 8, 64) if seed % 3 == 0 else (0, (2, 4, 16)[seed % 3])
    agree_on(kernel, inputs(kernel, seed), widths)


@pytest.mark.parametrize("traps", [False, True], ids=["no error", "any error"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_agree_in_debug_mode(seed, traps):
    kernel = random_kernel(seed + 500_000, 40, transcendentals=False, traps=traps)
    agree_on(kernel, inputs(kernel, seed), (1, 4), debug=True)


@pytest.mark.parametrize("seed", range(DEPTH))
def test_large_random_programs_agree(seed):
    kernel = random_kernel(seed + 900_000, 400, transcendentals=False)
    agree_on(kernel, inputs(kernel, seed), (0, 4))
