"""What calls cost that do next to nothing, by themselves and as a graph, and accesses to elements from the host."""

from .common import BACKENDS, called, gradient, opened
from .kernels import args, nop, recurrence


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


class Graph:
    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        self.kernel, _ = nop(qd)
        with qd.graph() as self.graph:
            for _ in range(100):
                self.kernel()
        called(self.graph)

    def time_hundred_calls(self, backend):
        self.graph()


class Gradient:
    """Of a loop of few iterations: by itself, and with the call that it belongs to as a graph."""

    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        kernel, _ = recurrence(qd, 4, needs_grad=True)
        self.reverse = gradient(kernel)
        called(kernel)
        called(self.reverse)
        with qd.graph() as self.graph:
            kernel()
            self.reverse()
        called(self.graph)

    def time_call(self, backend):
        self.reverse()

    def time_both_as_a_graph(self, backend):
        self.graph()


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


class ElementOfMany:
    """One number of many, after a kernel wrote there."""

    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        field = qd.field(qd.f32, shape=1 << 20)

        @qd.kernel
        def write():
            field[7] += 1.0

        def written():
            write()
            return field[7]

        self.written = written
        called(written)

    def time_read(self, backend):
        self.written()
