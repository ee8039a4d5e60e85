"""Facts about IR: computed from it, never a change of it. Transforms, autodiff, the runtime and generators ask here.

facts.py        single ops: may it raise, is it in bounds, which memory does it touch
order.py        program order, loops around each op, integers as a base plus a constant
ranges.py       what integers may be, as numbers and relative to other values
evenly.py       integers that grow by the same in every iteration of a serial loop (affine induction)
growth.py       how integers grow between iterations of a parallel loop; strides.py: accesses contiguous across them
uniformity.py   values that are the same in all iterations that run side by side
exclusivity.py  atomic updates whose elements no other iteration touches
reach.py        elements that a launch may access; certain.py: those that it must; boxes.py: sets of indices
reductions.py   atomics that threads combine on their own; scalar_promotion.py, store_sinking.py, loop_versioning.py,
                cold_paths.py, iteration_space.py, loop_nests.py: what code generators ask about loops

May import: ir, errors.
"""
