"""The mutable variables of a kernel: cells, and their promotion to SSA values.

cells.py    cells and their pseudo-ops, which exist only until mem2reg has run
survey.py   which cells each structured op changes, and which cells must live in memory
mem2reg.py  cells become SSA values, thread-local arrays, or places that threads share
recursion.py  functions that call themselves become loops over frames.py; activations.py, segments.py: calls, and the
              pieces of a body between them

May import: ir.
"""
