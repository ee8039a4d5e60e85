"""Scripts that launch kernels in a process of their own, maybe while it gets a signal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, signal, sys, threading, time
import adstack as qd
qd.init(arch=qd.cpu, cpu_max_num_threads={threads})
x = qd.ndarray(qd.f64, (1 << 16,))

@qd.kernel
def long(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    for i in x:
        v = x[i]
        for _ in range(turns):
            v = v * 0.5 + 1.0
        x[i] = v

@qd.kernel
def one(x: qd.types.ndarray(dtype=qd.f64, ndim=1)):
    for i in x:
        x[i] = 1.0

long(x, 1)
long(x, 1)
"""


def unmeasured() -> dict[str, str]:
    """The environment for a process whose coverage is not measured.

    Coverage has locks and memory of its own: a process that forks while its threads run, that is interrupted at any
    moment, or that counts allocations would wait for them, or break them.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def in_process(body: str, *, threads: int = 2, send: int = 0, script: str = SCRIPT) -> tuple[int, str, str]:
    """(exit code, output, errors) of a script; `send` is a signal it gets once it has printed a line."""
    folder = Path(os.environ["PYTEST_SCRATCH"])
    file = folder / "script.py"
    file.write_text(script.format(threads=threads) + body)
    process = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=unmeasured()
    )
    assert process.stdout is not None
    first = process.stdout.readline() if send else ""
    if send:
        process.send_signal(send)
    out, err = process.communicate(timeout=60)
    return process.returncode, first + out, err


def resident_bytes() -> int:
    """How many bytes of memory this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
