"""A processor of AMD's, gfx1100 (RDNA 3), played by this one: its machine code, instruction by instruction.

decoding.py      machine code as records; accesses.py has those to memory. What is not known is an error
instructions.py  which instructions there are: what scalars.py and vectors.py list, and comparisons
arithmetic.py    what they compute that no operator does
core.py          a wave of 32 threads: registers, operands, memory; running.py starts waves and runs them
machine.py       all that as machine code of the host, by clang; code objects, loaded and dispatched

Imports `backends.shared`. It knows nothing of kernels.
"""
