"""Vectors and matrices: storage and shape (base), operators, element access, algebra, decompositions.

The same code serves host numbers and a kernel's runtime values: it is written over elements with the operators and
functions of the language. `lang/matrix.py` assembles the classes.
May import: lang.functions, lang.scalars, lang.protocol, ir.types, errors.
"""
