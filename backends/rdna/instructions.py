"""The instructions of gfx1100 that there are, and their meanings as C++: any other is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from .arithmetic import ARITHMETIC
from .core import LOOP, OPERANDS, TYPES
from .running import RUN
from .scalars import SCALARS
from .vectors import VECTORS

__all__ = ["Instruction", "instructions", "source"]

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
_TYPES: Final = ("f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64")
"""In the order of the comparisons' numbers: floats have 16 of them, integers 8."""
_BY_HAND: Final = (
    ("VOP1", 2, "V_READFIRSTLANE_B32", "u32", ("u32",), "read_first_lane"),
    ("VOP1", 66, "V_MOVRELD_B32", "u32", ("u32",), "move_to"),
    ("VOP1", 67, "V_MOVRELS_B32", "u32", ("u32",), "move_from"),
    ("VOP3", 864, "V_READLANE_B32", "u32", ("u32", "u32"), "read_lane"),
    ("VOP3", 865, "V_WRITELANE_B32", "u32", ("u32", "u32"), "write_lane"),
    ("VOP3P", 32, "V_FMA_MIX_F32", "f32", ("f32", "f32", "f32"), "fma_mix"),
    ("VOP3P", 33, "V_FMA_MIXLO_F16", "f16", ("f32", "f32", "f32"), "fma_mix_half"),
    ("VOP3P", 34, "V_FMA_MIXHI_F16", "f16", ("f32", "f32", "f32"), "fma_mix_half"),
    ("VOPD", 0, "V_DUAL", "-", (), "dual"),
    ("SMEM", 0, "S_LOAD", "-", ("u64", "u32"), "load_scalars"),
    ("DS", 0, "DS", "-", ("u32", "u32"), "access_shared"),
    ("FLAT", 0, "FLAT", "-", ("u64", "u32"), "access_flat"),
    ("FLAT", 1, "SCRATCH", "-", ("u32", "u32"), "access_scratch"),
    ("FLAT", 2, "GLOBAL", "-", ("u64", "u32", "u64"), "access_global"),
)
"""Those that `core` has a function for: format, number, name, types, function."""


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
    """

    index: int
    format: str
    number: int
    name: str
    result: str
    operands: tuple[str, ...]
    body: str
    is_by_hand: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether it works on scalar registers alone."""
        return self.format.startswith("SOP")


@cache
def instructions() -> tuple[Instruction, ...]:
    """All of them."""
    listed = [*_listed(SCALARS), *_listed(VECTORS), *_comparisons()]
    rows = [Instruction(index, *row) for index, row in enumerate(listed)]
    return (*rows, *(Instruction(len(rows) + k, *row, is_by_hand=True) for k, row in enumerate(_BY_HAND)))


def _listed(text: str) -> Iterator[tuple[str, int, str, str, tuple[str, ...], str]]:
    form = ""
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            form = line.strip("[]")
            continue
        head, body = line.split(" : ", 1)
        number, name, result, *operands = head.split()
        yield form, int(number), name, result, tuple(operands), body


def _comparisons() -> Iterator[tuple[str, int, str, str, tuple[str, ...], str]]:
    """Into a scalar register, and, from 128 on, into the mask of active threads."""
    for first, word in ((0, "CMP"), (128, "CMPX")):
        at = first
        for ty in _TYPES:
            is_float = ty.startswith("f")
            for name, (number, body) in (_FLOATS if is_float else _INTEGERS).items():
                yield "VOPC", at + number, f"V_{word}_{name}_{ty.upper()}", "m", (ty, ty), body
            at += 16 if is_float else 8
        for k, ty in enumerate(("f16", "f32", "f64")):
            bits = "u16" if ty == "f16" else "u32"
            yield "VOPC", first + 125 + k, f"V_{word}_CLASS_{ty.upper()}", "m", (ty, bits), "is_of_class(a, b)"


def source() -> str:
    """The machine, as C++: all instructions, and what runs them."""
    rows = instructions()
    functions = [_scalar(row) if row.is_scalar else _vector(row) for row in rows if not row.is_by_hand]
    kinds = ", ".join(_kind(row) for row in rows)
    table = f"const Kind KINDS[] = {{{kinds}}};"
    return "\n".join([TYPES, ARITHMETIC, OPERANDS, *functions, LOOP, table, RUN])


def _kind(row: Instruction) -> str:
    """How it is run, and what is written for it."""
    if row.is_by_hand:
        return f"{{{row.body}, 0, false}}"
    size = 0 if row.is_scalar or row.result == "m" else BYTES[row.result.rstrip("+")]
    flags = str(row.result[-1] in "m+").lower()
    return f"{{run_{row.index}, {size}, {flags}}}"


def _statement(row: Instruction) -> str:
    """A body that is the result, or statements that set it."""
    is_value = row.result != "-" and "r = " not in row.body and "&r" not in row.body
    return f"r = ({row.body});" if is_value else f"{row.body.replace('branch', 'pc += i64(rec.offset) * 4')};"


def _scalar(row: Instruction) -> str:
    has_result = row.result != "-"
    lines = ["u32 &scc = w.scc, &exec = w.s[EXEC]; u64& pc = w.pc;"]
    lines += [
        f"const {ty} {name} = value<{ty}>(w, rec, rec.{name});" for name, ty in zip("ab", row.operands, strict=False)
    ]
    if has_result:
        size = BYTES[row.result]
        lines.append(f"{row.result} r = 0; const {row.result} old = narrowed<{row.result}>(w.s[rec.dst]);")
    lines.append(_statement(row))
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
    out = "flags |= u32(r) << l;" if kind == "m" else "out[l] = raw(modified(rec, r)); flags |= u32(flag) << l;"
    loop = [*reads, f"{result} r; bool flag = false;", _statement(row), out]
    return _function(row, [*sources, "flags = 0;", f"for (u32 l = 0; l < LANES; ++l) {{ {' '.join(loop)} }}"])


def _function(row: Instruction, lines: list[str]) -> str:
    parameters = "Wave& w, const Record& rec, u64* out, u32& flags"
    return f"// {row.name}\nstatic void run_{row.index}({parameters}) {{ {' '.join(lines)} }}"
