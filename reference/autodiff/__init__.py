"""Differentiation of kernels: `reverse(kernel, adjoints)` and `forward(kernel, duals)`, IR to IR.

reverse.py        the reverse kernel, emitted from its plan; journaled.py: launches that log what they overwrite
planning/         the plan of a reverse kernel: immutable, and complete before anything is emitted
checkpoint_plan.py  what checkpoints take, and the best for a limit on memory
forward.py        the forward-mode kernel; access.py: checks of the data access rule; seen.py: marks what is looked at
checkpointing/    long loops reversed block by block, from snapshots
emission/         runs the kernel again (sweep.py) and back (backward.py)
saving/           which values are saved for the reverse pass, and which are recomputed
overwrite/        memory that the kernel overwrites though the reverse pass needs it: refused, or had in another way
activities/       which values carry adjoints, and which memory matters to them
lanes.py          a reverse kernel for several directions at once: each has memory of its own
places.py         names of the places by which derived kernels tell whoever launches them something
May import: transforms, analysis, ir, errors.
"""
