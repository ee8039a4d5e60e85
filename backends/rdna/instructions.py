"""The instructions that there are, of each processor, and their meanings as C++: any other is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from . import exchanges, gfx942
from .arithmetic import ARITHMETIC
from .core import LOOP, OPERANDS, TYPES, head
from .memory import MEMORY
from .processors import GFX942, GFX1100, Processor
from .running import RUN
from .scalars import SCALARS
from .vectors import VECTORS

__all__ = ["BYTES", "Instruction", "instructions", "source"]

_Row: TypeAlias = "tuple[str, int, str, str, tuple[str, ...], str]"
"""Format, number, name, types, meaning."""
BYTES: Final = {
    "b16": 2,
    "u16": 2,
    "i16": 2,
    "f16": 2,
    "b32": 4,
    "u32": 4,
    "i32": 4,
    "f32": 4,
    "u64": 8,
    "i64": 8,
    "f64": 8,
}
_C: Final = {"b16": "u16", "b32": "u32"}
_ORDER: Final = {"LT": "a < b", "EQ": "a == b", "LE": "a <= b", "GT": "a > b", "GE": "a >= b"}
_FLOATS: Final = {
    **{name: (number, _ORDER[name]) for name, number in zip(_ORDER, (1, 2, 3, 4, 6), strict=True)},
    "LG": (5, "a < b || a > b"),
    "O": (7, "a == a && b == b"),
    "U": (8, "a != a || b != b"),
    "NGE": (9, "!(a >= b)"),
    "NLG": (10, "!(a < b || a > b)"),
    "NGT": (11, "!(a > b)"),
    "NLE": (12, "!(a <= b)"),
    "NEQ": (13, "!(a == b)"),
    "NLT": (14, "!(a < b)"),
}
_INTEGERS: Final = {
    **{name: (number, _ORDER[name]) for name, number in zip(_ORDER, (1, 2, 3, 4, 6), strict=True)},
    "NE": (5, "a != b"),
}
_BASES: Final = {
    "f16": 0,
    "f32": 16,
    "f64": 32,
    "i16": 48,
    "u16": 56,
    "i32": 64,
    "u32": 72,
    "i64": 80,
    "u64": 88,
}
"""Where the numbers of the comparisons of a type begin on gfx1100."""
_CLASSES: Final = {"f16": 125, "f32": 126, "f64": 127}
_BY_HAND: Final[tuple[_Row, ...]] = (
    ("VOP1", 2, "V_READFIRSTLANE_B32", "u32", ("u32",), "read_first_lane"),
    ("VOP1", 66, "V_MOVRELD_B32", "u32", ("u32",), "move_to"),
    ("VOP1", 67, "V_MOVRELS_B32", "u32", ("u32",), "move_from"),
    ("VOP3", 864, "V_READLANE_B32", "u32", ("u32", "u32"), "read_lane"),
    ("VOP3", 865, "V_WRITELANE_B32", "u32", ("u32", "u32"), "write_lane"),
    ("VOP3P", 32, "V_FMA_MIX_F32", "f32", ("f32", "f32", "f32"), "fma_mix"),
    ("VOP3P", 33, "V_FMA_MIXLO_F16", "f16", ("f32", "f32", "f32"), "fma_mix_half"),
    ("VOP3P", 34, "V_FMA_MIXHI_F16", "f16", ("f32", "f32", "f32"), "fma_mix_half"),
    ("VOP3", 603, "V_PERMLANE16_B32", "u32", ("u32", "u32", "u32"), "permute_row<0>"),
    ("VOP3", 604, "V_PERMLANEX16_B32", "u32", ("u32", "u32", "u32"), "permute_row<16>"),
    ("VOPD", 0, "V_DUAL", "-", (), "dual"),
    *exchanges.BY_HAND,
    ("SMEM", 0, "S_LOAD", "-", ("u64", "u32"), "load_scalars"),
    ("DS", 0, "DS", "-", ("u32", "u32"), "access_shared"),
    ("FLAT", 0, "FLAT", "-", ("u64", "u32"), "access_flat"),
    ("FLAT", 1, "SCRATCH", "-", ("u32", "u32"), "access_scratch"),
    ("FLAT", 2, "GLOBAL", "-", ("u64", "u32", "u64"), "access_global"),
)
"""Those of gfx1100 that `core` has a function for: format, number, name, types, function."""


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    Attributes:
        index: among all.
        format: of its encoding, the shortest that it has: "SOP1", "VOP3SD", ...
        number: its opcode in that format.
        name: as AMD writes it.
        result: its type; "m" for a bit of each thread, "-" for none; "+" at the end where such bits come with it.
        operands: their types.
        body: what is computed; the name of a function where `is_by_hand`.
        like: its name on gfx1100, where that has the same; its own name otherwise.
        zeroes: whether a result of 16 bits sets the upper half of the register to zeros.
    """

    index: int
    format: str
    number: int
    name: str
    result: str
    operands: tuple[str, ...]
    body: str
    like: str
    zeroes: bool = False
    is_by_hand: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether it works on scalar registers alone, or on none."""
        return self.format.startswith("SOP") or self.format == "MUBUF"


@cache
def instructions(processor: Processor) -> tuple[Instruction, ...]:
    """All those of a processor."""
    mine = [*_listed(SCALARS), *_listed(VECTORS)]
    listed, by_hand = [(row, row[2]) for row in mine], _BY_HAND
    if processor is GFX942:
        listed, by_hand = list(_listed_again(gfx942.LISTED, {row[2]: row for row in mine})), gfx942.BY_HAND
    listed += [(row, row[2]) for row in _comparisons(processor)]
    rows = [Instruction(index, *row, like, _zeroes(processor, row)) for index, (row, like) in enumerate(listed)]
    return (*rows, *(Instruction(len(rows) + k, *row, row[2], is_by_hand=True) for k, row in enumerate(by_hand)))


def _zeroes(processor: Processor, row: _Row) -> bool:
    """Those that came with GFX9, in the long format alone, leave the other half as it is."""
    form, name, result = row[0], row[2], row[3]
    return processor.zeroes and BYTES.get(result) == 2 and (form != "VOP3" or "LEGACY" in name)


def _listed(text: str) -> Iterator[_Row]:
    form = ""
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            form = line.strip("[]")
        else:
            yield _parsed(form, line)


def _parsed(form: str, line: str) -> _Row:
    head, body = line.split(" : ", 1)
    number, name, result, *operands = head.split()
    return form, int(number), name, result, tuple(operands), body


def _listed_again(text: str, meanings: Mapping[str, _Row]) -> Iterator[tuple[_Row, str]]:
    """The instructions of another processor, each with the name that has its meaning; see `gfx942`."""
    form = ""
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            form = line.strip("[]")
        elif " : " in line:
            row = _parsed(form, line)
            yield row, row[2]
        else:
            for entry in line.split(", "):
                number, names = entry.split()
                name, _, other = names.partition("=")
                like = other or name
                yield (form, int(number), name, *meanings[like][3:]), like


def _comparisons(processor: Processor) -> Iterator[_Row]:
    """Into a scalar register, and, from 128 on, into the mask of active threads."""
    is_first = processor is GFX1100
    bases, classes = (_BASES, _CLASSES) if is_first else (gfx942.BASES, gfx942.CLASSES)
    for first, word in ((0, "CMP"), (128, "CMPX"))[: 2 if is_first else 1]:
        for ty, base in bases.items():
            for name, (number, body) in (_FLOATS if ty.startswith("f") else _INTEGERS).items():
                yield "VOPC", first + base + number, f"V_{word}_{name}_{ty.upper()}", "m", (ty, ty), body
        for ty, number in classes.items():
            bits = "u16" if ty == "f16" else "u32"
            yield "VOPC", first + number, f"V_{word}_CLASS_{ty.upper()}", "m", (ty, bits), "is_of_class(a, b)"


def source(processor: Processor) -> str:
    """A processor, as C++: all its instructions, and what runs them."""
    rows = instructions(processor)
    functions = [_scalar(row) if row.is_scalar else _vector(row) for row in rows if not row.is_by_hand]
    kinds = ", ".join(_kind(row) for row in rows)
    table = f"const Kind KINDS[] = {{{kinds}}};"
    behind = [LOOP, exchanges.EXCHANGES, MEMORY, table, RUN]
    return "\n".join([head(processor), TYPES, ARITHMETIC, OPERANDS, *functions, *behind])


def _kind(row: Instruction) -> str:
    """How it is run, and what is written for it."""
    if row.is_by_hand:
        how = "BY_INDEX_NOT" if row.format.startswith("VOP") else "NEVER"
        return f"{{{row.body}, 0, false, false, {how}}}"
    size = 0 if row.is_scalar or row.result == "m" else BYTES.get(row.result.rstrip("+"), 0)
    how = "NEVER" if row.is_scalar else "BY_INDEX" if row.like == "V_MOV_B32" else "BY_INDEX_NOT"
    flags, zeroes = (str(one).lower() for one in (row.result[-1] in "m+", row.zeroes))
    return f"{{run_{row.index}, {size}, {flags}, {zeroes}, {how}}}"


def _statement(row: Instruction) -> str:
    """A body that is the result, or statements that set it."""
    is_value = row.result != "-" and "r = " not in row.body and "&r" not in row.body
    return f"r = ({row.body});" if is_value else f"{row.body.replace('branch', 'pc += i64(rec.offset) * 4')};"


def _scalar(row: Instruction) -> str:
    has_result = row.result != "-"
    lines = ["u32& scc = w.scc; u64& pc = w.pc; Bits exec = bits_of(w, EXEC);"]
    lines += [
        f"const {ty} {name} = value<{ty}>(w, rec, rec.{name});" for name, ty in zip("ab", row.operands, strict=False)
    ]
    if has_result:
        size = BYTES[row.result]
        lines.append(f"{row.result} r = 0; const {row.result} old = narrowed<{row.result}>(w.s[rec.dst]);")
    lines.append(_statement(row))
    if "exec = " in row.body:
        lines.append("set_scalar(w, EXEC, exec, sizeof exec);")
    if has_result:
        lines.append(f"set_scalar(w, rec.dst, raw(r), {size});")
    return _function(row, lines)


def _vector(row: Instruction) -> str:
    sources, reads = [], []
    for name, ty in zip("abcd", row.operands, strict=False):
        kind = ty if ty not in "dk" else row.result
        word, c = ("Mask", "bool") if kind == "m" else (f"Source<{_C.get(kind, kind)}>", _C.get(kind, kind))
        sources.append(f"const {word} of_{name}(w, rec, rec.{name}, {'abcd'.index(name)});")
        reads.append(f"const {c} {name} = of_{name}[l];")
    kind = row.result.rstrip("+")
    result = "bool" if kind == "m" else _C.get(kind, kind)
    out = "flags |= Bits(r) << l;" if kind == "m" else "out[l] = raw(modified(rec, r)); flags |= Bits(flag) << l;"
    loop = [*reads, f"{result} r; bool flag = false;", _statement(row), out]
    head = "for (u32 l = 0, end = last(w); l < end; ++l)"
    return _function(row, [*sources, "flags = 0;", f"{head} {{ {' '.join(loop)} }}"])


def _function(row: Instruction, lines: list[str]) -> str:
    parameters = "Wave& w, const Record& rec, u64* out, Bits& flags"
    return f"// {row.name}\nstatic void run_{row.index}({parameters}) {{ {' '.join(lines)} }}"
