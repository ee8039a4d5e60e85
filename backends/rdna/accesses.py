"""Accesses to memory by number: of FLAT, GLOBAL, SCRATCH and DS. Numbers and names are each processor's own."""

from __future__ import annotations

from typing import Final, TypeAlias

__all__ = ["CDNA3", "RDNA3", "SHARED", "SHARED_CDNA3", "Accesses", "access_of", "how_of"]

Accesses: TypeAlias = "dict[int, tuple[str, int, int]]"
"""Number -> name, kind of access (`Access` in `core`), bytes."""

_LOADS_AND_STORES: Final[Accesses] = {
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
_SHARED_UPDATES: Final = {
    number + 32 * returns + 16 * (size - 4): (f"{name}{'_RTN' * returns}_{kind}{8 * size}", how, size, 0)
    for size in (4, 8)
    for returns in (False, True)
    for number, name, kind, how in (
        *((0, "ADD", "U", 4), (1, "SUB", "U", 5), (5, "MIN", "I", 6), (6, "MAX", "I", 8), (7, "MIN", "U", 7)),
        *((8, "MAX", "U", 9), (9, "AND", "B", 10), (10, "OR", "B", 11), (11, "XOR", "B", 12)),
    )
}
"""What DS updates, on both processors."""
SHARED: Final = {
    **_SHARED_UPDATES,
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
"""What DS does on gfx1100: name, kind, bytes; where there are two accesses, in how many of them offsets are counted."""
_UPDATES: Final = (
    *(("SWAP_B", 2), ("CMPSWAP_B", 3), ("ADD_U", 4), ("SUB_U", 5), ("MIN_I", 6), ("MIN_U", 7), ("MAX_I", 8)),
    *(("MAX_U", 9), ("AND_B", 10), ("OR_B", 11), ("XOR_B", 12)),
)
RDNA3: Final[Accesses] = {
    **_LOADS_AND_STORES,
    **{
        number: (f"ATOMIC_{name}{8 * size}", how, size)
        for size, numbers in ((4, (*range(51, 55), *range(56, 63))), (8, range(65, 76)))
        for number, (name, how) in zip(numbers, _UPDATES, strict=True)
    },
}
"""What FLAT, GLOBAL and SCRATCH do on gfx1100."""
_WORDS: Final = {4: "DWORD", 8: "DWORDX2", 12: "DWORDX3", 16: "DWORDX4"}
_OLD_UPDATES: Final = (
    *(("SWAP", 2), ("CMPSWAP", 3), ("ADD", 4), ("SUB", 5), ("SMIN", 6), ("UMIN", 7), ("SMAX", 8), ("UMAX", 9)),
    *(("AND", 10), ("OR", 11), ("XOR", 12)),
)
CDNA3: Final[Accesses] = {
    **{16 + k: (f"LOAD_{ty}", 0, size) for k, (ty, size) in enumerate((("UBYTE", 1), ("SBYTE", 1)))},
    **{18 + k: (f"LOAD_{ty}", 0, size) for k, (ty, size) in enumerate((("USHORT", 2), ("SSHORT", 2)))},
    **{20 + k: (f"LOAD_{ty}", 0, size) for k, (size, ty) in enumerate(_WORDS.items())},
    24: ("STORE_BYTE", 1, 1),
    25: ("STORE_BYTE_D16_HI", 1, 1),
    26: ("STORE_SHORT", 1, 2),
    27: ("STORE_SHORT_D16_HI", 1, 2),
    **{28 + k: (f"STORE_{ty}", 1, size) for k, (size, ty) in enumerate(_WORDS.items())},
    **{64 + k: (f"ATOMIC_{name}", how, 4) for k, (name, how) in enumerate(_OLD_UPDATES)},
    **{96 + k: (f"ATOMIC_{name}_X2", how, 8) for k, (name, how) in enumerate(_OLD_UPDATES)},
}
"""The same on gfx942."""
SHARED_CDNA3: Final = {
    **_SHARED_UPDATES,
    13: ("WRITE_B32", 1, 4, 0),
    14: ("WRITE2_B32", 1, 4, 1),
    15: ("WRITE2ST64_B32", 1, 4, 64),
    30: ("WRITE_B8", 1, 1, 0),
    31: ("WRITE_B16", 1, 2, 0),
    54: ("READ_B32", 0, 4, 0),
    55: ("READ2_B32", 0, 4, 1),
    56: ("READ2ST64_B32", 0, 4, 64),
    57: ("READ_I8", 0, 1, 0),
    58: ("READ_U8", 0, 1, 0),
    59: ("READ_I16", 0, 2, 0),
    60: ("READ_U16", 0, 2, 0),
    77: ("WRITE_B64", 1, 8, 0),
    78: ("WRITE2_B64", 1, 8, 1),
    79: ("WRITE2ST64_B64", 1, 8, 64),
    84: ("WRITE_B8_D16_HI", 1, 1, 0),
    85: ("WRITE_B16_D16_HI", 1, 2, 0),
    118: ("READ_B64", 0, 8, 0),
    119: ("READ2_B64", 0, 8, 1),
    120: ("READ2ST64_B64", 0, 8, 64),
    222: ("WRITE_B96", 1, 12, 0),
    223: ("WRITE_B128", 1, 16, 0),
    254: ("READ_B96", 0, 12, 0),
    255: ("READ_B128", 0, 16, 0),
}
"""What DS does on gfx942."""
_SIGNED: Final = ("_I8", "_I16", "_SBYTE", "_SSHORT")


def how_of(name: str, how: int, size: int) -> int:
    """What `of` says of an access."""
    if how > 1:
        return how | size << 4 | ("_RTN" in name) << 16
    sign, half, upper = any(word in name for word in _SIGNED), "D16" in name, "_HI" in name
    return how | size << 4 | sign << 12 | half << 13 | upper << 14


def access_of(accesses: Accesses, number: int) -> tuple[str, int] | None:
    """The name of an access to memory, and what `of` says of it."""
    if number not in accesses:
        return None
    name, how, size = accesses[number]
    return name, how_of(name, how, size)
