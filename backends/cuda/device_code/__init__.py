"""Pieces of code for threads of an NVIDIA device, as LLVM text.

warps.py      what the threads of a warp do together: sums by shuffles
division.py   quotients of f32
blocks.py     blocks of threads as thread blocks: shared memory, barriers

May import: adstack.analysis, adstack.ir, codegen_llvm.
"""
