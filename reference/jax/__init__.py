"""Kernels as functions that jax differentiates.

functions.py  `wrap`: kernels as functions of arrays, by a callback of jax to the host

May import `interop` and below; jax itself is imported when a kernel is wrapped.
"""

from .functions import wrap

__all__ = ["wrap"]
