"""A process that is short of memory refuses to compile, and goes on: at every limit, wherever the allocation is that
would have failed.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from adstack.backends.shared import room as module
from adstack.backends.shared.room import room
from adstack.errors import AdstackMemoryError


def test_what_there_is_room_for_is_let_through():
    room(1 << 20, "a test")


def test_more_than_the_system_has_left_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "memory_left", lambda: 1000)
    room(1000, "a test")
    with pytest.raises(AdstackMemoryError, match="no memory for a test: it may take 1001 bytes, and 1000 are left"):
        room(1001, "a test")


def test_more_than_any_process_may_have_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "memory_left", lambda: None)
    with pytest.raises(AdstackMemoryError, match="the limits of this process leave fewer"):
        room(1 << 60, "a test")


PROGRAM = """
import math, os, resource, sys
from collections import Counter
from pathlib import Path
import adstack as qd
from adstack.errors import AdstackMemoryError

qd.init(arch=qd.cpu, offline_cache=False, cpu_max_num_threads=1)
x, y = (qd.field(qd.f32, 64, needs_grad=True) for _ in range(2))
x.fill(0.5)

@qd.kernel
def k():
    for i in x:
        v = x[i]
        for _ in range(5):
            v = qd.sin(v) + qd.exp(v * 0.1)
        y[i] = v

def work():
    k()
    y.grad.fill(1.0)
    x.grad.fill(0.0)
    k.grad()
    return x.grad[3]

def wanted():
    v, slope = 0.5, 1.0
    for _ in range(5):
        v, slope = math.sin(v) + math.exp(v * 0.1), slope * (math.cos(v) + 0.1 * math.exp(v * 0.1))
    return slope

def limited(more):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))
    try:
        work()
        return 1
    except AdstackMemoryError:
        return 2
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

def child(more):
    ended = 9
    try:
        ended = limited(more)
        if abs(work() - wanted()) > 1e-4:
            ended = 8
    finally:
        os._exit(ended)

seen = Counter()
for step in range(40):
    pid = os.fork()
    if not pid:
        child(step * 768 * 1024)
    seen[os.waitpid(pid, 0)[1]] += 1
print(sorted(seen.items()))
"""


def test_at_every_limit_kernels_are_compiled_or_refused_and_work_once_there_is_memory():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    ended = dict(eval(done.stdout))
    assert set(ended) == {1 << 8, 2 << 8}, done.stdout + done.stderr
    assert ended[2 << 8] > 10
