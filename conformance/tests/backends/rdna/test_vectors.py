"""What each instruction of threads computes, compared with numpy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import pytest
from rdna_kit import Batch, One, random_of, same
from rdna_meanings import CARRIES, KINDS, MEANINGS, Function

from adstack.backends.rdna.instructions import Instruction, instructions
from adstack.backends.rdna.processors import PROCESSORS

COUNT: Final = 3600
"""Whole workgroups of each processor."""
ROWS: Final = {
    name: {row.name: row for row in instructions(processor) if not row.is_scalar and not row.is_by_hand}
    for name, processor in PROCESSORS.items()
}
u32, i64 = np.uint32, np.int64
ELSEWHERE: Final = {
    *(
        "V_CNDMASK_B32",
        "V_CNDMASK_B16",
        "V_MOV_B16",
        "V_NOT_B16",
        "V_MBCNT_LO_U32_B32",
        "V_MBCNT_HI_U32_B32",
        "V_ACCVGPR_READ_B32",
        "V_ACCVGPR_WRITE_B32",
        "V_RCP_F64",
        "V_RSQ_F64",
        "V_SQRT_F64",
    ),
    *(f"V_{name}_F{n}" for name in ("FMAC", "FMAMK", "FMAAK") for n in (16, 32)),
    "V_FMAC_F64",
    *(f"V_DIV_{name}_F{n}" for name in ("SCALE", "FMAS", "FIXUP") for n in (16, 32, 64)),
}
"""What has tests of its own."""


def operands(row: Instruction, count: int = COUNT) -> list[Any]:
    return [random_of(KINDS[ty], count, k) for k, ty in enumerate(row.operands) if ty != "m"]


def plain(row: Instruction) -> One:
    places = ", ".join(f"${k}" for k in range(len(row.operands) + 1))
    return One(f"{row.name.lower()} {places}", KINDS[row.result], [KINDS[ty] for ty in row.operands])


def carrying(row: Instruction) -> One:
    """The bits of threads come and go in VCC."""
    types = [KINDS.get(ty, u32) for ty in row.operands]
    inside = len(types) - ("m" in row.operands)
    places = ", ".join(f"${k + 2}" for k in range(inside))
    text = f"{row.name.lower()} $0, {{vcc}}, {places}"
    if inside < len(types):
        text = f"v_cmp_ne_u32_e32 {{vcc}}, 0, ${inside + 2}\\0A{text}, {{vcc}}"
    text += "\\0Av_cndmask_b32_e64 $1, 0, 1, {vcc}"
    return One(text, KINDS[row.result.rstrip("+")], types, flags=u32, clobbers=",~{vcc}")


def comparing(row: Instruction) -> One:
    name = row.name.lower()
    text = f"{name}_e32 {{vcc}}, $1, $2\\0Av_cndmask_b32_e64 $0, 0, 1, {{vcc}}"
    if name.startswith("v_cmpx"):
        held = "v_mov_b32 $0, 0\\0As_mov_{b} {mask}, {exec}"
        text = f"{held}\\0A{name}_e32 $1, $2\\0Av_mov_b32 $0, 1\\0As_mov_{{b}} {{exec}}, {{mask}}"
    return One(text, u32, [KINDS[ty] for ty in row.operands], clobbers=",~{vcc},~{s40},~{s41}")


def assembled(row: Instruction) -> One | None:
    if row.format == "VOPC":
        return comparing(row)
    if row.name in ELSEWHERE | {"V_ACCVGPR_MOV_B32"}:
        return None
    return plain(row) if row.like in MEANINGS else carrying(row) if row.like in CARRIES else None


BATCHES: Final = {
    processor: Batch({name: one for name, row in rows.items() if (one := assembled(row)) is not None}, processor)
    for processor, rows in ROWS.items()
}


def listed(names: Collection[str]) -> list[tuple[str, str]]:
    """The instructions of each processor that have one of these meanings."""
    every = [(processor, row) for processor, rows in ROWS.items() for row in rows.values()]
    return [(processor, row.name) for processor, row in every if row.like in names and assembled(row) is not None]


def test_every_instruction_of_threads_has_a_test():
    rows = {row.like for each in ROWS.values() for row in each.values() if row.format != "VOPC"}
    tested = MEANINGS.keys() | CARRIES.keys() | ELSEWHERE
    assert rows <= tested
    assert rows | {"V_DIV_SCALE_F16", "V_DIV_FMAS_F16"} >= tested


@pytest.mark.parametrize(("processor", "name"), listed(MEANINGS))
def test_instructions_of_threads_compute_what_numpy_does(processor, name):
    row = ROWS[processor][name]
    given = operands(row, 360 if name.startswith("V_FMA") else COUNT)
    with np.errstate(all="ignore"):
        wanted = np.asarray(MEANINGS[row.like](*given)).astype(KINDS[row.result])
    assert same(BATCHES[processor].run(name, given)[0], wanted)


@pytest.mark.parametrize(("processor", "name"), listed(CARRIES))
def test_bits_come_with_sums_and_differences(processor, name):
    row = ROWS[processor][name]
    given = operands(row) + ([random_of(u32, COUNT, 9) & 1] if "m" in row.operands else [])
    value, flag = (function(*given) for function in CARRIES[row.like])
    out, flags = BATCHES[processor].run(name, given)
    assert same(out, value.astype(out.dtype))
    assert same(flags, flag.astype(u32))


RELATIONS: Final[dict[str, Function]] = {
    "LT": np.less,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "NE": np.not_equal,
    "NEQ": np.not_equal,
    "LG": lambda a, b: (a < b) | (a > b),
    "NLG": lambda a, b: ~((a < b) | (a > b)),
    "NLT": lambda a, b: ~(a < b),
    "NLE": lambda a, b: ~(a <= b),
    "NGT": lambda a, b: ~(a > b),
    "NGE": lambda a, b: ~(a >= b),
    "U": lambda a, b: np.isnan(a) | np.isnan(b),
    "O": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}


def classes(x: Any, asked: Any) -> Any:
    """Whether a float is of one of the classes that bits ask for."""
    info, minus, nan = np.finfo(x.dtype), np.signbit(x), np.isnan(x)
    raw = x.view(f"u{x.dtype.itemsize}")
    quiet = nan & (raw >> np.array(info.nmant - 1, raw.dtype) & np.array(1, raw.dtype) == 1)
    small = (np.abs(x) < info.tiny) & (x != 0)
    normal = np.isfinite(x) & ~small & (x != 0)
    each = [nan & ~quiet, quiet, np.isinf(x) & minus, normal & minus, small & minus, (x == 0) & minus]
    each += [(x == 0) & ~minus, small & ~minus, normal & ~minus, np.isinf(x) & ~minus]
    return np.any([one & (asked >> np.array(k, asked.dtype) & 1 == 1) for k, one in enumerate(each)], axis=0)


def compared() -> list[tuple[str, str]]:
    return [(processor, name) for processor, rows in ROWS.items() for name in rows if rows[name].format == "VOPC"]


@pytest.mark.parametrize(("processor", "name"), compared())
def test_comparisons_hold_where_those_of_numpy_do(processor, name):
    row = ROWS[processor][name]
    a, b = operands(row)
    a[: COUNT // 4] = b[: COUNT // 4] if a.dtype == b.dtype else a[: COUNT // 4]
    relation = name.split("_")[2]
    with np.errstate(all="ignore"):
        wanted = classes(a, b) if relation == "CLASS" else RELATIONS[relation](a, b)
    assert same(BATCHES[processor].run(name, [a, b])[0], wanted.astype(u32))
