"""Kernels as functions that torch differentiates.

functions.py  `wrap`: kernels as functions of tensors

May import `interop` and below; torch itself is imported when a kernel is wrapped.
"""

from .functions import wrap

__all__ = ["wrap"]
