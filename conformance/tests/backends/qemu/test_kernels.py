"""Kernels on an emulated processor: what is not a matter of one launch's results, which the matrix compares."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from adstack import inspection
from adstack.backends.cpu import capability, emulated
from adstack.runtime.protocol.backend import Unavailable

HEAD = "import os\nimport numpy as np\nimport adstack as qd\nqd.init(arch=qd.cpu, cpu_max_num_threads=3)\n"


def program(text: str) -> list[str]:
    return [sys.executable, "-c", HEAD + text]


def environment() -> dict[str, str]:
    return {**os.environ, "ADSTACK_CPU_EMULATED": "aarch64"}


def run(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(program(text), capture_output=True, text=True, timeout=100, check=False, env=environment())


SEATS = """
from adstack.backends.cpu.pool import pool
x = qd.field(qd.i64, shape=40_000)
@qd.kernel
def k():
    for i in x:
        s = qd.i64(i)
        for j in range(100):
            s = s * 3 + j
        x[i] = s
k()
k()
want = np.arange(40_000, dtype=np.int64)
for j in range(100):
    want = want * 3 + j
assert (x.to_numpy() == want).all()
print(pool().threads)
"""


def test_loops_are_shared_by_threads_over_there():
    done = run(SEATS)
    assert done.stdout.startswith("3"), done.stderr


ENDLESS = """
x = qd.field(qd.i64, shape=())
@qd.kernel
def k(n: qd.i64):
    for i in range(1):
        for j in range(n):
            x[None] = x[None] * 3 + j
k(1)
print("begin", flush=True)
try:
    k(1 << 50)
except KeyboardInterrupt:
    print("interrupted")
k(2)
print("end")
"""


def test_a_launch_is_interrupted_and_the_next_one_runs():
    with subprocess.Popen(program(ENDLESS), stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\nend\n"
    assert process.returncode == 0


FORK = """
x = qd.field(qd.i32, shape=4)
@qd.kernel
def k():
    for i in x:
        x[i] += 1
k()
child = os.fork()
if not child:
    x[0] = 100
    k()
    os._exit(0)
_, status = os.waitpid(child, 0)
k()
print(os.waitstatus_to_exitcode(status), x.to_numpy())
"""


def test_a_forked_process_is_told_that_it_has_none():
    done = run(FORK)
    assert done.stdout == "1 [2 2 2 2]\n", done.stderr
    assert "a forked process can't use the emulated processor" in done.stderr


def test_memory_goes_back(tmp_path):
    text = """
from adstack.backends.cpu.machine import machine
k = 0
for _ in range(20):
    x = qd.ndarray(qd.f32, shape=1_000_000)
    x.fill(1.0)
    k = max(k, machine().guest.word("end").value)
print(k < 60_000_000)
"""
    assert run(text).stdout == "True\n"


def test_where_qemu_is_missing_it_is_unavailable_and_says_what_would_help(monkeypatch):
    monkeypatch.setattr(emulated.shutil, "which", lambda name: None)
    answer = inspection.probe("cpu:aarch64")
    assert isinstance(answer, Unavailable)
    assert "no qemu-aarch64" in answer.reason
    assert "apt-get install qemu-user" in answer.fix


def test_a_processor_that_nobody_emulates_is_refused():
    answer = capability.probe_emulated("z80")
    assert isinstance(answer, Unavailable)
    assert "aarch64" in answer.fix


@pytest.mark.parametrize("name", emulated.PROCESSORS)
def test_it_says_that_it_is_emulated(name):
    answer = inspection.probe(f"cpu:{name}")
    assert not isinstance(answer, Unavailable)
    assert answer.kind == "emulated"
    assert answer.device == f"{name}, qemu"
