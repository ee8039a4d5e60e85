"""From values to ops: what the operators and functions of the language emit into the kernel that is being lowered.

context.py         the state of one lowering; current.py: the one in progress
expr.py            runtime scalars, and the table of what each operator emits; rules.py: the entries of the table
type_promotion.py  the common type of operands; literals.py: numbers that are known while compiling
references.py      what can be assigned to; structs.py: structs of references; arrays.py: array arguments
bounds.py          checks of runtime indices

May import: frontend.variables, frontend.syntax, frontend.compile_time, data, values, ir, errors.
"""
