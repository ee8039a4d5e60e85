"""Passes over scalar values.

fold.py      constant folding
simplify.py  algebra, as a table of rules: identities.py, casts.py, computed.py, patterns.py
cse.py       common subexpressions
dce.py       dead code; unread.py: shared locals that nobody reads

May import: ir, analysis, transforms.rewriting, errors.
"""
