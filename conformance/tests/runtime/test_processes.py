"""Processes that fork or end while their threads use a device (rules process.fork and process.exit)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import pytest
from process_kit import unmeasured

from adstack.errors import AdstackRuntimeError
from adstack.runtime.protocol.backend import Unavailable
from adstack.runtime.protocol.registry import probe
from adstack.runtime.threads import processes
from adstack.runtime.threads.processes import DeviceLock, foreign

ARCHES = ["reference", "cpu", "cuda"] + ["vulkan"] * (not isinstance(probe("vulkan"), Unavailable))
DEVICES = [arch for arch in ARCHES if arch in ("cuda", "vulkan")]
HEAD = """
import atexit, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks while there are threads
import adstack as qd

arch = getattr(qd, sys.argv[1])
qd.init(arch=arch)
x = qd.field(qd.f32, 1000)

@qd.kernel
def step(a: qd.f32):
    for i in x:
        x[i] = x[i] * 0.5 + a

def launches():
    while True:
        step(1.0)

def reads():
    while True:
        step(1.0)
        x.to_numpy()

def compiles():
    k = 0
    while True:
        k += 1
        @qd.kernel
        def another(a: qd.f32):
            for i in x:
                x[i] = x[i] * 0.25 + a * k
        another(2.0)

def busy():
    for work in (launches, reads, compiles):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)

def forked(act):
    '''What a child does; its exit code.'''
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        act()
        sys.exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def told(act):
    try:
        act()
    except qd.AdstackError as error:
        return type(error).__name__, "spawn" in str(error)
    return None

step(1.0)
x.to_numpy()
"""


def run(arch: str, body: str) -> tuple[int, str, str]:
    """A process that runs `HEAD` and `body`: its exit code and what it printed."""
    command = [sys.executable, "-c", HEAD + textwrap.dedent(body), arch]
    environment = {**unmeasured(), "ADSTACK_CUDA_DEVICE": "host"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


ON_THE_CPU = """
    def on_the_cpu():
        qd.init(arch=qd.cpu)
        y = qd.field(qd.f32, 10)

        @qd.kernel
        def count():
            for i in y:
                y[i] = i

        count()
        assert y[3] == 3
"""


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_a_child_forked_while_threads_are_busy_goes_on(arch):
    body = """
        busy()
        def child():
            step(2.0)
            assert (x.to_numpy() > 0).all()
            @qd.kernel
            def new(a: qd.f32):
                for i in x:
                    x[i] = a
            new(3.0)
            assert (x.to_numpy() == 3).all()
            on_the_cpu()
        print([forked(child) for _ in range(3)], flush=True)
    """
    assert run(arch, textwrap.dedent(ON_THE_CPU) + textwrap.dedent(body)) == (0, "[7, 7, 7]\n", "")


STEPS = """
    g, h = (qd.field(qd.f32, 1000, needs_grad=True) for _ in range(2))

    @qd.kernel
    def there(t: qd.i32):
        for i in h:
            h[i] = g[i] * g[i] + t

    @qd.kernel
    def back(t: qd.i32):
        for i in h:
            g[i] = 0.5 * h[i] + t

    def steps():
        for t in range(3):
            there(t)
            back(t)
            back.grad(t)

    g.fill(0.5)
    steps()
    steps()
"""


@pytest.mark.parametrize("arch", DEVICES)
def test_a_child_is_told_where_python_has_announced_launches_before(arch):
    body = """
        def child():
            runtime = ("AdstackRuntimeError", True)
            for _ in range(3):
                assert told(lambda: there(0)) == runtime
                assert told(lambda: back(0)) == runtime
                assert told(lambda: back.grad(2)) == runtime
        print([forked(child) for _ in range(2)], flush=True)
        steps()
    """
    assert run(arch, textwrap.dedent(STEPS) + textwrap.dedent(body)) == (0, "[7, 7]\n", "")


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_a_child_goes_on_where_python_has_announced_launches_before(arch):
    body = """
        def child():
            before = g.to_numpy()
            steps()
            g.from_numpy(before)
            steps()
            left = g.to_numpy()
            g.from_numpy(before)
            for t in range(3):
                there(t)
                back(t)
            assert (g.to_numpy() == left).all()
        print([forked(child) for _ in range(2)], flush=True)
    """
    assert run(arch, textwrap.dedent(STEPS) + textwrap.dedent(body)) == (0, "[7, 7]\n", "")


@pytest.mark.parametrize("arch", DEVICES)
def test_a_child_forked_while_threads_are_busy_is_told_and_does_not_hang(arch):
    body = """
        busy()
        def child():
            runtime = ("AdstackRuntimeError", True)
            assert told(lambda: step(2.0)) == runtime
            assert told(lambda: x.to_numpy()) == runtime
            assert told(lambda: x.fill(1)) == runtime
            assert told(lambda: qd.sync()) == runtime
            assert told(lambda: qd.field(qd.f32, 8).fill(1)) == runtime
            assert told(lambda: qd.init(arch=arch)) == ("BackendUnavailableError", True)
            on_the_cpu()
        print([forked(child), forked(lambda: None)], flush=True)
    """
    assert run(arch, textwrap.dedent(ON_THE_CPU) + textwrap.dedent(body)) == (0, "[7, 7]\n", "")


@pytest.mark.parametrize("arch", DEVICES)
def test_a_child_forked_before_the_device_is_opened_opens_it(arch):
    program = """
        import os, sys
        import adstack as qd
        child = os.fork()
        qd.init(arch=getattr(qd, sys.argv[1]))
        x = qd.field(qd.i32, 8)
        @qd.kernel
        def fill():
            for i in x:
                x[i] = i
        fill()
        assert x[3] == 3
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            print("end")
    """
    command = [sys.executable, "-c", textwrap.dedent(program), arch]
    environment = {**unmeasured(), "ADSTACK_CUDA_DEVICE": "host"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("arch", ARCHES)
def test_a_process_ends_while_daemon_threads_are_busy(arch):
    body = """
        def last():
            step(1.0)
            assert (x.to_numpy() > 0).all()
            print("last")
        atexit.register(last)
        busy()
        print("end")
    """
    assert run(arch, body) == (0, "end\nlast\n", "")


@pytest.mark.parametrize("arch", ["cpu", "cuda", *DEVICES[1:]])
def test_what_waits_for_a_thread_at_the_end_does_not_hang(arch):
    """A thread that still launches is ended, so that it can be waited for."""
    body = """
        ended = []
        def work():
            try:
                launches()
            finally:
                ended.append(1)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        time.sleep(0.1)
        import adstack.runtime.threads.processes as processes
        from adstack.backends.hostcall.launching import LAUNCH_LOCK
        LAUNCH_LOCK.close()
        processes._end_all()
        thread.join(60)
        print(ended)
    """
    assert run(arch, body) == (0, "[1]\n", "")


def test_a_lock_that_another_thread_held_at_the_fork_is_not_waited_for(monkeypatch):
    turn = DeviceLock("Test")
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with turn:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    here = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(processes.os, "getpid", lambda: here + 1)  # as in a child
        assert not turn.is_here
        assert foreign("Test") is not None
        turn.end()
        turn.give_back(lambda: pytest.fail("it is not this process's"))
        with pytest.raises(AdstackRuntimeError, match="forked from one that uses Test") as caught, turn:
            pass
        assert "'spawn'" in str(caught.value)
    free.set()
    thread.join()
    with turn, turn:
        assert turn.is_here
    assert foreign("Test") is None
    assert foreign("Other") is None


def test_once_the_process_ends_other_threads_end_at_their_next_launch():
    turn = DeviceLock("Test")
    raised: list[bool] = []

    def use() -> None:
        with pytest.raises(SystemExit), turn:
            pass
        turn.give_back(lambda: raised.append(False))
        raised.append(True)

    turn.end()
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    with turn:  # which that thread has given back
        assert raised == [True]
