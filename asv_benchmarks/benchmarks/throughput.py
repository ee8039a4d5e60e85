"""How fast loops run: bound by arithmetic, and by memory."""

from statistics import median
from timeit import repeat

from .common import BY_LLVM, COMPILED, called, finishing, gradient, opened
from .kernels import gather, ragged, recurrence


class Recurrence:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        qd = opened(backend)
        self.kernel = finishing(qd, backend, recurrence(qd, threads)[0])
        called(self.kernel)

    def time_forward(self, backend, threads):
        self.kernel()


class RecurrenceReference(Recurrence):
    params = (("reference",), (1024, 65536))


class RecurrenceOnThreads:
    """How much sooner two threads of the host are ready than one: both in one run, by turns."""

    params = (BY_LLVM, ("forward", "reverse"))
    param_names = ("backend", "direction")
    unit = "times"

    def setup(self, backend, direction):
        rounds = [[_fastest(backend, direction, threads) for threads in (1, 2)] for _ in range(5)]
        self.speed_up = median(one / two for one, two in rounds)

    def track_speed_up_of_two(self, backend, direction):
        return self.speed_up


def _fastest(backend, direction, threads):
    """The least time that a call takes with so many threads of the host."""
    qd = opened(backend, cpu_max_num_threads=threads)
    kernel, _ = recurrence(qd, 65536, needs_grad=direction == "reverse")
    work = gradient(kernel) if direction == "reverse" else kernel
    called(work)
    return min(repeat(work, number=1, repeat=200))


class Gather:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        qd = opened(backend)
        self.kernel = finishing(qd, backend, gather(qd, threads)[0])
        called(self.kernel)

    def time_forward(self, backend, threads):
        self.kernel()


class GatherReference(Gather):
    params = (("reference",), (1024,))


class RecurrenceReverse:
    params = (COMPILED, (1024, 65536))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        qd = opened(backend)
        kernel, _ = recurrence(qd, threads, needs_grad=True)
        self.gradient = finishing(qd, backend, gradient(kernel))
        called(self.gradient)

    def time_reverse(self, backend, threads):
        self.gradient()


class RecurrenceReverseReference(RecurrenceReverse):
    params = (("reference",), (1024,))


class RaggedReverse:
    params = (COMPILED, (1024,))
    param_names = ("backend", "threads")

    def setup(self, backend, threads):
        qd = opened(backend)
        kernel, _ = ragged(qd, threads, needs_grad=True)
        self.gradient = finishing(qd, backend, gradient(kernel))
        called(self.gradient)

    def time_reverse(self, backend, threads):
        self.gradient()
