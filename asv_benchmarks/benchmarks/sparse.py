"""Sparse fields whose index space is large, and of which little is active: what memory and time they take."""

from pathlib import Path

from .common import COMPILED, opened

BLOCKS, WITHIN, ACTIVE = 1 << 14, 1 << 14, 64
"""A GiB of f32, of which 4 MiB become active."""
PAGE = 4096


def taken(backend):
    """Bytes of memory in use: of the process where its memory is the device's, else of the device."""
    if backend == "cuda":
        from adstack.backends.cuda.bindings import call

        free, total = call("cuMemGetInfo")
        return total - free
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


class Blocks:
    params = (COMPILED,)
    param_names = ("backend",)

    def setup(self, backend):
        self.qd = qd = opened(backend, offline_cache=False)
        x = qd.field(qd.f32)
        self.blocks = qd.root.pointer(qd.i, BLOCKS)
        self.blocks.dense(qd.i, WITHIN).place(x)
        total = qd.field(qd.f32, shape=())

        @qd.kernel
        def write(n: qd.i32):
            for i in range(n):
                for k in range(WITHIN):
                    x[i * (BLOCKS // ACTIVE) * WITHIN + k] = 1.0

        @qd.kernel
        def add():
            for i in x:
                total[None] += x[i]

        write(1)
        add()
        self.write, self.add, self.total = write, add, total
        self.before = taken(backend)

    def work(self):
        self.write(ACTIVE)
        self.add()
        self.qd.sync()

    def track_taken(self, backend):
        """Bytes that 64 blocks of 64 KiB take, in a field of a GiB."""
        self.work()
        return taken(backend) - self.before

    def time_write_and_add(self, backend):
        self.work()

    def emptied(self):
        self.write(ACTIVE)
        self.blocks.deactivate_all()
        self.qd.sync()

    def time_write_and_deactivate_all(self, backend):
        self.emptied()

    track_taken.unit = "bytes"
