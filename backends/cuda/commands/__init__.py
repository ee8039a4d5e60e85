"""Commands that are the same each time: learned once, then queued as CUDA graphs.

lists.py    lists of commands: noted, made into graphs, followed
code.py     the machine code that programs call in the place of the driver's functions; noting.py: how it notes them
layout.py   the words of lists, rows and nodes

May import: hostcall.record, the driver's interface, the toolchain, shared.
"""
