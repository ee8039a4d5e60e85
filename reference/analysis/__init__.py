"""Facts about IR: computed from it, never a change of it. Transforms, autodiff, the runtime and generators ask here.

manager.py      the cache of results, by analysis and region; what is about a region is asked for there
facts.py        constants; may an op raise, is it in bounds, which memory does it access; alias classes, mod/ref sets
order.py        program order, loops around each op, integers as a base plus a constant; subscripts.py: compared
ranges.py       what integers may be, as numbers and relative to other values; intervals.py: interval arithmetic
induction.py    affine induction variables; evolution.py: over parallel loops; strides.py: contiguous; windows.py: near
uniformity.py   what is the same in iterations side by side; teams.py, waits.py, shared_updates.py: blocks of threads
exclusivity.py  atomic updates whose elements no other iteration touches; accumulation.py: how each sum is built
may_access.py   elements that a launch may access; must_access.py: those that it must; boxes.py: sets of indices
reductions.py   atomics that threads combine on their own; combined_updates.py: that neighbours combine
scalar_promotion.py, store_sinking.py, loop_versioning.py, cold_paths.py, iteration_space.py, loop_nests.py: what code
                generators ask about loops

May import: ir, errors.
"""
