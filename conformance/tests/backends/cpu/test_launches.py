"""Launches in a process: interrupts, other threads, signal handlers, forks."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from process_kit import SCRIPT, in_process, resident_bytes

import adstack as qd


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_SCRATCH", str(tmp_path))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", ["long", "long.serve"])
def test_ctrl_c_ends_a_long_kernel_and_the_runtime_stays_usable(threads: int, call: str) -> None:
    body = f"""
try:
    print("ready", flush=True)
    {call}(x, 2_000_000)
except KeyboardInterrupt:
    one(x)
    print(x.to_numpy().sum())
"""
    assert in_process(body, threads=threads, send=signal.SIGINT) == (0, "ready\n65536.0\n", "")


ENDLESS = """
@qd.kernel
def serial(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    k = 0
    while k < turns:
        k = (k + 1) % 1000
        x[0] += 1.0

@qd.kernel
def nested(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    if turns > 0:
        for a in range(turns):
            for b in range(turns):
                for c in range(3):
                    x[c] += b * 0.5

@qd.kernel
def lanes(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    for i in x:
        v = x[i]
        for a in range(turns):
            for b in range(turns):
                v = v * 0.5 + b
        x[i] = v

@qd.kernel
def ragged(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    for i in x:
        v = x[i]
        k = i % 3
        while k < turns:
            k = (k + 2) % 1000
            v = v * 0.5 + k
        for a in range(turns + i):
            for b in range(turns - i):
                v = v * 0.5 + b
        x[i] = v

@qd.kernel
def single(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i32):
    for i in range(1):
        for a in range(turns):
            for b in range(turns):
                x[i] = x[i] * 0.5 + b
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", ["serial", "nested", "lanes", "ragged", "single"])
def test_ctrl_c_ends_one_long_task_or_iteration(kernel: str, threads: int) -> None:
    body = f"""
{kernel}(x, 0)
for call in ({kernel}, {kernel}.serve):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        call(x, 2_000_000_000)
    except KeyboardInterrupt:
        one(x)
        print(x.to_numpy().sum())
"""
    assert in_process(body, threads=threads, script=SCRIPT + ENDLESS) == (0, "65536.0\n65536.0\n", "")


FLAT = """
@qd.kernel
def flat(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i64):
    for i in range(turns):
        x[i % 16] = 1.0

@qd.kernel
def grid(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i64):
    for i, j in qd.ndrange(turns, 1_000_000):
        x[(i + j) % 16] = 2.0

@qd.kernel
def total(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i64) -> qd.i64:
    s = qd.i64(0)
    for i in range(turns):
        s += i % 3
    return s

@qd.kernel
def in_order(x: qd.types.ndarray(dtype=qd.f64, ndim=1), turns: qd.i64):
    qd.loop_config(serialize=True)
    for i in range(turns):
        x[i % 16] += 1.0
"""


@pytest.mark.parametrize(
    ("kernel", "turns", "threads"),
    [("flat", 10**13, 1), ("flat", 10**13, 2), ("grid", 10**7, 2), ("total", 10**13, 2), ("in_order", 10**13, 2)],
)
def test_ctrl_c_ends_a_loop_of_any_length(kernel: str, turns: int, threads: int) -> None:
    """interrupts.wait"""
    body = f"""
{kernel}(x, 0)
for call in ({kernel}, {kernel}.serve):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        call(x, {turns})
    except KeyboardInterrupt:
        one(x)
        print(x.to_numpy().sum())
"""
    assert in_process(body, threads=threads, script=SCRIPT + FLAT) == (0, "65536.0\n65536.0\n", "")


def test_a_handler_that_does_not_raise_lets_a_long_iteration_go_on() -> None:
    body = """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
single(x, 12_000)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(seen) > 1, x.to_numpy()[0] > 0)
"""
    assert in_process(body, script=SCRIPT + ENDLESS) == (0, "True True\n", "")


def test_other_threads_go_on_during_a_long_kernel() -> None:
    body = """
ticks = []
stop = threading.Event()
def tick():
    while not stop.is_set():
        ticks.append(time.monotonic())
        time.sleep(0.001)
thread = threading.Thread(target=tick)
thread.start()
begun = time.monotonic()
while time.monotonic() - begun < 0.5:
    long(x, 3000)
stop.set()
thread.join()
print(len(ticks) > 20)
"""
    assert in_process(body) == (0, "True\n", "")


def test_a_handler_that_launches_gets_an_error_and_the_launch_goes_on() -> None:
    body = """
errors = []
def handler(*_):
    try:
        one(x)
    except RuntimeError as error:
        errors.append(str(error))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
begun = time.monotonic()
while not errors and time.monotonic() - begun < 30:
    long(x, 400_000)
signal.setitimer(signal.ITIMER_REAL, 0)
one(x)
print(errors[0])
"""
    code, out, err = in_process(body)
    assert (code, err) == (0, "")
    assert "while another one runs on the same thread" in out


def test_kernels_may_be_called_while_the_interpreter_ends() -> None:
    body = """
import atexit
def last():
    one(x)
    one.serve(x)
    print(x.to_numpy().sum())
atexit.register(last)
"""
    assert in_process(body) == (0, "65536.0\n", "")


def test_the_first_kernel_may_be_called_while_the_interpreter_ends() -> None:
    body = """
import atexit
import adstack as qd

@qd.kernel
def one() -> qd.i32:
    s = 0
    for i in range(100000):
        s += 1
    return s

atexit.register(lambda: (qd.init(arch=qd.cpu), print(one())))
"""
    assert in_process(body, script="") == (0, "100000\n", "")


def test_a_forked_child_calls_kernels() -> None:
    body = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if child == 0:
    signal.alarm(30)
    for _ in range(100):
        long(x, 1)
    one(x)
    os._exit(int(x.to_numpy().sum() == 1 << 16))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
one(x)
print("end")
"""
    assert in_process(body) == (0, "end\n", "")


@qd.kernel
def fill(x: qd.types.ndarray(dtype=qd.f32, ndim=1), value: qd.f32):
    for i in x:
        x[i] = value


@qd.kernel
def plus(a: qd.i32, b: qd.f64) -> qd.f64:
    return a + b


@pytest.mark.alone
def test_a_million_calls_take_no_memory() -> None:
    qd.init(arch=qd.cpu)
    x, host = qd.ndarray(qd.f32, (8,)), np.zeros(8, np.float32)
    for k in range(2000):
        fill(x, 1.0)
        fill(host, 1.0)
        plus(k, 2.0)
    before = resident_bytes()
    for k in range(330_000):
        fill(x, 1.0)
        fill(host, 1.0)
        plus(k, 2.0)
    assert resident_bytes() - before < 4 << 20
