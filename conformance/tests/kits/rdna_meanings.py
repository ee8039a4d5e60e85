"""What instructions of threads mean, by numpy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

__all__ = ["CARRIES", "KINDS", "MEANINGS", "Function"]

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
    "V_MOV_B64": lambda a: a,
    "V_SUBREV_U16": lambda a, b: b - a,
    "V_MIN_F16": minimum,
    "V_MAX_F16": lambda a, b: -minimum(-a, -b),
    "V_LSHL_ADD_U64": lambda a, b, c: (a << (b & 7).astype(u64)) + c,
    "V_PACK_B32_F16": lambda a, b: a.astype(u32) | b.astype(u32) << u32(16),
}
"""By numpy, of those whose operands say everything, under their names on gfx1100."""
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
