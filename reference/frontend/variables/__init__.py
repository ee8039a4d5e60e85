"""The mutable variables of a kernel: cells, and their promotion to SSA values.

cells.py    cells and their pseudo-ops, which exist only until mem2reg has run
survey.py   which cells each structured op changes, and which cells must live in memory
mem2reg.py  cells become SSA values, thread-local arrays, or places that threads share

May import: ir.
"""
