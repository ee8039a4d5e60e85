"""Machine code of gfx1100 as records that the machine runs: "RDNA3 Instruction Set Architecture", microcode formats.

A record is a row of 16 numbers, see `Record` in `core`: the instruction, how many words of 32 bits it takes, where
results go, operands, and what modifies them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.errors import InternalError

from .accesses import SHARED, access_of, how_of
from .instructions import Instruction, instructions

__all__ = ["Decoded", "decoded"]

FIELDS: Final = (
    *("op", "size", "dst", "sdst", "a", "b", "c", "d", "literal", "offset"),
    *("abs", "neg", "omod", "clamp", "opsel", "of"),
)
VCC, NONE, EXEC, LITERAL, VECTOR = 106, 124, 126, 255, 256
_READABLE: Final = {*range(209), *range(235, 239), *range(240, 249), 253, LITERAL, *range(VECTOR, VECTOR + 256)}
"""Codes of operands that the machine knows."""
_HALVES: Final = ("b16", "u16", "i16", "f16")
_MODIFIED: Final = ("b16", "b32", "f16", "f32", "f64")
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


@dataclass
class Decoded:
    """The code of a section.

    Attributes:
        records: a row for each word of 32 bits, and behind them those that instructions of two kinds consist of; rows
            at which no instruction begins are empty.
        extra: how many of these there are.
        names: of the instructions, as AMD writes them, by the number of their first word.
    """

    records: npt.NDArray[np.int32]
    extra: int
    names: dict[int, str] = field(default_factory=dict)


def decoded(sections: Sequence[tuple[int, bytes]]) -> Decoded:
    """All instructions of some sections.

    Args:
        sections: where each begins, as a number of words, and what is in it.

    Raises:
        InternalError: an instruction is not known; the message has its name, or the bits.
    """
    words = [0] * max((start + len(code) // 4 for start, code in sections), default=0)
    for start, code in sections:
        words[start : start + len(code) // 4] = struct.unpack(f"<{len(code) // 4}I", code)
    decoder = _Decoder(words)
    for start, code in sections:
        at, end = start, start + len(code) // 4
        while at < end:
            at += decoder.one(at)
    rows = [*(decoder.rows.get(k, [0] * len(FIELDS)) for k in range(len(words))), *decoder.more]
    return Decoded(np.array(rows, np.int64).astype(np.uint32).view(np.int32), len(decoder.more), decoder.names)


@cache
def _by_number() -> dict[tuple[str, int], Instruction]:
    """In every format that an instruction has; VOP3 takes in those of VOPC, VOP2 and VOP1."""
    table = {(row.format, row.number): row for row in instructions()}
    wide = {"VOPC": 0, "VOP2": 0x100, "VOP1": 0x180, "VOP3SD": 0}
    for row in instructions():
        if row.format in wide and not row.body.startswith("__builtin_fmaf(a, c") and "k" not in row.operands:
            table.setdefault(("VOP3", wide[row.format] + row.number), row)
    return table


@cache
def _by_name() -> dict[str, Instruction]:
    return {row.name: row for row in instructions()}


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


class _Decoder:
    def __init__(self, words: Sequence[int]) -> None:
        self.words = words
        self.rows: dict[int, list[int]] = {}
        self.more: list[list[int]] = []
        self.names: dict[int, str] = {}

    def one(self, at: int) -> int:
        """Decode the instruction at a word; how many words it takes."""
        word = self.words[at]
        if word >> 31 == 0:
            form = {0x3F: "VOP1", 0x3E: "VOPC"}.get(word >> 25, "VOP2")
        elif word >> 30 == 2:
            form = {0x17D: "SOP1", 0x17E: "SOPC", 0x17F: "SOPP"}.get(word >> 23, "SOPK" if word >> 28 == 11 else "SOP2")
        else:
            form = {0x32: "VOPD", 0x33: "VOP3P", 0x35: "VOP3", 0x36: "DS", 0x37: "FLAT", 0x3D: "SMEM"}.get(
                word >> 26, ""
            )
        if not form:
            raise self._unknown(at, "of that format")
        row: dict[str, int] = getattr(self, f"_{form.lower()}")(at, word, form)
        self._take_literal(at, row)
        self.rows[at] = [row.get(name, 0) for name in FIELDS]
        return row["size"]

    def _unknown(self, at: int, what: str) -> InternalError:
        return InternalError(f"the emulator of gfx1100 has no instruction {self.words[at]:#010x} {what}")

    def _row(self, at: int, form: str, number: int) -> tuple[Instruction, dict[str, int]]:
        row = _by_number().get((form, number))
        if row is None:
            raise self._unknown(at, f"({form} {number})")
        self.names[at] = row.name
        return row, {"op": row.index, "size": 1}

    def _second(self, at: int) -> int:
        return self.words[at + 1]

    def _take_literal(self, at: int, row: dict[str, int]) -> None:
        """The constant behind the instruction, where an operand is one."""
        codes = [row[name] for name in "abcd" if name in row]
        if LITERAL in codes and "literal" not in row:
            row["literal"] = self.words[at + row["size"]]
            row["size"] += 1
        if not {code for code in codes if code != EXEC + 1} <= _READABLE:
            raise self._unknown(at, f"({self.names[at]} with operands {codes})")

    # ---- scalar formats

    def _sop1(self, at: int, word: int, form: str) -> dict[str, int]:
        row, out = self._row(at, form, word >> 8 & 255)
        return {**out, "dst": word >> 16 & 127, **({"a": word & 255} if row.operands else {})}

    def _sop2(self, at: int, word: int, form: str) -> dict[str, int]:
        _, out = self._row(at, form, word >> 23 & 127)
        return {**out, "dst": word >> 16 & 127, "a": word & 255, "b": word >> 8 & 255}

    def _sopc(self, at: int, word: int, form: str) -> dict[str, int]:
        _, out = self._row(at, form, word >> 16 & 127)
        return {**out, "a": word & 255, "b": word >> 8 & 255}

    def _sopk(self, at: int, word: int, form: str) -> dict[str, int]:
        """The constant in the word is the second operand, the register of the result the first."""
        row, out = self._row(at, form, word >> 23 & 31)
        low = word & 0xFFFF
        constant = low if row.name.startswith("S_CMPK") and row.name.endswith("U32") else _signed(low, 16)
        return {**out, "dst": word >> 16 & 127, "a": word >> 16 & 127, "b": LITERAL, "literal": constant}

    def _sopp(self, at: int, word: int, form: str) -> dict[str, int]:
        _, out = self._row(at, form, word >> 16 & 127)
        return {**out, "offset": _signed(word & 0xFFFF, 16)}

    def _smem(self, at: int, word: int, form: str) -> dict[str, int]:
        number = word >> 18 & 255
        if number not in _LOADS:
            raise self._unknown(at, f"({form} {number})")
        self.names[at], second = _LOADS[number], self._second(at)
        out = {"op": _by_name()["S_LOAD"].index, "size": 2, "dst": word >> 6 & 127, "a": (word & 63) * 2}
        return {**out, "b": second >> 25, "offset": _signed(second & 0x1FFFFF, 21), "of": 1 << number}

    # ---- vector formats

    def _halves(self, row: Instruction, out: dict[str, int], names: str) -> None:
        """In the short formats, bit 7 of a register's number says that it is about its upper half."""
        for k, name in enumerate(names):
            if row.operands[k : k + 1] and row.operands[k] in _HALVES and out[name] >= VECTOR + 128:
                out[name] -= 128
                out["opsel"] = out.get("opsel", 0) | 1 << k
        if row.result in _HALVES and out["dst"] >= 128:
            out["dst"] -= 128
            out["opsel"] = out.get("opsel", 0) | 8

    def _vop1(self, at: int, word: int, form: str) -> dict[str, int]:
        row, out = self._row(at, form, word >> 9 & 255)
        out |= {"dst": word >> 17 & 255, "a": word & 511}
        self._halves(row, out, "a")
        return out

    def _vop2(self, at: int, word: int, form: str) -> dict[str, int]:
        row, out = self._row(at, form, word >> 25 & 63)
        out |= {"dst": word >> 17 & 255, "a": word & 511, "b": VECTOR + (word >> 9 & 255)}
        self._halves(row, out, "ab")
        return {**out, **_third(row, out["dst"], VCC), "sdst": VCC}

    def _vopc(self, at: int, word: int, form: str) -> dict[str, int]:
        row, out = self._row(at, form, word >> 17 & 255)
        out |= {"dst": 0, "sdst": _goal(row, VCC), "a": word & 511, "b": VECTOR + (word >> 9 & 255)}
        self._halves(row, out, "ab")
        return out

    def _vop3(self, at: int, word: int, form: str) -> dict[str, int]:
        row, out = self._row(at, form, word >> 16 & 1023)
        second = self._second(at)
        operands = (second & 511, second >> 9 & 511, second >> 18 & 511)
        shown = [ty for ty in row.operands if ty != "d"]
        if row.name.startswith("V_DIV_FMAS"):
            shown = shown[:3]
        out |= {"size": 2, "dst": word & 255, **dict(zip("abc", operands[: len(shown)], strict=False))}
        out |= {"omod": second >> 27 & 3, "neg": second >> 29 & 7, "clamp": word >> 15 & 1}
        if row.result[-1] in "+":
            out["sdst"] = word >> 8 & 127
        else:
            out |= {"abs": word >> 8 & 7, "opsel": word >> 11 & 15}
        if row.format == "VOPC":
            out["sdst"] = _goal(row, out["dst"])
        if row.name.startswith("V_DIV_FMAS"):
            out["d"] = VCC
        if "d" in row.operands:
            out |= _third(row, out["dst"], VCC)
        self._allow(at, row, out)
        return out

    def _allow(self, at: int, row: Instruction, out: dict[str, int]) -> None:
        """Only what a type can have may be asked for."""
        signs = sum(1 << k for k, ty in enumerate(row.operands[:3]) if ty in (*_MODIFIED, "d"))
        halves = sum(
            1 << k for k, ty in enumerate(row.operands[:3]) if ty in _HALVES or (ty == "d" and row.result in _HALVES)
        )
        halves |= 8 if row.result in _HALVES else 0
        is_float = row.result.startswith("f")
        strange = (out.get("abs", 0) | out["neg"]) & ~signs or out.get("opsel", 0) & ~halves
        if strange or ((out["omod"] or out["clamp"]) and not is_float):
            raise self._unknown(at, f"({row.name} with modifiers that its types do not have)")

    def _vop3p(self, at: int, word: int, form: str) -> dict[str, int]:
        if word >> 24 != 0xCC:
            raise self._unknown(at, "of that format")
        row, out = self._row(at, form, word >> 16 & 127)
        second = self._second(at)
        upper = 8 if row.name.endswith("HI_F16") else 0
        out |= {"size": 2, "dst": word & 255, "a": second & 511, "b": second >> 9 & 511, "c": second >> 18 & 511}
        out |= {"abs": word >> 8 & 7, "neg": second >> 29 & 7, "opsel": word >> 11 & 7 | upper, "clamp": word >> 15 & 1}
        return {**out, "of": (second >> 27 & 3) | (word >> 14 & 1) << 2}

    def _vopd(self, at: int, word: int, form: str) -> dict[str, int]:
        second = self._second(at)
        first = second >> 24 & 255
        halves = (
            (word >> 22 & 15, word & 511, word >> 9 & 255, first),
            (word >> 17 & 31, second & 511, second >> 9 & 255, (second >> 17 & 127) << 1 | (first & 1 ^ 1)),
        )
        names = [_DUALS.get(half[0], "") for half in halves]
        if "" in names:
            raise self._unknown(at, f"({form} {[half[0] for half in halves]})")
        self.names[at] = "::".join(name.replace("V_", "V_DUAL_", 1) for name in names)
        has_literal = any("k" in _by_name()[name].operands for name in names) or LITERAL in (word & 511, second & 511)
        literal = self.words[at + 2] if has_literal else 0
        start = len(self.words) + len(self.more)
        for name, (_, a, b, dst) in zip(names, halves, strict=True):
            row = _by_name()[name]
            half = {"op": row.index, "dst": dst, "a": a, "b": VECTOR + b, "literal": literal, **_third(row, dst, VCC)}
            self._take_literal(at, {**half, "size": 2})
            self.more.append([half.get(key, 0) for key in FIELDS])
        size = 3 if has_literal else 2
        return {"op": _by_name()["V_DUAL"].index, "size": size, "dst": start, "sdst": start + 1}

    # ---- memory

    def _ds(self, at: int, word: int, form: str) -> dict[str, int]:
        """One offset of 16 bits, or two of 8."""
        number, second = word >> 18 & 255, self._second(at)
        if number not in SHARED or word >> 17 & 1:
            raise self._unknown(at, f"({form} {number})")
        name, how, size, unit = SHARED[number]
        self.names[at] = f"DS_{name}"
        out = {"op": _by_name()["DS"].index, "size": 2, "dst": second >> 24, "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + (second >> 8 & 255), "c": VECTOR + (second >> 16 & 255), "of": how_of(name, how, size)}
        if not unit:
            return {**out, "offset": word & 0xFFFF, "literal": 0}
        return {**out, "offset": (word & 255) * size * unit, "literal": (word >> 8 & 255) * size * unit, "d": 1}

    def _flat(self, at: int, word: int, form: str) -> dict[str, int]:
        segment, number, second = word >> 16 & 3, word >> 18 & 127, self._second(at)
        what = access_of(number)
        if what is None or segment == 3:
            raise self._unknown(at, f"({form} {number})")
        name, how = what
        room = ("FLAT", "SCRATCH", "GLOBAL")[segment]
        self.names[at] = f"{room}_{name}"
        out = {"op": _by_name()[room].index, "size": 2, "dst": second >> 24, "a": VECTOR + (second & 255)}
        out |= {"b": VECTOR + (second >> 8 & 255), "c": second >> 16 & 127, "offset": _signed(word & 0x1FFF, 13)}
        if segment != 1:
            return {**out, "of": how | (word >> 14 & 1) << 16}
        return {**out, "d": second >> 23 & 1, "of": how}


def _third(row: Instruction, dst: int, mask: int) -> dict[str, int]:
    """The operand that the short formats do not name: the register of the result, a constant, or a mask."""
    if row.operands[2:] == ("d",):
        return {"c": VECTOR + dst}
    if row.operands[2:] == ("k",):
        return {"c": LITERAL}
    return {"c": mask} if row.operands[2:] == ("m",) else {}


def _goal(row: Instruction, wanted: int) -> int:
    """Where a comparison's bits go."""
    return EXEC if row.name.startswith("V_CMPX") else wanted
