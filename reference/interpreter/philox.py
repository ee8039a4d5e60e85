"""Random numbers: Philox4x32-10, a function of where the number is drawn, so that every machine draws the same.

`adstack.ir.philox` has its constants and its source. One block of four 32-bit words is computed per number drawn:

    key     = (seed, launch)                                   each modulo 2^32
    counter = (number, iteration low, iteration high, section)

`number` counts the draws of this thread from 0, `iteration` is the linear index (row-major) of the parallel iteration,
0 in serial code. `section` is 2k + 1 in the k-th parallel loop of the kernel (from 0), 2k in serial code after k loops.
With the words w0, w1 of the block, an integer of n <= 32 bits is w0 mod 2^n, one of 64 bits is w0 + 2^32 w1 (signed
ones are its two's complement); f16 is (w0 >> 21) / 2^11, f32 is (w0 >> 8) / 2^24, f64 is ((w0 + 2^32 w1) >> 11) / 2^53.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ..ir.philox import FRACTION_BITS, MULTIPLIERS, ROUNDS, WEYL
from ..ir.types import DType
from .lanes import Array

Words = npt.NDArray[np.uint64]

MASK: Final = 0xFFFFFFFF


def philox(counter: tuple[Words, Words, Words, Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """The block of a counter: four words of 32 bits, each in a u64."""
    c0, c1, c2, c3 = counter
    half, mask = np.uint64(32), np.uint64(MASK)
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c2 = (p1 >> half) ^ c1 ^ np.uint64(k0), (p0 >> half) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & mask, p0 & mask
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


def draw(to: DType, seed: int, launch: int, section: int, iteration: Words, number: Words) -> Array:
    """The `number`-th random value of each iteration's stream."""
    half, mask = np.uint64(32), np.uint64(MASK)
    place = np.full_like(iteration, section & MASK)
    counter = (number & mask, iteration & mask, iteration >> half, place)
    low, high, _, _ = philox(counter, (seed & MASK, launch & MASK))
    word = low | (high << half) if to.bits == 64 else low
    if not to.is_float:
        return word.astype(to.numpy)
    width, kept = max(to.bits, 32), FRACTION_BITS[to.bits]
    fraction: Array = (word >> np.uint64(width - kept)).astype(np.float64)
    fraction *= 2.0**-kept
    return fraction.astype(to.numpy)
