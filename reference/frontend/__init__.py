"""Python source to IR: parses a kernel's source and emits structured SSA for one specialisation of it.

The syntax tree is evaluated on compile-time objects: runtime scalars are `Expr`s whose operators emit ops, everything
else is what it is in Python. Mutable variables are cells until `promote.py` turns them into SSA values.

lowering.py    the entry point; source.py, scope.py, context.py: text, names and state of one lowering
dispatch.py    visitors by syntax node: operators, collections, indexing, calls, assignment, control, loops, returns
emission.py    what operators and functions emit; promotion.py: literals and common types
references.py  what can be assigned to; cells.py, survey.py, promote.py: variables and their end

compile_time.py  what a kernel says to the compiler: static, ndrange, hints

May import: data, values, ir, errors.
"""

from .lowering import lower as lower
