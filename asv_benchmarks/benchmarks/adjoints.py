"""Kernels that read what other iterations read too, and their reverse modes, which add to it: see `adjoint_kernels`."""

from .adjoint_kernels import WORKS
from .common import BY_LLVM, called, opened


class Adjoints:
    """One run of each work, forward and in reverse."""

    params = (BY_LLVM, tuple(WORKS))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        make, size = WORKS[work]
        self.forward, self.reverse, _, _ = make(opened(backend), size)
        called(self.forward)
        called(self.reverse)

    def time_forward(self, backend, work):
        self.forward()

    def time_reverse(self, backend, work):
        self.reverse()
