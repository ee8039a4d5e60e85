"""The intermediate representation: structured, region-based SSA.

types.py      scalar types, local-array and adstack handles
location.py   where in the user's program something came from
structure.py  Value, Op, Region, Place, Function, Kernel, Task, Program
opdef.py      what a row of the operation table is (OpDef, Signature)
arithmetic.py the meaning of each scalar operation, on numpy arrays
ops.py        the table: one row per operation
functions.py  what `call` applies: the library's names, and evaluation on numpy arrays
builder.py    appends ops to a region, typed by the table
verifier.py   verify(): walks a kernel; rules*.py: one rule per op; expect.py: what rules are made of
printer.py    print_ir(): the text form; parser.py: parse_ir() reads it (forms.py per op, cursor.py, lexer.py)
compare.py    same(a, b): equal up to the names of values

May import: numpy, `adstack.errors`. Nothing else of adstack.
"""
