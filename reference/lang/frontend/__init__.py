"""Python source to IR: parses a kernel's source and emits structured SSA for one specialisation of it.

The syntax tree is evaluated on compile-time objects: runtime scalars are `Expr`s whose operators emit ops, everything
else is what it is in Python. Mutable variables are cells until `promote.py` turns them into SSA values.

Imports adstack.ir, adstack.errors and the data model of adstack.lang.
"""

from .lowering import lower as lower
