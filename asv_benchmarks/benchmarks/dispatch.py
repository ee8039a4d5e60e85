"""What a call costs that does next to nothing, and an access to an element from the host."""

from .common import BACKENDS, called, opened
from .kernels import args, nop


class Nop:
    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        self.kernel, _ = nop(opened(backend))
        called(self.kernel)

    def time_call(self, backend):
        self.kernel()


class Args:
    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        self.kernel, (self.array, self.scalar) = args(opened(backend))
        called(self.kernel, self.array, self.scalar)

    def time_call(self, backend):
        self.kernel(self.array, self.scalar)


class Element:
    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        self.field = qd.field(qd.f32, shape=16)

    def time_read(self, backend):
        self.field[7]

    def time_write(self, backend):
        self.field[7] = 2.0
