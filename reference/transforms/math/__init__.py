"""The math library: transcendental functions as IR, made of IEEE operations, the same bits on every target.

num.py          arithmetic notation for IR values
trigonometric.py, exponential.py, logarithmic.py, ...   one function per (name, type): Num -> Num
library.py      the table (operation, type) -> Function, built once each, when first asked for
May import: ir, errors.
"""
