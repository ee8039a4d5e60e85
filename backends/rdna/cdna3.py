"""Formats of machine code of gfx942: "AMD Instinct MI300 Instruction Set Architecture" (CDNA 3), microcode formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .accesses import CDNA3, SHARED_CDNA3, access_of, how_of
from .encodings import LITERAL, M0, NONE, VCC, VECTOR, Encodings, signed
from .instructions import Instruction
from .processors import GFX942

__all__ = ["Cdna3"]

_LONG: Final = {0x30: "smem", 0x34: "vop3", 0x36: "ds", 0x37: "flat", 0x38: "mubuf"}
_M0, _SELECTED, _OFF = 124, 249, 127
"""Codes that differ from those of records: of M0, of operands that are parts of registers, and of no register."""
_BEHIND: Final = 256
"""The first register that is for matrices."""
_LOADS: Final = {number: f"S_LOAD_DWORD{size}" for number, size in enumerate(("", "X2", "X4", "X8", "X16"))}

_EXCHANGES: Final = {61: "DS_SWIZZLE_B32", 63: "DS_BPERMUTE_B32"}


class Cdna3(Encodings):
    """The instructions of gfx942."""

    def __init__(self, words: Sequence[int]) -> None:
        super().__init__(GFX942, words, 0x140)

    def form(self, word: int) -> str:
        """See `Encodings.form`."""
        if word >> 31 == 0:
            return {0x3F: "vop1", 0x3E: "vopc"}.get(word >> 25, "vop2")
        if word >> 30 == 2:
            return {0x17D: "sop1", 0x17E: "sopc", 0x17F: "sopp"}.get(word >> 23, "sopk" if word >> 28 == 11 else "sop2")
        return "vop3p" if word >> 23 == 0x1A7 else _LONG.get(word >> 26, "")

    def halves(self, row: Instruction) -> bool:
        """See `Encodings.halves`: those that came with GFX9 do."""
        return row.format == "VOP3" and not row.zeroes

    def code(self, at: int, number: int) -> int:
        """See `Encodings.code`."""
        if number == M0:
            raise self.unknown(at, f"({self.names[at]} with operand {number})")
        return M0 if number == _M0 else number

    def sopc(self, at: int, word: int) -> dict[str, int]:
        """A comparison; or registers are indexed from here on, where the second operand says which."""
        if word >> 16 & 127 != self.named("S_SET_GPR_IDX_ON").number:
            return super().sopc(at, word)
        _, out = self.row(at, "SOPC", word >> 16 & 127)
        return {**out, "a": self.code(at, word & 255), "of": word >> 8 & 15}

    def short(self, at: int, row: Instruction, out: dict[str, int]) -> dict[str, int]:
        """Operands may be parts of registers: a second word says which (SDWA)."""
        if row.name == "V_ACCVGPR_MOV_B32":
            return {**out, "dst": _BEHIND + out["dst"], "a": _BEHIND + out["a"]}
        if row.name == "V_READFIRSTLANE_B32":
            out["dst"] = self.code(at, out["dst"])
        return self._selected(at, row, out) if out["a"] == _SELECTED else super().short(at, row, out)

    def _selected(self, at: int, row: Instruction, out: dict[str, int]) -> dict[str, int]:
        word, parts = self.words[at + 1], 0
        out |= {"size": 2, "clamp": word >> 13 & 1, "omod": word >> 14 & 3}
        out |= {name: word >> bit & 1 | (word >> bit + 8 & 1) << 1 for name, bit in (("neg", 20), ("abs", 21))}
        for k, ty in enumerate(row.operands[:2]):
            bits = word >> (16 + 8 * k)
            which, extends, scalar = bits & 7, bits >> 3 & 1, bits >> 7 & 1
            number = word & 255 if k == 0 else out["b"] - VECTOR
            out["ab"[k]] = self.code(at, number) if scalar else VECTOR + number
            if which == 7 or (ty in ("f32", "f64", "u64", "i64") and (which, extends) != (6, 0)):
                raise self.unknown(at, f"({row.name} of a part of an operand)")
            parts |= 0 if (which, extends) == (6, 0) else (128 | extends << 3 | which) << 8 * k
        if row.format == "VOPC":
            out |= {"clamp": 0, "omod": 0}
            out["sdst"] = self.code(at, word >> 8 & 127) if word >> 15 & 1 else VCC
        else:
            parts |= self._goal(at, row, word) << 16
        self.allow(at, row, out)
        return {**out, "select": parts}

    def _goal(self, at: int, row: Instruction, word: int) -> int:
        """Which part of a register is written, and what becomes of the others: zeros, or they stay."""
        which, others = word >> 8 & 7, word >> 11 & 3
        if which == 6:
            return 0
        if which == 7 or others not in (0, 2) or row.result in ("f64", "u64", "i64"):
            raise self.unknown(at, f"({row.name} of a part of its result)")
        return 128 | others << 3 | which

    def vop3(self, at: int, word: int) -> dict[str, int]:
        """See `Encodings.vop3`; there is no constant behind these."""
        out = super().vop3(at, word)
        if self.names[at] == "V_READLANE_B32":
            out["dst"] = self.code(at, out["dst"])
        return self._without_constant(at, out)

    def _without_constant(self, at: int, out: dict[str, int]) -> dict[str, int]:
        if LITERAL in [out.get(name) for name in "abc"]:
            raise self.unknown(at, f"({self.names[at]} with a constant)")
        return out

    def vop3p(self, at: int, word: int) -> dict[str, int]:
        """Operands that are two, or halves; and moves from and to registers for matrices."""
        row, out = self.row(at, "VOP3P", word >> 16 & 127)
        second = self.words[at + 1]
        operands = [self.code(at, second >> shift & 511) for shift in (0, 9, 18)][: len(row.operands)]
        out |= {"size": 2, "dst": word & 255, **dict(zip("abc", operands, strict=False))}
        if row.name.startswith("V_ACCVGPR"):
            behind = "dst" if row.name == "V_ACCVGPR_WRITE_B32" else "a"
            return {**out, behind: out[behind] + _BEHIND}
        upper = 8 if row.name.endswith("HI_F16") else 0
        out |= {"abs": word >> 8 & 7, "neg": second >> 29 & 7, "opsel": word >> 11 & 7 | upper, "clamp": word >> 15 & 1}
        if row.name.startswith("V_PK") and (out["clamp"] or any(128 <= code < VECTOR for code in operands)):
            raise self.unknown(at, f"({row.name} with operands {operands}, or clamped)")
        return self._without_constant(at, {**out, "of": (second >> 27 & 3) | (word >> 14 & 1) << 2})

    # ---- memory

    def smem(self, at: int, word: int) -> dict[str, int]:
        """Loads into scalar registers, at a constant distance, or at one that a register has, or both."""
        number, second = word >> 18 & 255, self.words[at + 1]
        if number not in _LOADS:
            raise self.unknown(at, f"(SMEM {number})")
        by_constant, by_both = word >> 17 & 1, word >> 14 & 1
        self.names[at] = _LOADS[number]
        out = {"op": self.named("S_LOAD").index, "size": 2, "dst": word >> 6 & 127, "a": (word & 63) * 2}
        offset = signed(second & 0x1FFFFF, 21) if by_constant else 0
        register = NONE
        if by_both or not by_constant:
            register = self.code(at, second >> 25 if by_both else second & 127)
        return {**out, "b": register, "offset": offset, "of": 1 << number}

    def ds(self, at: int, word: int) -> dict[str, int]:
        """A workgroup's memory: one offset of 16 bits, or two of 8."""
        number, second = word >> 17 & 255, self.words[at + 1]
        if number in _EXCHANGES:
            return self.exchange(at, _EXCHANGES[number])
        if number not in SHARED_CDNA3 or word >> 16 & 1:
            raise self.unknown(at, f"(DS {number})")
        name, how, size, unit = SHARED_CDNA3[number]
        self.names[at], behind = f"DS_{name}", _BEHIND * (word >> 25 & 1)
        out = {"op": self.named("DS").index, "size": 2, "dst": behind + (second >> 24), "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + behind + (second >> 8 & 255), "c": VECTOR + behind + (second >> 16 & 255)}
        out["of"] = how_of(name, how, size)
        if not unit:
            return {**out, "offset": word & 0xFFFF, "literal": 0}
        return {**out, "offset": (word & 255) * size * unit, "literal": (word >> 8 & 255) * size * unit, "d": 1}

    def flat(self, at: int, word: int) -> dict[str, int]:
        """The device's memory, a thread's own, or any."""
        segment, number, second = word >> 14 & 3, word >> 18 & 127, self.words[at + 1]
        what = access_of(CDNA3, number)
        if what is None or segment == 3:
            raise self.unknown(at, f"(FLAT {number})")
        name, how = what
        room = ("FLAT", "SCRATCH", "GLOBAL")[segment]
        self.names[at], behind = f"{room}_{name}", _BEHIND * (second >> 23 & 1)
        base = second >> 16 & 127
        out = {"op": self.named(room).index, "size": 2, "dst": behind + (second >> 24), "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + behind + (second >> 8 & 255), "c": NONE if base == _OFF else self.code(at, base)}
        out["offset"] = signed(word & 0x1FFF, 13)
        return {**out, "d": word >> 13 & 1, "of": how} if segment == 1 else {**out, "of": how | (word >> 16 & 1) << 16}

    def mubuf(self, at: int, word: int) -> dict[str, int]:
        """Caches are written back and emptied; there are none here."""
        _, out = self.row(at, "MUBUF", word >> 18 & 127)
        return {**out, "size": 2}
