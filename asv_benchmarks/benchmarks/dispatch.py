"""What calls cost that do next to nothing: one by one, with the wait for their end, as tapes and as graphs.

The times of a call and the exact number of Python functions that it takes stand side by side, per backend. What the
host pays to read and to write elements of fields is here too. Calls of less than a microsecond are timed a thousand at
a time: asv may time calls of a benchmark that has a `setup` one by one, and then its clock is most of what it sees.
"""

import sys
from dataclasses import dataclass

import numpy as np

from .common import BACKENDS, called, gradient, opened
from .kernels import args, nop, recurrence, tape

COUNT = 100
CALLS = 1000


def _with_args(qd):
    kernel, given = args(qd)
    return lambda: kernel(*given)


def _with_numpy(qd):
    kernel, (_, scalar) = args(qd)
    array = np.zeros(16, np.float32)
    return lambda: kernel(array, scalar)


def _with_torch(qd):
    try:
        import torch
    except ImportError as error:
        raise NotImplementedError("torch is not installed") from error
    kernel, (_, scalar) = args(qd)
    array = torch.zeros(16)
    return lambda: kernel(array, scalar)


def _with_vector(qd):
    y = qd.field(qd.f32, shape=4)

    @qd.kernel
    def put(v: qd.types.vector(3, qd.f32)):
        y[0] = v[0]

    vector = qd.Vector([1.0, 2.0, 3.0])
    return lambda: put(vector)


def _with_dataclass(qd):
    @dataclass
    class Body:
        x: qd.types.ndarray()
        v: qd.types.ndarray()
        scale: qd.f32

    @qd.kernel
    def put(body: Body):
        body.x[0] = body.v[0] * body.scale

    body = Body(qd.ndarray(qd.f32, 4), qd.ndarray(qd.f32, 4), 2.0)
    return lambda: put(body)


def _reverse(qd):
    kernel, _ = recurrence(qd, 4, needs_grad=True)
    reverse = gradient(kernel)
    called(kernel)
    return reverse


def _graph(qd):
    if not hasattr(qd, "graph"):
        raise NotImplementedError("no graphs")
    kernel, _ = nop(qd)
    kernel()
    with qd.graph() as graph:
        for _ in range(COUNT):
            kernel()
    return graph


def _graph_of_both(qd):
    if not hasattr(qd, "graph"):
        raise NotImplementedError("no graphs")
    kernel, _ = recurrence(qd, 4, needs_grad=True)
    reverse = gradient(kernel)
    called(kernel)
    called(reverse)
    with qd.graph() as graph:
        kernel()
        reverse()
    return graph


WORKS = {
    "nop": lambda qd: nop(qd)[0],
    "args": _with_args,
    "numpy": _with_numpy,
    "torch": _with_torch,
    "vector": _with_vector,
    "dataclass": _with_dataclass,
    "gradient": _reverse,
}
"""What is called: `WORKS[name](qd)`."""
RECORDED = {
    "tape of 100": lambda qd: tape(qd, COUNT),
    "graph of 100": _graph,
    "graph of a call and its gradient": _graph_of_both,
}
"""Many launches by one call: `RECORDED[name](qd)`."""


INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Functions in some versions of Python, and parts of the functions around them in others."""


def python_calls(work):
    """How many Python functions of adstack a call runs, and the one that calls: exact, the same on every Python."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        own = frame.f_globals.get("__name__", "").startswith(("adstack", __name__))
        count += event == "call" and own and frame.f_code.co_name not in INLINED

    def caller():
        work()

    sys.setprofile(note)
    try:
        caller()
    finally:
        sys.setprofile(None)
    return count


def thousand(work, *given):
    """What makes a thousand calls."""

    def calls():
        for _ in range(CALLS):
            work(*given)

    return calls


class Call:
    params = (BACKENDS, tuple(WORKS))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        qd = opened(backend)
        self.work = WORKS[work](qd)
        called(self.work)

        def waited():
            self.work()
            qd.sync()

        self.calls, self.waited_calls = thousand(self.work), thousand(waited)

    def time_thousand_calls(self, backend, work):
        self.calls()

    def time_thousand_calls_and_syncs(self, backend, work):
        self.waited_calls()

    def track_python_calls(self, backend, work):
        return python_calls(self.work)

    track_python_calls.unit = "functions"


class Recorded:
    """Tapes and graphs of many launches."""

    params = (BACKENDS, tuple(RECORDED))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        qd = opened(backend)
        self.work = RECORDED[work](qd)
        called(self.work)

        def waited():
            self.work()
            qd.sync()

        self.waited = waited

    def time_call(self, backend, work):
        self.work()

    def time_call_and_sync(self, backend, work):
        self.waited()

    def track_python_calls(self, backend, work):
        return python_calls(self.work)

    track_python_calls.unit = "functions"


class Element:
    params = (BACKENDS,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        field = qd.field(qd.f32, shape=16)
        self.reads, self.writes = thousand(field.__getitem__, 7), thousand(field.__setitem__, 7, 2.0)

    def time_thousand_reads(self, backend):
        self.reads()

    def time_thousand_writes(self, backend):
        self.writes()


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
