"""How fast loops run: bound by arithmetic, and by memory."""

from .common import COMPILED, called, gradient, opened
from .kernels import gather, ragged, recurrence


class Recurrence:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        self.kernel, _ = recurrence(opened(backend), threads)
        called(self.kernel)

    def time_forward(self, backend, threads):
        self.kernel()


class RecurrenceReference(Recurrence):
    params = (("reference",), (1024, 65536))


class Gather:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        self.kernel, _ = gather(opened(backend), threads)
        called(self.kernel)

    def time_forward(self, backend, threads):
        self.kernel()


class GatherReference(Gather):
    params = (("reference",), (1024,))


class RecurrenceReverse:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        kernel, _ = recurrence(opened(backend), threads, needs_grad=True)
        self.gradient = gradient(kernel)
        called(self.gradient)

    def time_reverse(self, backend, threads):
        self.gradient()


class RecurrenceReverseReference(RecurrenceReverse):
    params = (("reference",), (1024,))


class RaggedReverse:
    params = (COMPILED, (1024,))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        kernel, _ = ragged(opened(backend), threads, needs_grad=True)
        self.gradient = gradient(kernel)
        called(self.gradient)

    def time_reverse(self, backend, threads):
        self.gradient()
