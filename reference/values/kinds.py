"""Names for what the language computes with, whose Python type is left open on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["KernelObject", "Operand", "PythonFunction", "TypeLike"]

Operand: TypeAlias = Any
"""What operators and functions take and give: a number, a runtime scalar, a vector, a matrix or a struct.

On the host it may be any number with arithmetic of its own, such as `fractions.Fraction`.
"""

KernelObject: TypeAlias = Any
"""What a name in a kernel can stand for: an operand, a reference, a field, an array argument, or any object of Python's
that is known while compiling. Kernels are duck-typed, as Python is: what an object can do is asked of it."""

TypeLike: TypeAlias = Any
"""A type as programs write it: a `DType`, Python's int, float or bool, `uint`, or a vector, matrix or struct type."""

PythonFunction: TypeAlias = Callable[..., Any]
"""A function that a program wrote, or one of Python's: called as it is, with whatever arguments it has."""
