"""Instructions of each thread of a wave, which work on vector registers.

A line is a number, a name, the type of the result, the types of the operands, and what is computed of them, in C++.
Numbers are those of AMD's machine-readable description of RDNA 3, meanings those of its "Instruction Set Architecture".

Operands are a, b, c and d, the result is r. A type of the result with + is followed by a `flag` of each thread, m is
such an operand. An operand d is the result's register before, k a constant in the code; b16 and b32 are bits, of which
the uppermost may be changed as a sign. l is the number of the thread in the wave. Of integers, those results
can be clamped whose lines ask for it, by `rec.clamp`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["VECTORS"]

VECTORS: Final = """
[VOP1]
  1 V_MOV_B32 b32 b32 : a
 28 V_MOV_B16 b16 b16 : a
 55 V_NOT_B32 u32 u32 : ~a
 56 V_BFREV_B32 u32 u32 : reversed(a)
 57 V_CLZ_I32_U32 u32 u32 : a ? __builtin_clz(a) : ~0u
 58 V_CTZ_I32_B32 u32 u32 : a ? __builtin_ctz(a) : ~0u
 59 V_CLS_I32 u32 i32 : sign_bits(a)
  4 V_CVT_F64_I32 f64 i32 : f64(a)
  3 V_CVT_I32_F64 i32 f64 : saturated<i32>(a)
  5 V_CVT_F32_I32 f32 i32 : f32(a)
  6 V_CVT_F32_U32 f32 u32 : f32(a)
  7 V_CVT_U32_F32 u32 f32 : saturated<u32>(a)
  8 V_CVT_I32_F32 i32 f32 : saturated<i32>(a)
 10 V_CVT_F16_F32 f16 f32 : f16(a)
 11 V_CVT_F32_F16 f32 f16 : f32(a)
 15 V_CVT_F32_F64 f32 f64 : f32(a)
 16 V_CVT_F64_F32 f64 f32 : f64(a)
 17 V_CVT_F32_UBYTE0 f32 u32 : f32(a & 255)
 18 V_CVT_F32_UBYTE1 f32 u32 : f32(a >> 8 & 255)
 19 V_CVT_F32_UBYTE2 f32 u32 : f32(a >> 16 & 255)
 20 V_CVT_F32_UBYTE3 f32 u32 : f32(a >> 24)
 21 V_CVT_U32_F64 u32 f64 : saturated<u32>(a)
 22 V_CVT_F64_U32 f64 u32 : f64(a)
 80 V_CVT_F16_U16 f16 u16 : f16(f32(a))
 81 V_CVT_F16_I16 f16 i16 : f16(f32(a))
 82 V_CVT_U16_F16 u16 f16 : saturated<u16>(f32(a))
 83 V_CVT_I16_F16 i16 f16 : saturated<i16>(f32(a))
106 V_CVT_I32_I16 i32 i16 : i32(a)
107 V_CVT_U32_U16 u32 u16 : u32(a)
 93 V_TRUNC_F16 f16 f16 : f16(__builtin_truncf(a))
 92 V_CEIL_F16 f16 f16 : f16(__builtin_ceilf(a))
 94 V_RNDNE_F16 f16 f16 : f16(__builtin_rintf(a))
 91 V_FLOOR_F16 f16 f16 : f16(__builtin_floorf(a))
 33 V_TRUNC_F32 f32 f32 : __builtin_truncf(a)
 34 V_CEIL_F32 f32 f32 : __builtin_ceilf(a)
 35 V_RNDNE_F32 f32 f32 : __builtin_rintf(a)
 36 V_FLOOR_F32 f32 f32 : __builtin_floorf(a)
 23 V_TRUNC_F64 f64 f64 : __builtin_trunc(a)
 24 V_CEIL_F64 f64 f64 : __builtin_ceil(a)
 25 V_RNDNE_F64 f64 f64 : __builtin_rint(a)
 26 V_FLOOR_F64 f64 f64 : __builtin_floor(a)
 42 V_RCP_F32 f32 f32 : near(1 / f64(a), w)
 43 V_RCP_IFLAG_F32 f32 f32 : near(1 / f64(a), w)
 46 V_RSQ_F32 f32 f32 : near(1 / __builtin_sqrt(f64(a)), w)
 51 V_SQRT_F32 f32 f32 : near(__builtin_sqrt(f64(a)), w)
 84 V_RCP_F16 f16 f16 : f16(1 / f32(a))
 85 V_SQRT_F16 f16 f16 : f16(__builtin_sqrtf(a))
 47 V_RCP_F64 f64 f64 : coarse(1 / a, w)
 49 V_RSQ_F64 f64 f64 : coarse(1 / __builtin_sqrt(a), w)
 52 V_SQRT_F64 f64 f64 : coarse(__builtin_sqrt(a), w)
 64 V_FREXP_MANT_F32 f32 f32 : fraction(a)
 63 V_FREXP_EXP_I32_F32 i32 f32 : binary_exponent(a)
 61 V_FREXP_MANT_F64 f64 f64 : fraction(a)
 60 V_FREXP_EXP_I32_F64 i32 f64 : binary_exponent(a)
[VOP2]
  1 V_CNDMASK_B32 b32 b32 b32 m : c ? b : a
  3 V_ADD_F32 f32 f32 f32 : a + b
  4 V_SUB_F32 f32 f32 f32 : a - b
  5 V_SUBREV_F32 f32 f32 f32 : b - a
  8 V_MUL_F32 f32 f32 f32 : a * b
  9 V_MUL_I32_I24 i32 u32 u32 : i32(low24(a) * low24(b))
 10 V_MUL_HI_I32_I24 i32 u32 u32 : i32(low24(a) * low24(b) >> 32)
 11 V_MUL_U32_U24 u32 u32 u32 : (a & 0xffffff) * (b & 0xffffff)
 12 V_MUL_HI_U32_U24 u32 u32 u32 : u32(u64(a & 0xffffff) * (b & 0xffffff) >> 32)
 17 V_MIN_I32 i32 i32 i32 : a < b ? a : b
 18 V_MAX_I32 i32 i32 i32 : a >= b ? a : b
 19 V_MIN_U32 u32 u32 u32 : a < b ? a : b
 20 V_MAX_U32 u32 u32 u32 : a >= b ? a : b
 15 V_MIN_F32 f32 f32 f32 : least(a, b)
 16 V_MAX_F32 f32 f32 f32 : -least(-a, -b)
 24 V_LSHLREV_B32 u32 u32 u32 : b << (a & 31)
 25 V_LSHRREV_B32 u32 u32 u32 : b >> (a & 31)
 26 V_ASHRREV_I32 i32 u32 i32 : b >> (a & 31)
 27 V_AND_B32 u32 u32 u32 : a & b
 28 V_OR_B32 u32 u32 u32 : a | b
 29 V_XOR_B32 u32 u32 u32 : a ^ b
 30 V_XNOR_B32 u32 u32 u32 : ~(a ^ b)
 32 V_ADD_CO_CI_U32 u32+ u32 u32 m : u64 t = u64(a) + b + c; r = u32(t); flag = t >> 32 != 0
 33 V_SUB_CO_CI_U32 u32+ u32 u32 m : u64 t = u64(b) + c; r = u32(a - t); flag = t > a
 34 V_SUBREV_CO_CI_U32 u32+ u32 u32 m : u64 t = u64(a) + c; r = u32(b - t); flag = t > b
 37 V_ADD_NC_U32 u32 u32 u32 : rec.clamp && a > ~b ? ~0u : a + b
 38 V_SUB_NC_U32 u32 u32 u32 : rec.clamp && b > a ? 0 : a - b
 39 V_SUBREV_NC_U32 u32 u32 u32 : rec.clamp && a > b ? 0 : b - a
 43 V_FMAC_F32 f32 f32 f32 d : __builtin_fmaf(a, b, c)
 44 V_FMAMK_F32 f32 f32 f32 k : __builtin_fmaf(a, c, b)
 45 V_FMAAK_F32 f32 f32 f32 k : __builtin_fmaf(a, b, c)
 50 V_ADD_F16 f16 f16 f16 : f16(f32(a) + f32(b))
 51 V_SUB_F16 f16 f16 f16 : f16(f32(a) - f32(b))
 52 V_SUBREV_F16 f16 f16 f16 : f16(f32(b) - f32(a))
 53 V_MUL_F16 f16 f16 f16 : f16(f32(a) * f32(b))
 54 V_FMAC_F16 f16 f16 f16 d : fused(a, b, c)
 55 V_FMAMK_F16 f16 f16 f16 k : fused(a, c, b)
 56 V_FMAAK_F16 f16 f16 f16 k : fused(a, b, c)
 57 V_MAX_F16 f16 f16 f16 : -least(-a, -b)
 58 V_MIN_F16 f16 f16 f16 : least(a, b)
 59 V_LDEXP_F16 f16 f16 i16 : f16(f32(scaled(f64(a), b)))
[VOP3]
531 V_FMA_F32 f32 f32 f32 f32 : __builtin_fmaf(a, b, c)
532 V_FMA_F64 f64 f64 f64 f64 : __builtin_fma(a, b, c)
584 V_FMA_F16 f16 f16 f16 f16 : fused(a, b, c)
807 V_ADD_F64 f64 f64 f64 : a + b
808 V_MUL_F64 f64 f64 f64 : a * b
809 V_MIN_F64 f64 f64 f64 : least(a, b)
810 V_MAX_F64 f64 f64 f64 : -least(-a, -b)
796 V_LDEXP_F32 f32 f32 i32 : f32(scaled(f64(a), b))
811 V_LDEXP_F64 f64 f64 i32 : scaled(a, b)
812 V_MUL_LO_U32 u32 u32 u32 : a * b
813 V_MUL_HI_U32 u32 u32 u32 : u32(u64(a) * b >> 32)
814 V_MUL_HI_I32 i32 i32 i32 : i32(i64(a) * b >> 32)
828 V_LSHLREV_B64 u64 u32 u64 : b << (a & 63)
829 V_LSHRREV_B64 u64 u32 u64 : b >> (a & 63)
830 V_ASHRREV_I64 i64 u32 i64 : b >> (a & 63)
522 V_MAD_I32_I24 i32 u32 u32 i32 : i32(u32(low24(a) * low24(b)) + u32(c))
523 V_MAD_U32_U24 u32 u32 u32 u32 : (a & 0xffffff) * (b & 0xffffff) + c
528 V_BFE_U32 u32 u32 u32 u32 : u32(field(a, b & 31, c & 31))
529 V_BFE_I32 i32 i32 u32 u32 : i32(signed_field(a, b & 31, c & 31, 32))
530 V_BFI_B32 u32 u32 u32 u32 : (a & b) | (~a & c)
534 V_ALIGNBIT_B32 u32 u32 u32 u32 : u32((u64(a) << 32 | b) >> (c & 31))
535 V_ALIGNBYTE_B32 u32 u32 u32 u32 : u32((u64(a) << 32 | b) >> 8 * (c & 3))
580 V_PERM_B32 u32 u32 u32 u32 : permuted(u64(a) << 32 | b, c)
538 V_MIN3_I32 i32 i32 i32 i32 : i32 t = a < b ? a : b; r = t < c ? t : c
539 V_MIN3_U32 u32 u32 u32 u32 : u32 t = a < b ? a : b; r = t < c ? t : c
541 V_MAX3_I32 i32 i32 i32 i32 : i32 t = a > b ? a : b; r = t > c ? t : c
542 V_MAX3_U32 u32 u32 u32 u32 : u32 t = a > b ? a : b; r = t > c ? t : c
544 V_MED3_I32 i32 i32 i32 i32 : i32 t = a < b ? a : b, s = a < b ? b : a; r = c < t ? t : c > s ? s : c
545 V_MED3_U32 u32 u32 u32 u32 : u32 t = a < b ? a : b, s = a < b ? b : a; r = c < t ? t : c > s ? s : c
576 V_XOR3_B32 u32 u32 u32 u32 : a ^ b ^ c
581 V_XAD_U32 u32 u32 u32 u32 : (a ^ b) + c
582 V_LSHL_ADD_U32 u32 u32 u32 u32 : (a << (b & 31)) + c
583 V_ADD_LSHL_U32 u32 u32 u32 u32 : (a + b) << (c & 31)
597 V_ADD3_U32 u32 u32 u32 u32 : a + b + c
598 V_LSHL_OR_B32 u32 u32 u32 u32 : (a << (b & 31)) | c
599 V_AND_OR_B32 u32 u32 u32 u32 : (a & b) | c
600 V_OR3_B32 u32 u32 u32 u32 : a | b | c
798 V_BCNT_U32_B32 u32 u32 u32 : __builtin_popcount(a) + b
797 V_BFM_B32 u32 u32 u32 : ((1u << (a & 31)) - 1) << (b & 31)
799 V_MBCNT_LO_U32_B32 u32 u32 u32 : __builtin_popcount(a & (l < 32 ? (1u << l) - 1 : ~0u)) + b
800 V_MBCNT_HI_U32_B32 u32 u32 u32 : (l < 32 ? 0 : __builtin_popcount(a & ((1u << (l - 32)) - 1))) + b
596 V_DIV_FIXUP_F16 f16 f16 f16 f16 : fixed_half(a, b, c)
551 V_DIV_FIXUP_F32 f32 f32 f32 f32 : fixed(a, b, c)
552 V_DIV_FIXUP_F64 f64 f64 f64 f64 : fixed(a, b, c)
567 V_DIV_FMAS_F32 f32 f32 f32 f32 m : d ? unscaled(a, b, c) : __builtin_fmaf(a, b, c)
568 V_DIV_FMAS_F64 f64 f64 f64 f64 m : d ? unscaled(a, b, c) : __builtin_fma(a, b, c)
605 V_CNDMASK_B16 b16 b16 b16 m : c ? b : a
866 V_AND_B16 u16 u16 u16 : a & b
867 V_OR_B16 u16 u16 u16 : a | b
868 V_XOR_B16 u16 u16 u16 : a ^ b
489 V_NOT_B16 u16 u16 : ~a
771 V_ADD_NC_U16 u16 u16 u16 : a + b
772 V_SUB_NC_U16 u16 u16 u16 : a - b
781 V_ADD_NC_I16 i16 i16 i16 : a + b
782 V_SUB_NC_I16 i16 i16 i16 : a - b
773 V_MUL_LO_U16 u16 u16 u16 : u32(a) * b
824 V_LSHLREV_B16 u16 u16 u16 : b << (a & 15)
825 V_LSHRREV_B16 u16 u16 u16 : b >> (a & 15)
826 V_ASHRREV_I16 i16 u16 i16 : b >> (a & 15)
780 V_MIN_I16 i16 i16 i16 : a < b ? a : b
778 V_MAX_I16 i16 i16 i16 : a >= b ? a : b
779 V_MIN_U16 u16 u16 u16 : a < b ? a : b
777 V_MAX_U16 u16 u16 u16 : a >= b ? a : b
577 V_MAD_U16 u16 u16 u16 u16 : u32(a) * b + c
785 V_PACK_B32_F16 u32 b16 b16 : u32(a) | u32(b) << 16
586 V_MIN3_I16 i16 i16 i16 i16 : i16 t = a < b ? a : b; r = t < c ? t : c
589 V_MAX3_I16 i16 i16 i16 i16 : i16 t = a > b ? a : b; r = t > c ? t : c
592 V_MED3_I16 i16 i16 i16 i16 : i16 t = a < b ? a : b, s = a < b ? b : a; r = c < t ? t : c > s ? s : c
587 V_MIN3_U16 u16 u16 u16 u16 : u16 t = a < b ? a : b; r = t < c ? t : c
590 V_MAX3_U16 u16 u16 u16 u16 : u16 t = a > b ? a : b; r = t > c ? t : c
593 V_MED3_U16 u16 u16 u16 u16 : u16 t = a < b ? a : b, s = a < b ? b : a; r = c < t ? t : c > s ? s : c
613 V_MINMAX_I32 i32 i32 i32 i32 : i32 t = a < b ? a : b; r = t > c ? t : c
611 V_MINMAX_U32 u32 u32 u32 u32 : u32 t = a < b ? a : b; r = t > c ? t : c
612 V_MAXMIN_I32 i32 i32 i32 i32 : i32 t = a > b ? a : b; r = t < c ? t : c
610 V_MAXMIN_U32 u32 u32 u32 u32 : u32 t = a > b ? a : b; r = t < c ? t : c
601 V_MAD_U32_U16 u32 u16 u16 u32 : u32(a) * b + c
602 V_MAD_I32_I16 i32 i16 i16 i32 : i32(u32(i32(a) * b) + u32(c))
595 V_MAD_I16 i16 i16 i16 i16 : i16(u32(i32(a) * b) + u32(i32(c)))
806 V_ADD_NC_I32 i32 i32 i32 : i32(u32(a) + u32(b))
805 V_SUB_NC_I32 i32 i32 i32 : i32(u32(a) - u32(b))
[VOP3SD]
768 V_ADD_CO_U32 u32+ u32 u32 : r = a + b; flag = r < a
769 V_SUB_CO_U32 u32+ u32 u32 : r = a - b; flag = b > a
770 V_SUBREV_CO_U32 u32+ u32 u32 : r = b - a; flag = a > b
766 V_MAD_U64_U32 u64+ u32 u32 u64 : flag = __builtin_add_overflow(u64(a) * b, c, &r)
767 V_MAD_I64_I32 i64+ i32 i32 i64 : flag = __builtin_add_overflow(i64(a) * b, c, &r)
764 V_DIV_SCALE_F32 f32+ f32 f32 f32 : r = prepared(a, b, c, flag)
765 V_DIV_SCALE_F64 f64+ f64 f64 f64 : r = prepared(a, b, c, flag)
"""
