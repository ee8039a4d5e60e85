"""The most memory that a process has had when it has made a call and its gradient, everything compiled."""

from .common import COMPILED, gradient, opened
from .kernels import REVERSIBLE

SIZES = {"recurrence": 65536, "ragged": 4096, "many": 64}


class Peak:
    params = (COMPILED, tuple(SIZES))
    param_names = ("backend", "kernel")

    def setup(self, backend, kernel):
        self.qd = opened(backend, offline_cache=False)

    def peakmem_first_gradient(self, backend, kernel):
        made, given = REVERSIBLE[kernel](self.qd, SIZES[kernel], needs_grad=True)
        made(*given)
        gradient(made)(*given)
        self.qd.sync()
