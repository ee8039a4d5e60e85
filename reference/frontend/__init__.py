"""Python source to IR: parses a kernel's source and emits structured SSA for one specialisation of it.

The syntax tree is evaluated on compile-time objects: runtime scalars are `Expr`s whose operators emit ops, everything
else is what it is in Python. Mutable variables are cells until mem2reg turns them into SSA values.

lowering.py      the entry point; recorder.py: how the functions of the language reach it
visitors/        statements and expressions, by their type of syntax node
emission/        runtime scalars, type promotion, what operators and functions emit, references
variables/       cells, and their promotion to SSA values (mem2reg)
syntax/          source text, syntax trees, names
compile_time.py  what a kernel says to the compiler: static, ndrange, hints

May import: data, values, ir, errors; the arrows inside point down this list.
"""

from .lowering import lower as lower
