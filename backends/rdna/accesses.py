"""Accesses to memory by number: of FLAT, GLOBAL, SCRATCH and DS."""

from __future__ import annotations

from typing import Final

__all__ = ["SHARED", "access_of", "how_of"]

_ACCESSES: Final = {
    16: ("LOAD_U8", 0, 1),
    17: ("LOAD_I8", 0, 1),
    18: ("LOAD_U16", 0, 2),
    19: ("LOAD_I16", 0, 2),
    **{20 + k: (f"LOAD_B{32 * (k + 1)}", 0, 4 * (k + 1)) for k in range(2)},
    22: ("LOAD_B96", 0, 12),
    23: ("LOAD_B128", 0, 16),
    24: ("STORE_B8", 1, 1),
    25: ("STORE_B16", 1, 2),
    26: ("STORE_B32", 1, 4),
    27: ("STORE_B64", 1, 8),
    28: ("STORE_B96", 1, 12),
    29: ("STORE_B128", 1, 16),
    30: ("LOAD_D16_U8", 0, 1),
    31: ("LOAD_D16_I8", 0, 1),
    32: ("LOAD_D16_B16", 0, 2),
    33: ("LOAD_D16_HI_U8", 0, 1),
    34: ("LOAD_D16_HI_I8", 0, 1),
    35: ("LOAD_D16_HI_B16", 0, 2),
    36: ("STORE_D16_HI_B8", 1, 1),
    37: ("STORE_D16_HI_B16", 1, 2),
}
"""What FLAT, GLOBAL and SCRATCH do: name, kind of access (`Access` in `core`), bytes."""
SHARED: Final = {
    13: ("STORE_B32", 1, 4, 0),
    14: ("STORE_2ADDR_B32", 1, 4, 1),
    15: ("STORE_2ADDR_STRIDE64_B32", 1, 4, 64),
    30: ("STORE_B8", 1, 1, 0),
    31: ("STORE_B16", 1, 2, 0),
    54: ("LOAD_B32", 0, 4, 0),
    55: ("LOAD_2ADDR_B32", 0, 4, 1),
    56: ("LOAD_2ADDR_STRIDE64_B32", 0, 4, 64),
    57: ("LOAD_I8", 0, 1, 0),
    58: ("LOAD_U8", 0, 1, 0),
    59: ("LOAD_I16", 0, 2, 0),
    60: ("LOAD_U16", 0, 2, 0),
    77: ("STORE_B64", 1, 8, 0),
    78: ("STORE_2ADDR_B64", 1, 8, 1),
    79: ("STORE_2ADDR_STRIDE64_B64", 1, 8, 64),
    118: ("LOAD_B64", 0, 8, 0),
    119: ("LOAD_2ADDR_B64", 0, 8, 1),
    120: ("LOAD_2ADDR_STRIDE64_B64", 0, 8, 64),
    160: ("STORE_B8_D16_HI", 1, 1, 0),
    161: ("STORE_B16_D16_HI", 1, 2, 0),
    162: ("LOAD_U8_D16", 0, 1, 0),
    163: ("LOAD_U8_D16_HI", 0, 1, 0),
    164: ("LOAD_I8_D16", 0, 1, 0),
    165: ("LOAD_I8_D16_HI", 0, 1, 0),
    166: ("LOAD_U16_D16", 0, 2, 0),
    167: ("LOAD_U16_D16_HI", 0, 2, 0),
    222: ("STORE_B96", 1, 12, 0),
    223: ("STORE_B128", 1, 16, 0),
    254: ("LOAD_B96", 0, 12, 0),
    255: ("LOAD_B128", 0, 16, 0),
}
"""What DS does: name, kind of access, bytes; where there are two accesses, in how many of them offsets are counted."""
_UPDATES: Final = (
    *(("SWAP_B", 2), ("CMPSWAP_B", 3), ("ADD_U", 4), ("SUB_U", 5), ("MIN_I", 6), ("MIN_U", 7), ("MAX_I", 8)),
    *(("MAX_U", 9), ("AND_B", 10), ("OR_B", 11), ("XOR_B", 12)),
)
_UPDATES32: Final = dict(zip((51, 52, 53, 54, 56, 57, 58, 59, 60, 61, 62), _UPDATES, strict=True))
_UPDATES64: Final = dict(zip(range(65, 76), _UPDATES, strict=True))


def how_of(name: str, how: int, size: int) -> int:
    """What `of` says of a load or a store."""
    sign, half, upper = "_I" in name, "D16" in name, "_HI" in name
    return how | size << 4 | sign << 12 | half << 13 | upper << 14


def access_of(number: int) -> tuple[str, int] | None:
    """The name of an access to memory, and what `of` says of it."""
    if number in _ACCESSES:
        name, how, size = _ACCESSES[number]
        return name, how_of(name, how, size)
    for size, table in ((4, _UPDATES32), (8, _UPDATES64)):
        if number in table:
            name, how = table[number]
            return f"ATOMIC_{name}{8 * size}", how | size << 4
    return None
