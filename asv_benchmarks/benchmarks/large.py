"""A kernel as large as they come: 563 f32 and 408 integers and flags kept of every cell of a stencil, 600,000 threads.

asv runs parts of it. All of it, once, in a process of its own, as `conformance/results/bench` keeps it:

    python asv_benchmarks/benchmarks/large.py 1
"""

import functools
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

WHOLE = {"floats": 563, "integers": 204, "flags": 204, "shape": (100, 100, 60)}


def part(divisor):
    """A kernel with so many times fewer variables and threads."""
    counts = {name: WHOLE[name] // divisor for name in ("floats", "integers", "flags")}
    *rest, last = WHOLE["shape"]
    return {**counts, "shape": (*rest, max(1, last // divisor))}


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak():
    """The most bytes of memory that this process has had."""
    status = Path("/proc/self/status")
    if status.is_file():  # what `resource` tells of there may be the process that started this one
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measured(backend, divisor):
    """What a process of its own finds: it must not have run anything else."""
    command = [sys.executable, str(Path(__file__).resolve()), str(divisor), backend]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ).stdout)


def main(divisor, backend="cpu"):
    from common import gradient, opened
    from stencils import stencil

    load = os.getloadavg()
    qd = opened(backend, offline_cache=False)
    kernel, _ = stencil(qd, **part(divisor), needs_grad=True)
    reverse = gradient(kernel)
    times = {"first_call": seconds(kernel), "first_gradient": seconds(reverse), "next_gradient": seconds(reverse)}
    return {**about(load), "backend": backend, **part(divisor), **times, **heap(reverse), "peak_bytes": peak()}


def heap(reverse):
    """Exact numbers, from the report on adstacks."""
    report = reverse.adstack_report()
    (task,) = report.tasks
    kept = [str(row.dtype) for row in report]
    return {
        "stacks": {name: kept.count(name) for name in dict.fromkeys(kept)},
        "depths": sorted({row.capacity for row in report}),
        "bytes_per_thread": task.stride,
        "threads_at_a_time": task.lanes,
        "heap_bytes": task.allocated,
        "ir_ops": reverse.stages()["tasks"].count(" loc("),
    }


def about(load):
    """When, where, and what else the machine did."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    commit = subprocess.run(git, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit.strip(),
        "machine": {"platform": platform.platform(), "cpu": cpu(), "cores": os.cpu_count()},
        "load": list(load),
    }


def cpu():
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


class Large:
    """The first gradient of parts of it: what it takes grows in step with the number of variables."""

    params = (("cpu",), (32, 16))
    param_names = ("backend", "divisor")
    timeout = 300

    def setup(self, backend, divisor):
        from .common import opened

        opened(backend)
        self.found = _once(backend, divisor)

    def track_first_gradient(self, backend, divisor):
        return self.found["first_gradient"]

    def track_stacks(self, backend, divisor):
        return sum(self.found["stacks"].values())

    def track_stride(self, backend, divisor):
        """Bytes of one thread."""
        return self.found["bytes_per_thread"]

    def track_heap(self, backend, divisor):
        return self.found["heap_bytes"]

    def track_ir_ops(self, backend, divisor):
        return self.found["ir_ops"]

    def track_peak(self, backend, divisor):
        return self.found["peak_bytes"]

    track_first_gradient.unit = "seconds"
    track_stride.unit = track_heap.unit = track_peak.unit = "bytes"


_once = functools.cache(measured)

if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), *sys.argv[2:]), indent=1))
