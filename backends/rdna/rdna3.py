"""Formats of machine code of gfx1100: "RDNA3 Instruction Set Architecture", microcode formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .accesses import RDNA3, SHARED, access_of, how_of
from .encodings import FIELDS, HALVES, LITERAL, VCC, VECTOR, Encodings, signed, third
from .instructions import Instruction
from .processors import GFX1100

__all__ = ["Rdna3"]

_DUALS: Final = {
    0: "V_FMAC_F32",
    1: "V_FMAAK_F32",
    2: "V_FMAMK_F32",
    3: "V_MUL_F32",
    4: "V_ADD_F32",
    5: "V_SUB_F32",
    6: "V_SUBREV_F32",
    8: "V_MOV_B32",
    9: "V_CNDMASK_B32",
    10: "V_MAX_F32",
    11: "V_MIN_F32",
    16: "V_ADD_NC_U32",
    17: "V_LSHLREV_B32",
    18: "V_AND_B32",
}
_LOADS: Final = {0: "S_LOAD_B32", 1: "S_LOAD_B64", 2: "S_LOAD_B128", 3: "S_LOAD_B256", 4: "S_LOAD_B512"}
_LONG: Final = {0x32: "vopd", 0x33: "vop3p", 0x35: "vop3", 0x36: "ds", 0x37: "flat", 0x38: "mubuf", 0x3D: "smem"}

_EXCHANGES: Final = {53: "DS_SWIZZLE_B32", 179: "DS_BPERMUTE_B32"}


class Rdna3(Encodings):
    """The instructions of gfx1100."""

    def __init__(self, words: Sequence[int]) -> None:
        super().__init__(GFX1100, words, 0x180)

    def form(self, word: int) -> str:
        """See `Encodings.form`."""
        if word >> 31 == 0:
            return {0x3F: "vop1", 0x3E: "vopc"}.get(word >> 25, "vop2")
        if word >> 30 == 2:
            return {0x17D: "sop1", 0x17E: "sopc", 0x17F: "sopp"}.get(word >> 23, "sopk" if word >> 28 == 11 else "sop2")
        return _LONG.get(word >> 26, "")

    def halves(self, row: Instruction) -> bool:
        """See `Encodings.halves`: all that are about halves do."""
        return True

    def short(self, at: int, row: Instruction, out: dict[str, int]) -> dict[str, int]:
        """Bit 7 of a register's number says that it is about its upper half."""
        for k, name in enumerate("ab"):
            if row.operands[k : k + 1] and row.operands[k] in HALVES and out[name] >= VECTOR + 128:
                out[name] -= 128
                out["opsel"] = out.get("opsel", 0) | 1 << k
        if row.result in HALVES and out["dst"] >= 128:
            out["dst"] -= 128
            out["opsel"] = out.get("opsel", 0) | 8
        return out

    def vop3p(self, at: int, word: int) -> dict[str, int]:
        """Three operands, which may be halves."""
        if word >> 24 != 0xCC:
            raise self.unknown(at, "of that format")
        row, out = self.row(at, "VOP3P", word >> 16 & 127)
        second = self.words[at + 1]
        upper = 8 if row.name.endswith("HI_F16") else 0
        out |= {"size": 2, "dst": word & 255, "a": second & 511, "b": second >> 9 & 511, "c": second >> 18 & 511}
        out |= {"abs": word >> 8 & 7, "neg": second >> 29 & 7, "opsel": word >> 11 & 7 | upper, "clamp": word >> 15 & 1}
        return {**out, "of": (second >> 27 & 3) | (word >> 14 & 1) << 2}

    def vopd(self, at: int, word: int) -> dict[str, int]:
        """Two instructions at once."""
        second = self.words[at + 1]
        first = second >> 24 & 255
        halves = (
            (word >> 22 & 15, word & 511, word >> 9 & 255, first),
            (word >> 17 & 31, second & 511, second >> 9 & 255, (second >> 17 & 127) << 1 | (first & 1 ^ 1)),
        )
        names = [_DUALS.get(half[0], "") for half in halves]
        if "" in names:
            raise self.unknown(at, f"(VOPD {[half[0] for half in halves]})")
        self.names[at] = "::".join(name.replace("V_", "V_DUAL_", 1) for name in names)
        has_literal = any("k" in self.named(name).operands for name in names) or LITERAL in (word & 511, second & 511)
        literal = self.words[at + 2] if has_literal else 0
        start = len(self.words) + len(self.more)
        for name, (_, a, b, dst) in zip(names, halves, strict=True):
            row = self.named(name)
            half = {"op": row.index, "dst": dst, "a": a, "b": VECTOR + b, "literal": literal, **third(row, dst, VCC)}
            self.take_literal(at, {**half, "size": 2})
            self.more.append([half.get(key, 0) for key in FIELDS])
        size = 3 if has_literal else 2
        return {"op": self.named("V_DUAL").index, "size": size, "dst": start, "sdst": start + 1}

    # ---- memory

    def smem(self, at: int, word: int) -> dict[str, int]:
        """Loads into scalar registers."""
        number = word >> 18 & 255
        if number not in _LOADS:
            raise self.unknown(at, f"(SMEM {number})")
        self.names[at], second = _LOADS[number], self.words[at + 1]
        out = {"op": self.named("S_LOAD").index, "size": 2, "dst": word >> 6 & 127, "a": (word & 63) * 2}
        return {**out, "b": second >> 25, "offset": signed(second & 0x1FFFFF, 21), "of": 1 << number}

    def ds(self, at: int, word: int) -> dict[str, int]:
        """A workgroup's memory: one offset of 16 bits, or two of 8."""
        number, second = word >> 18 & 255, self.words[at + 1]
        if number in _EXCHANGES:
            return self.exchange(at, _EXCHANGES[number])
        if number not in SHARED or word >> 17 & 1:
            raise self.unknown(at, f"(DS {number})")
        name, how, size, unit = SHARED[number]
        self.names[at] = f"DS_{name}"
        out = {"op": self.named("DS").index, "size": 2, "dst": second >> 24, "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + (second >> 8 & 255), "c": VECTOR + (second >> 16 & 255), "of": how_of(name, how, size)}
        if not unit:
            return {**out, "offset": word & 0xFFFF, "literal": 0}
        return {**out, "offset": (word & 255) * size * unit, "literal": (word >> 8 & 255) * size * unit, "d": 1}

    def flat(self, at: int, word: int) -> dict[str, int]:
        """The device's memory, a thread's own, or any."""
        segment, number, second = word >> 16 & 3, word >> 18 & 127, self.words[at + 1]
        what = access_of(RDNA3, number)
        if what is None or segment == 3:
            raise self.unknown(at, f"(FLAT {number})")
        name, how = what
        room = ("FLAT", "SCRATCH", "GLOBAL")[segment]
        self.names[at] = f"{room}_{name}"
        out = {"op": self.named(room).index, "size": 2, "dst": second >> 24, "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + (second >> 8 & 255), "c": second >> 16 & 127, "offset": signed(word & 0x1FFF, 13)}
        if segment != 1:
            return {**out, "of": how | (word >> 14 & 1) << 16}
        return {**out, "d": second >> 23 & 1, "of": how}

    def mubuf(self, at: int, word: int) -> dict[str, int]:
        """The cache of a multiprocessor is emptied; there is none here."""
        _, out = self.row(at, "MUBUF", word >> 18 & 255)
        return {**out, "size": 2}
