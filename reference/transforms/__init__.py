"""IR to IR: one module, one public function and one contract per pass. Passes work in place on a region and options.

pipeline.py   optimize(kernel), lower(kernel), STAGES: the passes in order
fold.py  simplify.py  promote.py  cse.py  forward.py  licm.py  dce.py    the passes
guard.py      guard(body): accesses that may be outside are marked; ranges.py: what integers may be
tasks.py      split(kernel): a kernel becomes a program of tasks; crossing.py: what crosses them
identities.py  casts.py  computed.py  patterns.py   the algebra of simplify, as a table of rules
races.py      watched(program): tasks that leave marks, by which races are found
math/         lower_math: transcendental ops become calls of the library's functions
options.py    what a caller may ask; facts.py, memo.py, loops.py, rewrite.py: what passes share

A pass imports adstack.ir and adstack.errors, nothing else of adstack.
"""
