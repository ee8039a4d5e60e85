"""Passes over memory.

promote.py  thread-local arrays become values (mem2reg)
forward.py  stores are forwarded to loads; memo.py: what is known per element
guard.py    accesses that may be out of bounds are marked

May import: ir, analysis, transforms.rewriting, errors.
"""
