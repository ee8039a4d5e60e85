"""Python source to IR: parses a kernel's source and emits structured SSA for one specialisation of it.

Imports adstack.ir, adstack.errors and the data model of adstack.lang.
"""
