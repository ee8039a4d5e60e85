"""Control flow: branches, sequential loops, and the iterations of a parallel loop.

branches.py          `if`; for_loops.py, while_loops.py: uniform, or with masks
iteration_space.py   the points of a parallel loop, and the lanes that run side by side
versioning.py        a fast version of a loop in front of the full one
scalar_promotion.py  elements that stay in memory of the thread during a loop
induction.py         values that change by the same amount in every iteration
safepoints.py        polling whether to go on
outlining.py         cold paths of math functions, out of line

May import: adstacks, memory, safety, function, text, adstack.analysis.
"""
