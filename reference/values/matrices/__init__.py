"""Vectors and matrices: storage and shape (base), operators, element access, algebra, decompositions.

The same code serves host numbers and a kernel's runtime values: it is written over elements with the operators and
functions of the language. `values/matrices/matrix.py` assembles the classes.
May import: values, ir.types, errors.
"""
