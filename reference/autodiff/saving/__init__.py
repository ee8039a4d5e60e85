"""Save or recompute: which primals the reverse pass looks at, which are kept, and which are computed again.

plan.py       the plan of a kernel
mincut.py     the cheapest values to keep: a minimum vertex cut
foresight.py  which branches are counted, so that what is kept in them takes less room
May import: activities; ir.
"""
