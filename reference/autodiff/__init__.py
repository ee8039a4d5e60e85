"""Differentiation of kernels: `reverse(kernel, adjoints)` and `forward(kernel, duals)`, IR to IR.

activity.py  which values carry adjoints
plan.py      which primals are kept for the reverse pass (mincut.py; foresight.py: how often), which computed again
reverse.py   the reverse kernel: sweep.py runs the kernel again, backward.py back; rotate.py prepares `while`s, state.py
             is what they share, conflicts.py refuses what was overwritten, racing.py proves races
checkpoint*  checkpoint.py reverses long loops block by block from _snapshots.py: _schedule.py says where they are,
             _state.py and _cells.py of what, _plan.py how many fit into a limit
before.py    loads of memory from before a launch; replay.py scratch memory in which it runs again; parts.py its pieces
versions.py  locals keep what they held when they were read; repeat.py what can't run again
journal*      launches that log what they overwrite; updates.py spells atomic updates out whose order matters
forward.py   the forward-mode kernel; access.py checks of the data access rule
seen.py      what a kernel looks at; needed.py and origins.py: what its reverse pass may read, and where that comes from
May import: transforms, analysis, ir, errors.
"""
