"""What each instruction of threads computes, compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from rdna_kit import Batch, One, random_of, same

from adstack.backends.rdna.instructions import Instruction, instructions

COUNT: Final = 4000
KINDS: Final = {
    "b16": np.uint16,
    "u16": np.uint16,
    "i16": np.int16,
    "f16": np.float16,
    "b32": np.uint32,
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
}
ROWS: Final = {row.name: row for row in instructions() if not row.is_scalar and not row.is_by_hand}
u32, i32, u64, i64, f32, f64, f16 = np.uint32, np.int32, np.uint64, np.int64, np.float32, np.float64, np.float16
Function = Callable[..., Any]


def bits(x: Any) -> list[str]:
    """Of 32 each, the uppermost first."""
    return [f"{int(v) & 0xFFFFFFFF:032b}" for v in x]


def leading(x: Any) -> Any:
    return np.array([text.find("1") % (1 << 32) for text in bits(x)], np.uint32)


def trailing(x: Any) -> Any:
    return np.array([text[::-1].find("1") % (1 << 32) for text in bits(x)], np.uint32)


def sign_bits(x: Any) -> Any:
    firsts = [(text, text.find("0" if text[0] == "1" else "1")) for text in bits(x)]
    return np.array([at % (1 << 32) for _, at in firsts], np.uint32)


def clipped(kind: Any) -> Function:
    def function(x: Any) -> Any:
        info = np.iinfo(kind)
        wide = np.trunc(x.astype(f64))
        return np.where(np.isnan(wide), 0, np.clip(wide, info.min, info.max)).astype(i64).astype(kind)

    return function


def low24(x: Any) -> Any:
    return (x.astype(u32).view(i32) << 8 >> 8).astype(i64)


def field(x: Any, at: Any, width: Any) -> Any:
    return (x >> (at & 31)) & ((1 << (width & 31).astype(u64)) - 1).astype(u32)


def signed_field(x: Any, at: Any, width: Any) -> Any:
    shifted = x.astype(i64) >> (at & 31).astype(i64)
    size = (width & 31).astype(i64)
    low = shifted & ((1 << size) - 1)
    return np.where(size == 0, 0, low - ((low >> np.maximum(size - 1, 0) & 1) << size)).astype(i32)


def permuted(a: Any, b: Any, c: Any) -> Any:
    out = np.zeros(len(a), u32)
    for k, (x, y, picks) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        source = (x << 32 | y).to_bytes(8, "little")
        signs = [255 * (source[at] >> 7) for at in (1, 3, 5, 7)]
        known = [*source, *signs, 0]
        picked = [known[pick] if pick < 13 else 255 for pick in picks.to_bytes(4, "little")]
        out[k] = int.from_bytes(bytes(picked), "little")
    return out


def median(a: Any, b: Any, c: Any) -> Any:
    return np.sort(np.stack([a, b, c]), axis=0)[1]


def fused(a: Any, b: Any, c: Any) -> Any:
    """Exact, then rounded once: by fractions, so only on few numbers."""
    from fractions import Fraction

    out = np.empty(len(a), a.dtype)
    for k, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        plain = x * y + z
        if not np.isfinite([x, y, z]).all():
            out[k] = z if np.isfinite([x, y]).all() else plain
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        out[k] = rounded(exact, a.dtype.type) if exact else plain
    return out


def rounded(exact: Any, kind: Any) -> Any:
    """A fraction as a float, to the nearest, ties to even."""
    info = np.finfo(kind)
    sign, exact = (-1, -exact) if exact < 0 else (1, exact)
    exponent = max(exact.numerator.bit_length() - exact.denominator.bit_length() - 1, info.minexp)
    while exact >= 2 ** (exponent + 1) if exponent >= -1 else exact * 2 ** -(exponent + 1) >= 1:
        exponent += 1
    unit = exponent - info.nmant
    scaled = round(exact / 2**unit if unit >= 0 else exact * 2**-unit)
    value = scaled * 2**unit if unit >= 0 else scaled
    if exponent >= info.maxexp or (unit >= 0 and value >= 2**info.maxexp):
        return kind(sign * np.inf)
    whole = kind(sign) * np.ldexp(kind(1), 0)
    return whole * kind(np.ldexp(f64(scaled), unit)) if abs(unit) < 1100 else kind(0)


def minimum(a: Any, b: Any) -> Any:
    """Of two numbers; -0 is below 0."""
    least = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, least))


def ldexp(kind: Any) -> Function:
    def function(x: Any, n: Any) -> Any:
        return np.ldexp(x.astype(f64), np.clip(n.astype(i64), -5000, 5000).astype(i32)).astype(kind)

    return function


def wide(function: Function) -> Function:
    """Of f16, as f32, rounded."""
    return lambda *args: function(*(x.astype(f32) for x in args)).astype(f16)


MEANINGS: Final[dict[str, Function]] = {
    "V_MOV_B32": lambda a: a,
    "V_NOT_B32": np.invert,
    "V_BFREV_B32": lambda a: np.array([int(text[::-1], 2) for text in bits(a)], u32),
    "V_CLZ_I32_U32": leading,
    "V_CTZ_I32_B32": trailing,
    "V_CLS_I32": sign_bits,
    **{f"V_CVT_F32_UBYTE{k}": lambda a, k=k: (a >> 8 * k & 255).astype(f32) for k in range(4)},
    "V_CVT_F64_I32": lambda a: a.astype(f64),
    "V_CVT_F64_U32": lambda a: a.astype(f64),
    "V_CVT_F32_I32": lambda a: a.astype(f32),
    "V_CVT_F32_U32": lambda a: a.astype(f32),
    "V_CVT_F16_F32": lambda a: a.astype(f16),
    "V_CVT_F32_F16": lambda a: a.astype(f32),
    "V_CVT_F32_F64": lambda a: a.astype(f32),
    "V_CVT_F64_F32": lambda a: a.astype(f64),
    "V_CVT_F16_U16": lambda a: a.astype(f16),
    "V_CVT_F16_I16": lambda a: a.astype(f16),
    "V_CVT_U32_F32": clipped(u32),
    "V_CVT_I32_F32": clipped(i32),
    "V_CVT_I32_F64": clipped(i32),
    "V_CVT_U32_F64": clipped(u32),
    "V_CVT_U16_F16": clipped(np.uint16),
    "V_CVT_I16_F16": clipped(np.int16),
    "V_CVT_I32_I16": lambda a: a.astype(i32),
    "V_CVT_U32_U16": lambda a: a.astype(u32),
    **{f"V_TRUNC_F{n}": np.trunc for n in (16, 32, 64)},
    **{f"V_CEIL_F{n}": np.ceil for n in (16, 32, 64)},
    **{f"V_RNDNE_F{n}": np.rint for n in (16, 32, 64)},
    **{f"V_FLOOR_F{n}": np.floor for n in (16, 32, 64)},
    "V_RCP_F32": lambda a: f32(1) / a,
    "V_RCP_IFLAG_F32": lambda a: f32(1) / a,
    "V_RSQ_F32": lambda a: (1 / np.sqrt(a.astype(f64))).astype(f32),
    "V_SQRT_F32": np.sqrt,
    "V_RCP_F16": wide(lambda a: 1 / a),
    "V_SQRT_F16": wide(np.sqrt),
    **{f"V_FREXP_MANT_F{n}": lambda a: np.where(np.isinf(a), a, np.frexp(a)[0]) for n in (32, 64)},
    **{f"V_FREXP_EXP_I32_F{n}": lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0) for n in (32, 64)},
    **{f"V_ADD_F{n}": np.add for n in (16, 32, 64)},
    **{f"V_SUB_F{n}": np.subtract for n in (16, 32)},
    **{f"V_SUBREV_F{n}": lambda a, b: b - a for n in (16, 32)},
    **{f"V_MUL_F{n}": np.multiply for n in (16, 32, 64)},
    "V_MUL_I32_I24": lambda a, b: (low24(a) * low24(b)).astype(i32),
    "V_MUL_HI_I32_I24": lambda a, b: (low24(a) * low24(b) >> 32).astype(i32),
    "V_MUL_U32_U24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "V_MUL_HI_U32_U24": lambda a, b: ((a & 0xFFFFFF).astype(u64) * (b & 0xFFFFFF) >> u64(32)).astype(u32),
    **{f"V_MIN_{ty}": np.minimum for ty in ("I32", "U32", "I16", "U16")},
    **{f"V_MAX_{ty}": np.maximum for ty in ("I32", "U32", "I16", "U16")},
    **{f"V_MIN_F{n}": minimum for n in (32, 64)},
    **{f"V_MAX_F{n}": lambda a, b: -minimum(-a, -b) for n in (32, 64)},
    "V_LSHLREV_B32": lambda a, b: b << (a & 31),
    "V_LSHRREV_B32": lambda a, b: b >> (a & 31),
    "V_LSHLREV_B16": lambda a, b: b << (a & 15),
    "V_LSHRREV_B16": lambda a, b: b >> (a & 15),
    "V_ASHRREV_I32": lambda a, b: b >> (a & 31).astype(i32),
    "V_ASHRREV_I16": lambda a, b: b >> (a & 15).astype(np.int16),
    **{f"V_AND_B{n}": np.bitwise_and for n in (16, 32)},
    **{f"V_OR_B{n}": np.bitwise_or for n in (16, 32)},
    **{f"V_XOR_B{n}": np.bitwise_xor for n in (16, 32)},
    "V_XNOR_B32": lambda a, b: ~(a ^ b),
    **{f"V_ADD_NC_{ty}": np.add for ty in ("U32", "I32", "U16", "I16")},
    **{f"V_SUB_NC_{ty}": np.subtract for ty in ("U32", "I32", "U16", "I16")},
    "V_SUBREV_NC_U32": lambda a, b: b - a,
    "V_LDEXP_F32": ldexp(f32),
    "V_LDEXP_F64": ldexp(f64),
    "V_LDEXP_F16": ldexp(f16),
    **{f"V_FMA_F{n}": fused for n in (16, 32, 64)},
    "V_MUL_LO_U32": np.multiply,
    "V_MUL_LO_U16": np.multiply,
    "V_MUL_HI_U32": lambda a, b: (a.astype(u64) * b >> u64(32)).astype(u32),
    "V_MUL_HI_I32": lambda a, b: (a.astype(i64) * b >> 32).astype(i32),
    "V_LSHLREV_B64": lambda a, b: b << (a & 63).astype(u64),
    "V_LSHRREV_B64": lambda a, b: b >> (a & 63).astype(u64),
    "V_ASHRREV_I64": lambda a, b: b >> (a & 63).astype(i64),
    "V_MAD_I32_I24": lambda a, b, c: (low24(a) * low24(b) + c).astype(i32),
    "V_MAD_U32_U24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "V_MAD_U32_U16": lambda a, b, c: a.astype(u32) * b + c,
    "V_MAD_I32_I16": lambda a, b, c: (a.astype(i64) * b + c).astype(i32),
    "V_MAD_U16": lambda a, b, c: a * b + c,
    "V_MAD_I16": lambda a, b, c: a * b + c,
    "V_BFE_U32": field,
    "V_BFE_I32": signed_field,
    "V_BFI_B32": lambda a, b, c: (a & b) | (~a & c),
    "V_ALIGNBIT_B32": lambda a, b, c: ((a.astype(u64) << u64(32) | b) >> (c & 31).astype(u64)).astype(u32),
    "V_ALIGNBYTE_B32": lambda a, b, c: ((a.astype(u64) << u64(32) | b) >> (8 * (c & 3)).astype(u64)).astype(u32),
    "V_PERM_B32": permuted,
    **{f"V_MIN3_{ty}": lambda a, b, c: np.minimum(np.minimum(a, b), c) for ty in ("I32", "U32", "I16", "U16")},
    **{f"V_MAX3_{ty}": lambda a, b, c: np.maximum(np.maximum(a, b), c) for ty in ("I32", "U32", "I16", "U16")},
    **{f"V_MED3_{ty}": median for ty in ("I32", "U32", "I16", "U16")},
    **{f"V_MINMAX_{ty}": lambda a, b, c: np.maximum(np.minimum(a, b), c) for ty in ("I32", "U32")},
    **{f"V_MAXMIN_{ty}": lambda a, b, c: np.minimum(np.maximum(a, b), c) for ty in ("I32", "U32")},
    "V_XOR3_B32": lambda a, b, c: a ^ b ^ c,
    "V_XAD_U32": lambda a, b, c: (a ^ b) + c,
    "V_LSHL_ADD_U32": lambda a, b, c: (a << (b & 31)) + c,
    "V_ADD_LSHL_U32": lambda a, b, c: (a + b) << (c & 31),
    "V_LSHL_OR_B32": lambda a, b, c: (a << (b & 31)) | c,
    "V_ADD3_U32": lambda a, b, c: a + b + c,
    "V_AND_OR_B32": lambda a, b, c: (a & b) | c,
    "V_OR3_B32": lambda a, b, c: a | b | c,
    "V_BCNT_U32_B32": lambda a, b: np.array([text.count("1") for text in bits(a)], u32) + b,
    "V_BFM_B32": lambda a, b: ((u32(1) << (a & 31)) - u32(1)) << (b & 31),
    "V_PACK_B32_F16": lambda a, b: a.astype(u32) | b.astype(u32) << u32(16),
}
"""By numpy, of those whose operands say everything."""
CARRIES: Final[dict[str, tuple[Function, Function]]] = {
    "V_ADD_CO_U32": (lambda a, b: a + b, lambda a, b: a.astype(u64) + b > 0xFFFFFFFF),
    "V_SUB_CO_U32": (lambda a, b: a - b, lambda a, b: b > a),
    "V_SUBREV_CO_U32": (lambda a, b: b - a, lambda a, b: a > b),
    "V_ADD_CO_CI_U32": (lambda a, b, c: a + b + (c != 0), lambda a, b, c: a.astype(u64) + b + (c != 0) > 0xFFFFFFFF),
    "V_SUB_CO_CI_U32": (lambda a, b, c: a - b - (c != 0), lambda a, b, c: b.astype(u64) + (c != 0) > a),
    "V_SUBREV_CO_CI_U32": (lambda a, b, c: b - a - (c != 0), lambda a, b, c: a.astype(u64) + (c != 0) > b),
    "V_MAD_U64_U32": (
        lambda a, b, c: a.astype(u64) * b + c,
        lambda a, b, c: np.array([int(x) * int(y) + int(z) >= 1 << 64 for x, y, z in zip(a, b, c, strict=True)]),
    ),
    "V_MAD_I64_I32": (
        lambda a, b, c: a.astype(i64) * b + c,
        lambda a, b, c: np.array(
            [not -(1 << 63) <= int(x) * int(y) + int(z) < 1 << 63 for x, y, z in zip(a, b, c, strict=True)]
        ),
    ),
}
"""The result, and the bit that comes with it."""
ELSEWHERE: Final = {
    *(
        "V_CNDMASK_B32",
        "V_CNDMASK_B16",
        "V_MOV_B16",
        "V_NOT_B16",
        "V_MBCNT_LO_U32_B32",
        "V_RCP_F64",
        "V_RSQ_F64",
        "V_SQRT_F64",
    ),
    *(f"V_{name}_F{n}" for name in ("FMAC", "FMAMK", "FMAAK") for n in (16, 32)),
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
    text = f"{row.name.lower()} $0, vcc_lo, {places}"
    if inside < len(types):
        text = f"v_cmp_ne_u32_e32 vcc_lo, 0, ${inside + 2}\\0A{text}, vcc_lo"
    text += "\\0Av_cndmask_b32_e64 $1, 0, 1, vcc_lo"
    return One(text, KINDS[row.result.rstrip("+")], types, flags=True, clobbers=",~{vcc}")


def comparing(row: Instruction) -> One:
    name = row.name.lower()
    text = f"{name}_e32 vcc_lo, $1, $2\\0Av_cndmask_b32_e64 $0, 0, 1, vcc_lo"
    if name.startswith("v_cmpx"):
        held = "v_mov_b32 $0, 0\\0As_mov_b32 s40, exec_lo"
        text = f"{held}\\0A{name}_e32 $1, $2\\0Av_mov_b32 $0, 1\\0As_mov_b32 exec_lo, s40"
    return One(text, u32, [KINDS[ty] for ty in row.operands], clobbers=",~{vcc},~{s40}")


def assembled(row: Instruction) -> One | None:
    if row.format == "VOPC":
        return comparing(row)
    return plain(row) if row.name in MEANINGS else carrying(row) if row.name in CARRIES else None


BATCH: Final = Batch({name: one for name, row in ROWS.items() if (one := assembled(row)) is not None})


def test_every_instruction_of_threads_has_a_test():
    rows = {name for name, row in ROWS.items() if row.format != "VOPC"}
    assert rows == (MEANINGS.keys() | CARRIES.keys() | ELSEWHERE) & rows
    assert rows | {"V_DIV_SCALE_F16", "V_DIV_FMAS_F16"} >= MEANINGS.keys() | CARRIES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", MEANINGS)
def test_instructions_of_threads_compute_what_numpy_does(name):
    row = ROWS[name]
    given = operands(row, 400 if name.startswith("V_FMA") else COUNT)
    with np.errstate(all="ignore"):
        wanted = np.asarray(MEANINGS[name](*given)).astype(KINDS[row.result])
    assert same(BATCH.run(name, given)[0], wanted)


@pytest.mark.parametrize("name", CARRIES)
def test_bits_come_with_sums_and_differences(name):
    row = ROWS[name]
    given = operands(row) + ([random_of(u32, COUNT, 9) & 1] if "m" in row.operands else [])
    value, flag = (function(*given) for function in CARRIES[name])
    out, flags = BATCH.run(name, given)
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


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.format == "VOPC"])
def test_comparisons_hold_where_those_of_numpy_do(name):
    row = ROWS[name]
    a, b = operands(row)
    a[: COUNT // 4] = b[: COUNT // 4] if a.dtype == b.dtype else a[: COUNT // 4]
    relation = name.split("_")[2]
    with np.errstate(all="ignore"):
        wanted = classes(a, b) if relation == "CLASS" else RELATIONS[relation](a, b)
    assert same(BATCH.run(name, [a, b])[0], wanted.astype(u32))
