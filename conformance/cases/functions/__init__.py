"""Functions, methods, arguments of kernels and what kernels return."""
