"""What each instruction of waves computes, and the condition that it leaves, compared with Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np
import pytest
from rdna_kit import Batch, One, random_of, same

from adstack.backends.rdna.instructions import Instruction, instructions
from adstack.backends.rdna.processors import PROCESSORS

COUNT: Final = 200
KINDS: Final = {"u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64}
ROWS: Final = {
    name: {row.name: row for row in instructions(processor) if row.is_scalar} for name, processor in PROCESSORS.items()
}
Function = Callable[..., Any]
NO: Final = None
"""The condition is left as it was."""


def bits(x: int, size: int = 32) -> str:
    return f"{x & (1 << size) - 1:0{size}b}"


def first(x: int, size: int) -> int:
    return bits(x, size).find("1")


def last(x: int, size: int) -> int:
    return bits(x, size)[::-1].find("1")


def sign_bits(x: int) -> int:
    return bits(x).find("0" if x < 0 else "1")


def overflows(x: int) -> bool:
    return not -(1 << 31) <= x < 1 << 31


def field(x: int, packed: int, size: int, *, signed: bool = False) -> int:
    at, width = packed & size - 1, packed >> 16 & 127
    text = bits(x >> at, size)[size - min(width, size) :] if width else ""
    if not text:
        return 0
    return int(text, 2) - (1 << len(text) if signed and text[0] == "1" else 0)


def nonzero(function: Function) -> tuple[Function, Function]:
    """The condition says whether the result, in as many bits as it has, is not 0."""
    return function, lambda r, *args: r != 0


def kept(function: Function) -> tuple[Function, None]:
    return function, NO


MEANINGS: Final[dict[str, tuple[Function, Any]]] = {
    **{f"S_MOV_B{n}": kept(lambda a: a) for n in (32, 64)},
    **{f"S_NOT_B{n}": nonzero(lambda a: ~a) for n in (32, 64)},
    **{f"S_BREV_B{n}": kept(lambda a, n=n: int(bits(a, n)[::-1], 2)) for n in (32, 64)},
    **{f"S_CTZ_I32_B{n}": kept(lambda a, n=n: last(a, n)) for n in (32, 64)},
    **{f"S_CLZ_I32_U{n}": kept(lambda a, n=n: first(a, n)) for n in (32, 64)},
    "S_CLS_I32": kept(sign_bits),
    "S_SEXT_I32_I8": kept(lambda a: (a + 128 & 255) - 128),
    "S_SEXT_I32_I16": kept(lambda a: (a + 32768 & 65535) - 32768),
    "S_ABS_I32": nonzero(abs),
    **{f"S_BCNT1_I32_B{n}": nonzero(lambda a: bits(a, 64).count("1")) for n in (32, 64)},
    "S_ADD_U32": (lambda a, b: a + b, lambda r, a, b: a + b >= 1 << 32),
    "S_SUB_U32": (lambda a, b: a - b, lambda r, a, b: b > a),
    "S_ADD_I32": (lambda a, b: a + b, lambda r, a, b: overflows(a + b)),
    "S_SUB_I32": (lambda a, b: a - b, lambda r, a, b: overflows(a - b)),
    **{f"S_LSHL_B{n}": nonzero(lambda a, b, n=n: a << (b & n - 1)) for n in (32, 64)},
    **{f"S_LSHR_B{n}": nonzero(lambda a, b, n=n: a >> (b & n - 1)) for n in (32, 64)},
    **{f"S_ASHR_I{n}": nonzero(lambda a, b, n=n: a >> (b & n - 1)) for n in (32, 64)},
    **{
        f"S_LSHL{k}_ADD_U32": (lambda a, b, k=k: (a << k) + b, lambda r, a, b, k=k: (a << k) + b >= 1 << 32)
        for k in (1, 2, 3, 4)
    },
    **{f"S_MIN_{ty}": (min, lambda r, a, b: a < b) for ty in ("I32", "U32")},
    **{f"S_MAX_{ty}": (max, lambda r, a, b: a >= b) for ty in ("I32", "U32")},
    **{f"S_AND_B{n}": nonzero(lambda a, b: a & b) for n in (32, 64)},
    **{f"S_OR_B{n}": nonzero(lambda a, b: a | b) for n in (32, 64)},
    **{f"S_XOR_B{n}": nonzero(lambda a, b: a ^ b) for n in (32, 64)},
    **{f"S_NAND_B{n}": nonzero(lambda a, b: ~(a & b)) for n in (32, 64)},
    **{f"S_NOR_B{n}": nonzero(lambda a, b: ~(a | b)) for n in (32, 64)},
    **{f"S_XNOR_B{n}": nonzero(lambda a, b: ~(a ^ b)) for n in (32, 64)},
    **{f"S_AND_NOT1_B{n}": nonzero(lambda a, b: a & ~b) for n in (32, 64)},
    **{f"S_OR_NOT1_B{n}": nonzero(lambda a, b: a | ~b) for n in (32, 64)},
    **{f"S_BFE_U{n}": nonzero(lambda a, b, n=n: field(a, b, n)) for n in (32, 64)},
    **{f"S_BFE_I{n}": nonzero(lambda a, b, n=n: field(a, b, n, signed=True)) for n in (32, 64)},
    **{f"S_BFM_B{n}": kept(lambda a, b, n=n: (1 << (a & n - 1)) - 1 << (b & n - 1)) for n in (32, 64)},
    "S_MUL_I32": kept(lambda a, b: a * b),
    "S_MUL_HI_U32": kept(lambda a, b: a * b >> 32),
    "S_MUL_HI_I32": kept(lambda a, b: a * b >> 32),
    "S_PACK_LL_B32_B16": kept(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    "S_PACK_LH_B32_B16": kept(lambda a, b: a & 0xFFFF | b >> 16 << 16),
    "S_PACK_HH_B32_B16": kept(lambda a, b: a >> 16 | b >> 16 << 16),
    "S_PACK_HL_B32_B16": kept(lambda a, b: a >> 16 | (b & 0xFFFF) << 16),
}
"""The result, and the condition, of the result in its own bits and the operands, by names on gfx1100."""
WITH_CONDITION: Final[dict[str, tuple[Function, Any]]] = {
    **{f"S_CSELECT_B{n}": kept(lambda c, a, b: a if c else b) for n in (32, 64)},
    "S_ADDC_U32": (lambda c, a, b: a + b + c, lambda r, c, a, b: a + b + c >= 1 << 32),
    "S_SUBB_U32": (lambda c, a, b: a - b - c, lambda r, c, a, b: b + c > a),
}
"""The same for those that read the condition: it is the first operand."""
RELATIONS: Final[dict[str, Function]] = {
    "EQ": lambda a, b: a == b,
    "LG": lambda a, b: a != b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "BITCMP0": lambda a, b, n: not a >> (b & n - 1) & 1,
    "BITCMP1": lambda a, b, n: a >> (b & n - 1) & 1,
}
MASKS: Final[dict[str, Function]] = {
    "AND": lambda a, e: a & e,
    "OR": lambda a, e: a | e,
    "XOR": lambda a, e: a ^ e,
    "AND_NOT1": lambda a, e: a & ~e,
    "AND_NOT0": lambda a, e: ~a & e,
    "OR_NOT1": lambda a, e: a | ~e,
    "ANDN1": lambda a, e: ~a & e,
    "ANDN2": lambda a, e: a & ~e,
    "ORN2": lambda a, e: a | ~e,
}
"""S_..._SAVEEXEC: of the operand and the mask of active threads."""
WITH_RESULT: Final[dict[str, Function]] = {
    "S_BITSET0_B32": lambda a, old: old & ~(1 << (a & 31)),
    "S_BITSET1_B32": lambda a, old: old | 1 << (a & 31),
}
"""Of the operand and what the result was before."""
NAMES: Final = {row.like for rows in ROWS.values() for row in rows.values()}
BY_CONSTANT: Final = {"S_MOVK_I32", "S_ADDK_I32", "S_MULK_I32", *(name for name in NAMES if name.startswith("S_CMPK"))}
ELSEWHERE: Final = {
    *("S_NOP", "S_CLAUSE", "S_DELAY_ALU", "S_WAITCNT", "S_WAITCNT_DEPCTR", "S_SET_INST_PREFETCH_DISTANCE"),
    *("S_SENDMSG", "S_CODE_END", "S_ENDPGM", "S_BRANCH", "S_GETPC_B64", "S_SETPC_B64", "S_SWAPPC_B64"),
    *("S_BARRIER", "S_SET_GPR_IDX_ON", "S_SET_GPR_IDX_OFF", "S_SET_GPR_IDX_MODE", "S_SET_GPR_IDX_IDX"),
    *("S_WAITCNT_VSCNT", "BUFFER_GL0_INV", "BUFFER_WBL2", "BUFFER_INV"),
    *(name for name in NAMES if name.startswith("S_CBRANCH")),
}
"""Where a wave goes on, and what changes nothing: kernels show these."""
CONSTANT: Final = 0x8123
TESTED: Final = "s_cselect_b32 {}, 1, 0"


def compares(name: str) -> bool:
    return name.startswith(("S_CMP_", "S_BITCMP"))


def assembled(row: Instruction) -> One | None:
    """The condition is 1 before."""
    name, types = row.name.lower(), [KINDS[ty] for ty in row.operands]
    places = ", ".join(f"${k}" for k in range(2, 2 + len(types)))
    rest: dict[str, Any] = {"flags": np.uint32, "kind": "s", "clobbers": ",~{scc},~{s40},~{s41}"}
    tail = "\\0A" + TESTED.format("$1")
    if row.like in MEANINGS:
        return One(f"s_cmp_eq_u32 0, 0\\0A{name} $0, {places}{tail}", KINDS[row.result], types, **rest)
    if row.name in WITH_CONDITION:
        inside = ", ".join(f"${k}" for k in range(3, 3 + len(types)))
        text = f"s_cmp_lg_u32 $2, 0\\0A{name} $0, {inside}{tail}"
        return One(text, KINDS[row.result], [np.uint32, *types], **rest)
    if compares(row.name):
        return One(f"{name} $1, $2\\0A{TESTED.format('$0')}", None, types, **rest)
    if "SAVEEXEC" in row.name:
        before, after = "s_mov_{b} {mask}, {exec}\\0As_mov_{b} {exec}, $3", "s_mov_{b} $1, {exec}"
        text = f"{before}\\0A{name} $0, $2\\0A{after}\\0As_mov_{{b}} {{exec}}, {{mask}}"
        return One(text, *(types[0], types * 2), **{**rest, "flags": types[0]})
    if row.name in WITH_RESULT:
        return One(f"s_mov_b32 $0, $3\\0A{name} $0, $2{tail}", np.uint32, [np.uint32, np.uint32], **rest)
    if row.name in BY_CONSTANT:
        constant = hex(CONSTANT)
        return One(f"s_mov_b32 $0, $2\\0A{name} $0, {constant}{tail}", KINDS[row.operands[0]], types[:1], **rest)
    return None


BATCHES: Final = {
    processor: Batch({name: one for name, row in rows.items() if (one := assembled(row)) is not None}, processor)
    for processor, rows in ROWS.items()
}


def listed(names: Collection[str]) -> list[tuple[str, str]]:
    """The instructions of each processor that have one of these meanings."""
    every = [(processor, row) for processor, rows in ROWS.items() for row in rows.values()]
    return [(processor, row.name) for processor, row in every if row.like in names]


def test_every_instruction_of_waves_has_a_test():
    for processor, rows in ROWS.items():
        tested = {rows[name].like for name in BATCHES[processor].kernels}
        assert {row.like for row in rows.values()} <= tested | ELSEWHERE | {"S_CMOV_B32"}


def wrapped(values: list[int], kind: Any) -> Any:
    size = np.dtype(kind).itemsize
    return np.array([value % (1 << 8 * size) for value in values], f"u{size}").view(kind)


def checked(processor: str, name: str, given: list[Any], function: Function, condition: Any, kind: Any) -> None:
    out, flags = BATCHES[processor].run(name, given)
    rows = list(zip(*(array.tolist() for array in given), strict=True))
    results = wrapped([function(*row) for row in rows], kind)
    assert same(out, results)
    if condition is not NO:
        assert flags.tolist() == [int(condition(r, *row)) for r, row in zip(results.tolist(), rows, strict=True)]


@pytest.mark.parametrize(("processor", "name"), listed(MEANINGS))
def test_instructions_of_waves_compute_what_python_does(processor, name):
    row = ROWS[processor][name]
    given = [random_of(KINDS[ty], COUNT, k) for k, ty in enumerate(row.operands)]
    checked(processor, name, given, *MEANINGS[row.like], KINDS[row.result])


@pytest.mark.parametrize(("processor", "name"), listed(WITH_CONDITION))
def test_some_read_the_condition(processor, name):
    row = ROWS[processor][name]
    given = [random_of(KINDS[ty], COUNT, k) for k, ty in enumerate(row.operands)]
    checked(processor, name, [random_of(np.uint32, COUNT, 9) & 1, *given], *WITH_CONDITION[name], KINDS[row.result])


@pytest.mark.parametrize(("processor", "name"), listed({name for name in NAMES if compares(name)}))
def test_comparisons_of_waves_leave_a_condition(processor, name):
    row = ROWS[processor][name]
    a, b = (random_of(KINDS[ty], COUNT, k) for k, ty in enumerate(row.operands))
    if a.dtype == b.dtype:
        a[: COUNT // 4] = b[: COUNT // 4]
    _, flags = BATCHES[processor].run(name, [a, b])
    word = name.split("_")[1]
    relation = RELATIONS[word if word != "CMP" else name.split("_")[2]]
    size = (8 * a.dtype.itemsize,) if word != "CMP" else ()
    assert flags.tolist() == [int(relation(x, y, *size)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize(("processor", "name"), listed({name for name in NAMES if "SAVEEXEC" in name}))
def test_masks_of_active_threads_are_saved_and_changed(processor, name):
    kind = KINDS[ROWS[processor][name].result]
    a, mask = random_of(kind, COUNT, 1), random_of(kind, COUNT, 2)
    out, flags = BATCHES[processor].run(name, [a, mask])
    assert same(out, mask)
    assert same(flags, MASKS[name.removeprefix("S_").partition("_SAVEEXEC")[0]](a, mask))


@pytest.mark.parametrize(("processor", "name"), listed(WITH_RESULT))
def test_bits_are_set_where_they_are(processor, name):
    a, old = random_of(np.uint32, COUNT, 1), random_of(np.uint32, COUNT, 2)
    checked(processor, name, [a, old], WITH_RESULT[name], NO, np.uint32)


@pytest.mark.parametrize(("processor", "name"), listed(BY_CONSTANT))
def test_constants_stand_in_the_word(processor, name):
    row = ROWS[processor][name]
    signed = CONSTANT - (1 << 16)
    constant = CONSTANT if name.startswith("S_CMPK") and name.endswith("U32") else signed
    given = random_of(KINDS[row.operands[0]], COUNT)
    given[:20] = np.array(constant).astype(given.dtype)
    out, flags = BATCHES[processor].run(name, [given])
    values = given.tolist()
    if name.startswith("S_CMPK"):
        relation = RELATIONS[name.split("_")[2]]
        assert flags.tolist() == [int(relation(value, constant)) for value in values]
        return
    wanted = {
        "S_MOVK_I32": [constant] * COUNT,
        "S_ADDK_I32": [value + constant for value in values],
        "S_MULK_I32": [value * constant for value in values],
    }[name]
    assert same(out, wrapped(wanted, out.dtype))
    if name == "S_ADDK_I32":
        assert flags.tolist() == [int(overflows(value)) for value in wanted]
