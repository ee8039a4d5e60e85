"""IR to IR: one module, one public function and one contract per pass. Passes work in place on a region and options.

pipeline.py  optimize(kernel), lower(kernel), STAGES: the passes in order
scalar/      folding, algebra, common subexpressions, dead code
memory/      mem2reg, store forwarding, guards of accesses, how sums are built
loops/       loop-invariant code motion, sums in registers
tasks/       a kernel becomes a program of tasks; marks by which races are found
math/        lower_math: transcendental ops become calls of the library's functions
rewriting/   what passes share

May import: ir, analysis, errors.
"""
