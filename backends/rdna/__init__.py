"""Processors of AMD's, gfx1100 (RDNA 3) and gfx942 (CDNA 3), played by this one: instruction by instruction.

decoding.py      machine code as records, by encodings.py, which has what both have in common, rdna3.py and cdna3.py;
                 accesses.py has those to memory. What is not known is an error
instructions.py  which instructions there are: what scalars.py and vectors.py list, which of these gfx942.py takes over,
                 and comparisons
arithmetic.py    what they compute that no operator does
exchanges.py     moves between the threads of a wave: DPP, V_PERMLANE16, DS_SWIZZLE, DS_BPERMUTE
core.py          a wave of threads: registers and operands; memory.py has memory, running.py starts waves and runs them
machine.py       all that as machine code of the host, by clang; code objects, loaded and dispatched
processors.py    which processors there are, and how they differ otherwise

Imports `backends.shared`. It knows nothing of kernels.
"""
