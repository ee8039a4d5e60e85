"""The plan of a reverse kernel: all that is decided before any of it is emitted.

plan.py     the plan, immutable; text.py prints it
planner.py  makes it: `plan_reverse`
May import: checkpointing, emission, overwrite, saving, activities; analysis, ir.
"""
