"""Instructions of a whole wave, which work on scalar registers.

A line is a number, a name, the type of the result, the types of the operands, and what is computed of them, in C++.
Numbers are those of AMD's machine-readable description of RDNA 3, meanings those of its "Instruction Set Architecture".

Operands are a and b, the result is r, or `old` before; - is no result. `exec` has a bit for each active thread, `pc` is
where the wave goes on, `scc` the condition, and "branch" a jump by the instruction's offset.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCALARS"]

SCALARS: Final = """
[SOP1]
  0 S_MOV_B32 u32 u32 : a
  1 S_MOV_B64 u64 u64 : a
  2 S_CMOV_B32 u32 u32 : scc ? a : old
 30 S_NOT_B32 u32 u32 : r = ~a; scc = r != 0
 31 S_NOT_B64 u64 u64 : r = ~a; scc = r != 0
  4 S_BREV_B32 u32 u32 : reversed(a)
  5 S_BREV_B64 u64 u64 : u64(reversed(u32(a))) << 32 | reversed(u32(a >> 32))
  8 S_CTZ_I32_B32 u32 u32 : a ? __builtin_ctz(a) : ~0u
  9 S_CTZ_I32_B64 u32 u64 : a ? __builtin_ctzl(a) : ~0u
 10 S_CLZ_I32_U32 u32 u32 : a ? __builtin_clz(a) : ~0u
 11 S_CLZ_I32_U64 u32 u64 : a ? __builtin_clzl(a) : ~0u
 12 S_CLS_I32 u32 i32 : sign_bits(a)
 14 S_SEXT_I32_I8 i32 u32 : i32(i8(a))
 15 S_SEXT_I32_I16 i32 u32 : i32(i16(a))
 16 S_BITSET0_B32 u32 u32 : old & ~(1u << (a & 31))
 18 S_BITSET1_B32 u32 u32 : old | 1u << (a & 31)
 21 S_ABS_I32 i32 i32 : r = i32(a < 0 ? 0u - u32(a) : u32(a)); scc = r != 0
 24 S_BCNT1_I32_B32 u32 u32 : r = __builtin_popcount(a); scc = r != 0
 25 S_BCNT1_I32_B64 u32 u64 : r = __builtin_popcountl(a); scc = r != 0
 32 S_AND_SAVEEXEC_B32 u32 u32 : r = exec; exec = a & exec; scc = exec != 0
 34 S_OR_SAVEEXEC_B32 u32 u32 : r = exec; exec = a | exec; scc = exec != 0
 36 S_XOR_SAVEEXEC_B32 u32 u32 : r = exec; exec = a ^ exec; scc = exec != 0
 48 S_AND_NOT1_SAVEEXEC_B32 u32 u32 : r = exec; exec = a & ~exec; scc = exec != 0
 44 S_AND_NOT0_SAVEEXEC_B32 u32 u32 : r = exec; exec = ~a & exec; scc = exec != 0
 50 S_OR_NOT1_SAVEEXEC_B32 u32 u32 : r = exec; exec = a | ~exec; scc = exec != 0
 71 S_GETPC_B64 u64 : pc
 72 S_SETPC_B64 - u64 : pc = a
 73 S_SWAPPC_B64 u64 u64 : r = pc; pc = a
[SOP2]
  0 S_ADD_U32 u32 u32 u32 : r = a + b; scc = r < a
  1 S_SUB_U32 u32 u32 u32 : r = a - b; scc = b > a
  2 S_ADD_I32 i32 i32 i32 : scc = __builtin_add_overflow(a, b, &r)
  3 S_SUB_I32 i32 i32 i32 : scc = __builtin_sub_overflow(a, b, &r)
  4 S_ADDC_U32 u32 u32 u32 : u64 t = u64(a) + b + scc; r = u32(t); scc = t >> 32 != 0
  5 S_SUBB_U32 u32 u32 u32 : u64 t = u64(b) + scc; r = u32(a - t); scc = t > a
  8 S_LSHL_B32 u32 u32 u32 : r = a << (b & 31); scc = r != 0
  9 S_LSHL_B64 u64 u64 u32 : r = a << (b & 63); scc = r != 0
 10 S_LSHR_B32 u32 u32 u32 : r = a >> (b & 31); scc = r != 0
 11 S_LSHR_B64 u64 u64 u32 : r = a >> (b & 63); scc = r != 0
 12 S_ASHR_I32 i32 i32 u32 : r = a >> (b & 31); scc = r != 0
 13 S_ASHR_I64 i64 i64 u32 : r = a >> (b & 63); scc = r != 0
 14 S_LSHL1_ADD_U32 u32 u32 u32 : u64 t = (u64(a) << 1) + b; r = u32(t); scc = t >> 32 != 0
 15 S_LSHL2_ADD_U32 u32 u32 u32 : u64 t = (u64(a) << 2) + b; r = u32(t); scc = t >> 32 != 0
 16 S_LSHL3_ADD_U32 u32 u32 u32 : u64 t = (u64(a) << 3) + b; r = u32(t); scc = t >> 32 != 0
 17 S_LSHL4_ADD_U32 u32 u32 u32 : u64 t = (u64(a) << 4) + b; r = u32(t); scc = t >> 32 != 0
 18 S_MIN_I32 i32 i32 i32 : scc = a < b; r = scc ? a : b
 19 S_MIN_U32 u32 u32 u32 : scc = a < b; r = scc ? a : b
 20 S_MAX_I32 i32 i32 i32 : scc = a >= b; r = scc ? a : b
 21 S_MAX_U32 u32 u32 u32 : scc = a >= b; r = scc ? a : b
 22 S_AND_B32 u32 u32 u32 : r = a & b; scc = r != 0
 23 S_AND_B64 u64 u64 u64 : r = a & b; scc = r != 0
 24 S_OR_B32 u32 u32 u32 : r = a | b; scc = r != 0
 25 S_OR_B64 u64 u64 u64 : r = a | b; scc = r != 0
 26 S_XOR_B32 u32 u32 u32 : r = a ^ b; scc = r != 0
 27 S_XOR_B64 u64 u64 u64 : r = a ^ b; scc = r != 0
 28 S_NAND_B32 u32 u32 u32 : r = ~(a & b); scc = r != 0
 30 S_NOR_B32 u32 u32 u32 : r = ~(a | b); scc = r != 0
 32 S_XNOR_B32 u32 u32 u32 : r = ~(a ^ b); scc = r != 0
 34 S_AND_NOT1_B32 u32 u32 u32 : r = a & ~b; scc = r != 0
 35 S_AND_NOT1_B64 u64 u64 u64 : r = a & ~b; scc = r != 0
 36 S_OR_NOT1_B32 u32 u32 u32 : r = a | ~b; scc = r != 0
 37 S_OR_NOT1_B64 u64 u64 u64 : r = a | ~b; scc = r != 0
 38 S_BFE_U32 u32 u32 u32 : r = u32(field(a, b & 31, b >> 16 & 127)); scc = r != 0
 39 S_BFE_I32 i32 i32 u32 : r = i32(signed_field(a, b & 31, b >> 16 & 127, 32)); scc = r != 0
 40 S_BFE_U64 u64 u64 u32 : r = field(a, b & 63, b >> 16 & 127); scc = r != 0
 41 S_BFE_I64 i64 i64 u32 : r = signed_field(a, b & 63, b >> 16 & 127, 64); scc = r != 0
 42 S_BFM_B32 u32 u32 u32 : ((1u << (a & 31)) - 1) << (b & 31)
 44 S_MUL_I32 u32 u32 u32 : a * b
 45 S_MUL_HI_U32 u32 u32 u32 : u32(u64(a) * b >> 32)
 46 S_MUL_HI_I32 i32 i32 i32 : i32(i64(a) * b >> 32)
 48 S_CSELECT_B32 u32 u32 u32 : scc ? a : b
 49 S_CSELECT_B64 u64 u64 u64 : scc ? a : b
 50 S_PACK_LL_B32_B16 u32 u32 u32 : (a & 0xffff) | b << 16
 51 S_PACK_LH_B32_B16 u32 u32 u32 : (a & 0xffff) | (b & 0xffff0000)
 52 S_PACK_HH_B32_B16 u32 u32 u32 : a >> 16 | (b & 0xffff0000)
 53 S_PACK_HL_B32_B16 u32 u32 u32 : a >> 16 | b << 16
[SOPC]
  0 S_CMP_EQ_I32 - i32 i32 : scc = a == b
  1 S_CMP_LG_I32 - i32 i32 : scc = a != b
  2 S_CMP_GT_I32 - i32 i32 : scc = a > b
  3 S_CMP_GE_I32 - i32 i32 : scc = a >= b
  4 S_CMP_LT_I32 - i32 i32 : scc = a < b
  5 S_CMP_LE_I32 - i32 i32 : scc = a <= b
  6 S_CMP_EQ_U32 - u32 u32 : scc = a == b
  7 S_CMP_LG_U32 - u32 u32 : scc = a != b
  8 S_CMP_GT_U32 - u32 u32 : scc = a > b
  9 S_CMP_GE_U32 - u32 u32 : scc = a >= b
 10 S_CMP_LT_U32 - u32 u32 : scc = a < b
 11 S_CMP_LE_U32 - u32 u32 : scc = a <= b
 16 S_CMP_EQ_U64 - u64 u64 : scc = a == b
 17 S_CMP_LG_U64 - u64 u64 : scc = a != b
 12 S_BITCMP0_B32 - u32 u32 : scc = (a >> (b & 31) & 1) == 0
 13 S_BITCMP1_B32 - u32 u32 : scc = (a >> (b & 31) & 1) == 1
 14 S_BITCMP0_B64 - u64 u32 : scc = (a >> (b & 63) & 1) == 0
 15 S_BITCMP1_B64 - u64 u32 : scc = (a >> (b & 63) & 1) == 1
[SOPK]
  0 S_MOVK_I32 i32 i32 i32 : b
 15 S_ADDK_I32 i32 i32 i32 : scc = __builtin_add_overflow(a, b, &r)
 16 S_MULK_I32 u32 u32 u32 : a * b
  3 S_CMPK_EQ_I32 - i32 i32 : scc = a == b
  4 S_CMPK_LG_I32 - i32 i32 : scc = a != b
  5 S_CMPK_GT_I32 - i32 i32 : scc = a > b
  6 S_CMPK_GE_I32 - i32 i32 : scc = a >= b
  7 S_CMPK_LT_I32 - i32 i32 : scc = a < b
  8 S_CMPK_LE_I32 - i32 i32 : scc = a <= b
  9 S_CMPK_EQ_U32 - u32 u32 : scc = a == b
 10 S_CMPK_LG_U32 - u32 u32 : scc = a != b
 11 S_CMPK_GT_U32 - u32 u32 : scc = a > b
 12 S_CMPK_GE_U32 - u32 u32 : scc = a >= b
 13 S_CMPK_LT_U32 - u32 u32 : scc = a < b
 14 S_CMPK_LE_U32 - u32 u32 : scc = a <= b
 24 S_WAITCNT_VSCNT - : ;
[MUBUF]
 43 BUFFER_GL0_INV - : ;
[SOPP]
  0 S_NOP - : ;
  5 S_CLAUSE - : ;
  7 S_DELAY_ALU - : ;
  9 S_WAITCNT - : ;
 61 S_BARRIER - : w.stop(WAITS)
  8 S_WAITCNT_DEPCTR - : ;
  4 S_SET_INST_PREFETCH_DISTANCE - : ;
 54 S_SENDMSG - : ;
 31 S_CODE_END - : w.stop(NO_CODE)
 48 S_ENDPGM - : w.stop(ENDED)
 32 S_BRANCH - : branch
 33 S_CBRANCH_SCC0 - : if (!scc) branch
 34 S_CBRANCH_SCC1 - : if (scc) branch
 35 S_CBRANCH_VCCZ - : if (bits_of(w, VCC) == 0) branch
 36 S_CBRANCH_VCCNZ - : if (bits_of(w, VCC) != 0) branch
 37 S_CBRANCH_EXECZ - : if (exec == 0) branch
 38 S_CBRANCH_EXECNZ - : if (exec != 0) branch
"""
