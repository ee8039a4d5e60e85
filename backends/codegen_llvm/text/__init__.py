"""LLVM IR as text: names, types, constants, and one emitter per scalar operation, for one lane or a vector of them.

writer.py          the lines of a function, and what the module must declare for them
scalar_ops.py      operation of the IR -> instructions
pure_functions.py  a region without effects as a function

May import: adstack.ir.
"""
