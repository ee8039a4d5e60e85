"""Threads and interrupts on a Vulkan device: resets while others launch, handlers in waits and between commands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from interrupts_kit import Program, at_random, everywhere, unraised
from process_kit import unmeasured
from threads_kit import Launching, work_of

import adstack as qd
from adstack.runtime import state


@pytest.mark.parametrize("again", ["reset", "init"])
def test_a_reset_is_an_error_in_the_threads_that_launch(again: str) -> None:
    for _ in range(2):
        threads = [Launching(work) for work in work_of(qd.vulkan)]
        for thread in threads:
            thread.wait(3)
        if again == "reset":
            qd.reset()
        else:
            qd.init(arch=qd.vulkan)
        assert [type(thread.ended()) for thread in threads] == [qd.AdstackRuntimeError] * len(threads)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("what", ["tape", "forward", "graph"])
def test_an_exception_at_any_point_leaves_nothing_in_force(what: str, kind: type[BaseException]) -> None:
    program = Program("vulkan")
    work: Callable[[], None] = getattr(program, what)
    for _ in range(2):
        program.x.fill(3.0)
        work()
        program.check()
    with unraised():
        assert [number for number in everywhere(work, kind, 17) if program.check() is None]


def test_interrupts_at_random_moments() -> None:
    program = Program("vulkan")

    def work() -> None:
        program.x.fill(3.0)
        program.tape()

    with unraised():
        assert any(interrupted for interrupted in at_random(work, 500) if program.check() is None)


def test_a_view_of_memory_lives_longer_than_the_memory() -> None:
    qd.init(arch=qd.vulkan)
    x = qd.field(qd.f32, 8 << 20)
    x.fill(1.0)
    view = x.buffer.read()
    memory = state.current().backend.memory  # type: ignore[attr-defined]
    before = memory.taken
    qd.reset()
    assert memory.taken <= before - (32 << 20)
    assert np.all(view[::4096] == 1.0)


WAIT = """
import os, signal, threading
import adstack as qd
qd.init(arch=qd.vulkan)
x = qd.field(qd.f32, 64)

@qd.kernel
def long(turns: qd.i32):
    for i in x:
        v = x[i]
        for a in range(turns):
            for b in range(turns):
                v = v * 0.5 + b
        x[i] = v

long(2)
x.to_numpy()
long(2_000_000)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize("wait", ["x.to_numpy()", "qd.sync()", "qd.reset()"])
def test_a_wait_answers_ctrl_c(wait: str, tmp_path: Path) -> None:
    """interrupts.wait"""
    script = tmp_path / "script.py"
    script.write_text(WAIT.format(wait=wait))
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=unmeasured())
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
