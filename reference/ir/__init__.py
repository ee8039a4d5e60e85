"""The intermediate representation: structured, region-based SSA.

types.py      scalar types, local-array and adstack handles
location.py   where in the user's program something came from
structure.py  Value, Op, Region, Place, Function, Kernel, Task, Program
opdef.py      what a row of the operation table is (OpDef, Signature); pulls.py: what it says of its derivative
arithmetic.py the meaning of each scalar operation, on numpy arrays
ops.py        the table: one row per operation; scalar_ops.py: those with a meaning; ufuncs.py: what numpy has for rows
functions.py  what `call` applies: the library's names, and evaluation on numpy arrays
builder.py    appends ops to a region, typed by the table; def_use.py: what a region defines, what is live into it
texts.py      text with values in it
verify/       verify(): one rule per op; text/: print_ir(), parse_ir()
compare.py    same(a, b): equal up to the names of values

May import: numpy, `adstack.errors`. Nothing else of adstack.
"""
