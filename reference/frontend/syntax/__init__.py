"""What a function was written as: its text, its syntax tree with positions in the user's file, and its names.

source.py  the source of a function; command_line.py: that of a program which Python was given as text
stores.py  which names have parts that a function stores to
scope.py   one scope per block, and the names that a function sees from outside

May import: ir, errors.
"""
