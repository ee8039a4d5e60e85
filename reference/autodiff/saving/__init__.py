"""Save or recompute: which primals the reverse pass looks at, which of them are saved, and which are recomputed.

plan.py       the plan, immutable; planner.py makes it
choice.py     the decision for a loop body: a minimum cut through its data flow; mincut.py finds such cuts
foresight.py  which branches are counted, so that what they save takes less room
May import: activities; ir.
"""
