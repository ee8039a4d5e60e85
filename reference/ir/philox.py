"""Philox4x32-10, the generator behind RANDOM: its constants, which the interpreter and every code generator share.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. `adstack.interpreter.philox` says
how a block of the generator becomes a number.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FRACTION_BITS", "MULTIPLIERS", "ROUNDS", "WEYL"]

ROUNDS: Final = 10
"""How often a block is mixed."""
MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
"""What the words 0 and 2 of a block are multiplied with in each round."""
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
"""What is added to the words of the key after each round, modulo 2^32."""
FRACTION_BITS: Final = {16: 11, 32: 24, 64: 53}
"""How many bits of a block a float in [0, 1) is made of, by the bits of its type: those of its significand."""
