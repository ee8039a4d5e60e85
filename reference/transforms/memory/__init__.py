"""Passes over memory.

scalar_replacement.py  thread-local arrays become values (scalar replacement of aggregates)
forward.py  stores are forwarded to loads; memo.py: what is known per element
guard.py    accesses that may be out of bounds are marked; accumulate.py: updates, by how their sums are built

May import: ir, analysis, transforms.rewriting, errors.
"""
