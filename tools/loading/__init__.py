"""Users' programs, as the commands look at them.

programs.py  runs a program, finds its kernels, makes up arguments for them

Imports adstack's public API alone.
"""
