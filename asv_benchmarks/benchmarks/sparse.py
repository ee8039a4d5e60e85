"""Sparse fields whose index space is large, and of which little is active: what memory and time they take."""

from pathlib import Path

from .common import COMPILED, opened

BLOCKS, WITHIN, ACTIVE = 1 << 14, 1 << 14, 64
"""A GiB of f32, of which 4 MiB become active."""
PAGE = 4096


def taken(backend):
    """Bytes of memory in use: of the process where its memory is the device's, else of the device."""
    from adstack.runtime import state

    device = state.current().backend
    if backend == "cuda":
        from adstack.backends.cuda.bindings import call

        free, total = call("cuMemGetInfo")
        return total - free
    if device.capabilities.kind == "native" and backend == "vulkan":
        return device.memory.taken
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


class Blocks:
    params = (COMPILED,)
    param_names = ("backend",)

    def setup(self, backend):
        self.qd = opened(backend, offline_cache=False)
        self.made(4)  # what is taken once for all is taken
        self.before = taken(backend)
        self.blocks, self.write, self.add = self.made(BLOCKS // ACTIVE)

    def made(self, apart):
        """A field of blocks, kernels that write every so many-th of them and add up all, each called once."""
        qd = self.qd
        x, total = qd.field(qd.f32), qd.field(qd.f32, shape=())
        blocks = qd.root.pointer(qd.i, ACTIVE * apart)
        blocks.dense(qd.i, WITHIN).place(x)

        @qd.kernel
        def write(n: qd.i32):
            for i in range(n):
                for k in range(WITHIN):
                    x[i * apart * WITHIN + k] = 1.0

        @qd.kernel
        def add():
            for i in x:
                total[None] += x[i]

        write(1)
        add()
        qd.sync()
        return blocks, write, add

    def work(self):
        self.write(ACTIVE)
        self.add()
        self.qd.sync()

    def track_taken(self, backend):
        """Bytes that 64 blocks of 64 KiB take, in a field of a GiB, and code for it."""
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
