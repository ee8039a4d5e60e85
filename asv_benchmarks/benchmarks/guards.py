"""What guards cost: works some of whose accesses are guarded, beside the same without guards (`bounds="off"`).

`python -m asv_benchmarks.benchmarks.guards ARCH [WORK...]` measures them on a device of its own, as JSON: milliseconds
with guards and without, forward and in reverse, and their ratios. Each is one launch of a graph, and both are measured
in turn in one process: two processes differ on such machines by more than guards cost, also where their code is the
same.
"""

import json
import sys
from statistics import median

from .adjoint_kernels import ON_DEVICES, WORKS
from .adjoints import timed_on_device
from .common import BY_LLVM, opened
from .kernels import gather
from .work import Work

TURNS = 5
GUARDED = ("gather", "stencil", "bodies", "springs", "table", "histogram", "particles")
"""Works with guarded accesses. In those of `adjoint_kernels` that are not here guards change no byte of the code."""
GATHERED = {"cpu": 1 << 16, "cuda": 1 << 20, "vulkan": 1 << 20}
"""How many elements `gather` makes."""
BOUNDS = ("safe", "off")


class Guards:
    """The time with guards over the time without them."""

    params = (BY_LLVM, GUARDED)
    param_names = ("backend", "work")
    unit = "ratio"
    timeout = 600

    def track_forward(self, backend, work):
        return compared(backend, work)["forward"]["ratio"]

    def track_reverse(self, backend, work):
        return compared(backend, work)["reverse"]["ratio"]


def made(arch, work):
    """What makes a work, of a size for this backend."""
    if work == "gather":
        return _gather, GATHERED[arch]
    make, size = WORKS[work]
    return make, size if arch == "cpu" else ON_DEVICES[work]


def _gather(qd, size, grads=True):
    kernel, _ = gather(qd, size, needs_grad=grads)
    return Work(kernel, kernel.grad, kernel, ())


def compared(arch, work, turns=TURNS):
    """Milliseconds with guards and without, medians of turns, and the median of the ratios of the same turn."""
    samples = [
        [timed_on_device(opened(arch, bounds=bounds), *made(arch, work)) for bounds in BOUNDS] for _ in range(turns)
    ]
    return {way: _figures([[one[way] for one in turn] for turn in samples]) for way in ("forward", "reverse")}


def _figures(pairs):
    safe, off = (median(times) for times in zip(*pairs, strict=True))
    return {"safe": safe, "off": off, "ratio": median(a / b for a, b in pairs)}


if __name__ == "__main__":
    print(json.dumps({work: compared(sys.argv[1], work) for work in sys.argv[2:] or GUARDED}, indent=1))
