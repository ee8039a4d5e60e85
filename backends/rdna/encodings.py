"""Formats of machine code that AMD's processors have in common: scalar ones, and those of vectors but for memory.

A record is a row of numbers, see `Record` in `core`: the instruction, how many words of 32 bits it takes, where results
go, operands, and what modifies them. Operands are numbered as in RDNA 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from adstack.errors import InternalError

from .exchanges import BOUNDS, INACTIVE, SWIZZLES, control_exists
from .instructions import BYTES, Instruction, instructions
from .processors import Processor

__all__ = ["EXEC", "FIELDS", "HALVES", "LITERAL", "M0", "NONE", "VCC", "VECTOR", "Encodings", "signed", "third"]

FIELDS: Final = (
    *("op", "size", "dst", "sdst", "a", "b", "c", "d", "literal", "offset"),
    *("abs", "neg", "omod", "clamp", "opsel", "of", "select"),
)
VCC, NONE, M0, EXEC, LITERAL, VECTOR = 106, 124, 125, 126, 255, 256
HALVES: Final = ("b16", "u16", "i16", "f16")
_READABLE: Final = {*range(209), *range(235, 239), *range(240, 249), 253, LITERAL, *range(VECTOR, VECTOR + 512)}
"""Codes of operands that the machine knows."""
_PERMUTATIONS: Final = ("V_PERMLANE16_B32", "V_PERMLANEX16_B32")
"""Instructions where what says which halves are meant says what becomes of threads that are not active."""
_DPP16, _DPP8 = 250, (233, 234)
"""Codes of a first operand that is that of other threads: of 16, or of 8; of these, of inactive threads, too."""
_MODIFIED: Final = ("b16", "b32", "f16", "f32", "f64")


@cache
def _by_number(processor: Processor, first: int) -> dict[tuple[str, int], Instruction]:
    """In every format that an instruction has; VOP3 takes in those of VOPC, VOP2 and, from `first` on, VOP1."""
    rows = instructions(processor)
    table = {(row.format, row.number): row for row in rows}
    wide = {"VOPC": 0, "VOP2": 0x100, "VOP1": first, "VOP3SD": 0}
    for row in rows:
        if row.format in wide and "k" not in row.operands:
            table.setdefault(("VOP3", wide[row.format] + row.number), row)
    return table


@cache
def _by_name(processor: Processor) -> dict[str, Instruction]:
    return {row.name: row for row in instructions(processor)}


def signed(value: int, bits: int) -> int:
    """The number that the lowest `bits` are, the uppermost of them being its sign."""
    return value - (value >> (bits - 1) << bits)


class Encodings(ABC):
    """The instructions of a processor.

    Args:
        processor: whose.
        words: the code.
        first: where VOP1's numbers begin in VOP3.

    Attributes:
        rows: records by the number of their first word.
        more: those that instructions of two kinds consist of.
        names: of the instructions, as AMD writes them, by the number of their first word.
    """

    def __init__(self, processor: Processor, words: Sequence[int], first: int) -> None:
        self.processor = processor
        self.words = words
        self.rows: dict[int, list[int]] = {}
        self.more: list[list[int]] = []
        self.names: dict[int, str] = {}
        self._first = first

    @abstractmethod
    def form(self, word: int) -> str:
        """The format that a word begins, in lower case: one of the methods here; "" if it is none of these."""

    @abstractmethod
    def halves(self, row: Instruction) -> bool:
        """Whether an instruction in the long format says which halves of registers it is about."""

    def code(self, at: int, number: int) -> int:
        """An operand that has a number in the code: its number in records. InternalError if there is none."""
        return number

    def one(self, at: int) -> int:
        """Decode the instruction at a word; how many words it takes."""
        form = self.form(self.words[at])
        if not form:
            raise self.unknown(at, "of that format")
        row: dict[str, int] = getattr(self, form)(at, self.words[at])
        if form in ("vop1", "vop2") and row.get("a") in (_DPP16, *_DPP8):
            row = self._by_other_lanes(at, row)
        self.take_literal(at, row)
        self.rows[at] = [row.get(name, 0) for name in FIELDS]
        return row["size"]

    def unknown(self, at: int, what: str) -> InternalError:
        """The error that an instruction is not there."""
        return InternalError(f"the emulator of {self.processor.name} has no instruction {self.words[at]:#010x} {what}")

    def row(self, at: int, form: str, number: int) -> tuple[Instruction, dict[str, int]]:
        """The instruction of that number in a format, and the start of its record. InternalError if there is none."""
        row = _by_number(self.processor, self._first).get((form, number))
        if row is None:
            raise self.unknown(at, f"({form} {number})")
        self.names[at] = row.name
        return row, {"op": row.index, "size": 1}

    def named(self, name: str) -> Instruction:
        """The instruction of that name."""
        return _by_name(self.processor)[name]

    def take_literal(self, at: int, row: dict[str, int]) -> None:
        """The constant behind the instruction, where an operand is one."""
        codes = [row[name] for name in "abcd" if name in row]
        if LITERAL in codes and "literal" not in row:
            row["literal"] = self.words[at + row["size"]]
            row["size"] += 1
        if not set(codes) <= _READABLE:
            raise self.unknown(at, f"({self.names[at]} with operands {codes})")

    def _by_other_lanes(self, at: int, row: dict[str, int]) -> dict[str, int]:
        """An instruction whose first operand is that of other threads; a second word says which."""
        word, one, eight = self.words[at + 1], self.named(self.names[at]), row["a"] in _DPP8
        inner = {**row, "a": VECTOR + (word & 255)}
        out = {"op": self.named("V_DPP").index, "size": 2, "dst": len(self.words) + len(self.more)}
        if eight:
            out |= {"d": 1, "literal": word >> 8, "of": INACTIVE * _DPP8.index(row["a"])}
        else:
            inner["neg"] = word >> 20 & 1 | (word >> 22 & 1) << 1
            inner["abs"] = word >> 21 & 1 | (word >> 23 & 1) << 1
            rows_and_banks = word >> 28 | (word >> 24 & 15) << 4
            out |= {"offset": word >> 8 & 511, "of": rows_and_banks | BOUNDS * (word >> 19 & 1)}
            out["of"] |= INACTIVE * (word >> 18 & 1)
        self.allow(at, one, {"omod": 0, "clamp": 0, "neg": 0, **inner})
        fits = all(BYTES.get(ty, 4) == 4 for ty in (one.result, *one.operands)) and one.result[-1] not in "+m-"
        has_it = self.processor.lanes == 32 or not (eight or out["of"] & INACTIVE)
        if one.is_by_hand or "k" in one.operands or not fits or not has_it:
            raise self.unknown(at, f"({one.name} by other threads)")
        if not eight and not control_exists(out["offset"], self.processor.lanes):
            raise self.unknown(at, f"({one.name} by the threads {out['offset']:#x})")
        self.names[at] = f"{one.name}_DPP"
        self.more.append([inner.get(key, 0) for key in FIELDS])
        return out

    # ---- scalar formats

    def sop1(self, at: int, word: int) -> dict[str, int]:
        """One operand."""
        row, out = self.row(at, "SOP1", word >> 8 & 255)
        out["dst"] = self.code(at, word >> 16 & 127)
        return {**out, **({"a": self.code(at, word & 255)} if row.operands else {})}

    def sop2(self, at: int, word: int) -> dict[str, int]:
        """Two operands."""
        _, out = self.row(at, "SOP2", word >> 23 & 127)
        return {**out, "dst": self.code(at, word >> 16 & 127), **self._pair(at, word)}

    def sopc(self, at: int, word: int) -> dict[str, int]:
        """A comparison."""
        _, out = self.row(at, "SOPC", word >> 16 & 127)
        return {**out, **self._pair(at, word)}

    def _pair(self, at: int, word: int) -> dict[str, int]:
        return {"a": self.code(at, word & 255), "b": self.code(at, word >> 8 & 255)}

    def sopk(self, at: int, word: int) -> dict[str, int]:
        """The constant in the word is the second operand, the register of the result the first."""
        row, out = self.row(at, "SOPK", word >> 23 & 31)
        low, register = word & 0xFFFF, self.code(at, word >> 16 & 127)
        constant = low if row.name.startswith("S_CMPK") and row.name.endswith("U32") else signed(low, 16)
        return {**out, "dst": register, "a": register, "b": LITERAL, "literal": constant}

    def sopp(self, at: int, word: int) -> dict[str, int]:
        """None, but for a constant."""
        _, out = self.row(at, "SOPP", word >> 16 & 127)
        return {**out, "offset": signed(word & 0xFFFF, 16)}

    def exchange(self, at: int, name: str) -> dict[str, int]:
        """Moves between threads that are written as accesses to a workgroup's memory."""
        word, second = self.words[at], self.words[at + 1]
        self.names[at] = name
        out = {"op": self.named(name).index, "size": 2, "dst": second >> 24, "offset": word & 0xFFFF}
        if name == "DS_SWIZZLE_B32" and out["offset"] >= SWIZZLES:
            raise self.unknown(at, f"({name} of the pattern {out['offset']:#x})")
        return {**out, "a": VECTOR + (second & 255), "b": VECTOR + (second >> 8 & 255)}

    # ---- vector formats

    def vop1(self, at: int, word: int) -> dict[str, int]:
        """One operand."""
        row, out = self.row(at, "VOP1", word >> 9 & 255)
        return self.short(at, row, {**out, "dst": word >> 17 & 255, "a": word & 511})

    def vop2(self, at: int, word: int) -> dict[str, int]:
        """Two operands; the second is a register."""
        row, out = self.row(at, "VOP2", word >> 25 & 63)
        out |= {"dst": word >> 17 & 255, "a": word & 511, "b": VECTOR + (word >> 9 & 255), "sdst": VCC}
        out = self.short(at, row, out)
        return {**out, **third(row, out["dst"], VCC)}

    def vopc(self, at: int, word: int) -> dict[str, int]:
        """A comparison."""
        row, out = self.row(at, "VOPC", word >> 17 & 255)
        out |= {"dst": 0, "sdst": _goal(row, VCC), "a": word & 511, "b": VECTOR + (word >> 9 & 255)}
        return self.short(at, row, out)

    def short(self, at: int, row: Instruction, out: dict[str, int]) -> dict[str, int]:
        """What the processor makes of operands in the short formats."""
        return {**out, "a": self.code(at, out["a"])}

    def vop3(self, at: int, word: int) -> dict[str, int]:
        """Up to three operands, with what modifies them; or two results."""
        row, out = self.row(at, "VOP3", word >> 16 & 1023)
        second = self.words[at + 1]
        operands = (self.code(at, second >> shift & 511) for shift in (0, 9, 18))
        shown = [ty for ty in row.operands if ty != "d"]
        if row.name.startswith("V_DIV_FMAS"):
            shown = shown[:3]
        out |= {"size": 2, "dst": word & 255, **dict(zip("abc"[: len(shown)], operands, strict=False))}
        out |= {"omod": second >> 27 & 3, "neg": second >> 29 & 7, "clamp": word >> 15 & 1}
        if row.result[-1] in "+":
            out["sdst"] = self.code(at, word >> 8 & 127)
        else:
            out |= {"abs": word >> 8 & 7, "opsel": word >> 11 & 15}
        if row.format == "VOPC":
            out["sdst"] = _goal(row, self.code(at, out["dst"]))
        if row.name.startswith("V_DIV_FMAS"):
            out["d"] = VCC
        if "d" in row.operands:
            out |= third(row, out["dst"], VCC)
        self.allow(at, row, out)
        return out

    def allow(self, at: int, row: Instruction, out: Mapping[str, int]) -> None:
        """Only what a type can have may be asked for."""
        signs = sum(1 << k for k, ty in enumerate(row.operands[:3]) if ty in (*_MODIFIED, "d"))
        halves = sum(
            1 << k for k, ty in enumerate(row.operands[:3]) if ty in HALVES or (ty == "d" and row.result in HALVES)
        )
        halves |= 8 if row.result in HALVES else 0
        is_float = row.result.startswith("f")
        clamps = is_float or "rec.clamp" in row.body
        halves |= 3 if row.name in _PERMUTATIONS else 0
        strange = (out.get("abs", 0) | out["neg"]) & ~signs or out.get("opsel", 0) & ~(self.halves(row) and halves)
        if strange or (out["omod"] and not is_float) or (out["clamp"] and not clamps):
            raise self.unknown(at, f"({row.name} with modifiers that its types do not have)")


def third(row: Instruction, dst: int, mask: int) -> dict[str, int]:
    """The operand that the short formats do not name: the register of the result, a constant, or a mask."""
    if row.operands[2:] == ("d",):
        return {"c": VECTOR + dst}
    if row.operands[2:] == ("k",):
        return {"c": LITERAL}
    return {"c": mask} if row.operands[2:] == ("m",) else {}


def _goal(row: Instruction, wanted: int) -> int:
    """Where a comparison's bits go."""
    return EXEC if row.name.startswith("V_CMPX") else wanted
