"""Differentiation of kernels: `reverse(kernel, adjoints)` and `forward(kernel, duals)`, IR to IR.

activity.py  which values carry adjoints
needs.py     which primals the reverse pass looks at
plan.py      which of them are kept, which are computed again
reverse.py   the reverse kernel; forward.py the forward-mode kernel
May import: ir, errors, the other transforms.
"""
