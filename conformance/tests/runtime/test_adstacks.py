"""Adstacks that overflow or find no memory, seen from a program: errors that can be caught, and nothing left of them.

Evidence for adstack.recovery and heap.stack beyond what cases can show: ends of processes, resets, failing allocators.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cpu import layout
from adstack.errors import AdstackMemoryError, AdstackOverflowError

PROGRAM = """
import adstack as qd

def chain():
    x, y = qd.field(qd.f32, 3, needs_grad=True), qd.field(qd.f32, 3, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * s
            y[i] = s

    x.fill(1)
    y.grad.fill(1)
    return x, k

def overflown(x, k):
    try:
        k.grad(9)
    except OverflowError as error:
        return str(error)
"""


def in_process(tmp_path: Path, body: str) -> tuple[int, str, str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + textwrap.dedent(body))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arch", ["cpu", "reference"])
def test_a_process_that_caught_an_overflow_ends_well(tmp_path, arch):
    body = f"""
    qd.init(arch=qd.{arch}, ad_stack_size=4)
    print(overflown(*chain()))
    """
    code, out, err = in_process(tmp_path, body)
    assert (code, err) == (0, "")
    assert "program.py:11:13: Adstack overflow in k.grad.0.parallel: a stack of capacity 4 was pushed 9 deep" in out
    assert "do: give it room for 9" in out


@pytest.mark.parametrize("arch", ["cpu", "reference"])
def test_reset_and_init_after_an_overflow_leave_nothing_of_it(tmp_path, arch):
    body = f"""
    for size in (4, 0, 4, 20):
        qd.init(arch=qd.{arch}, ad_stack_size=size)
        x, k = chain()
        print(overflown(x, k) is None, x.grad.to_numpy().tolist() == [512.0] * 3)
        qd.reset()
    """
    code, out, err = in_process(tmp_path, body)
    assert (code, err) == (0, "")
    seen = [line.split()[0] for line in out.splitlines()]
    assert seen == ["False", "True", "False", "True"]
    assert [line.split()[1] for line in out.splitlines()][1::2] == ["True", "True"]


def test_an_overflow_that_nobody_catches_ends_the_process_with_its_message_and_nothing_worse(tmp_path):
    code, _, err = in_process(tmp_path, "qd.init(arch=qd.cpu, ad_stack_size=4)\nchain()[1].grad(9)\n")
    assert code == 1
    assert "AdstackOverflowError" in err
    assert "capacity 4 was pushed 9 deep" in err


def chain(threads: int = 5) -> tuple[Any, Any, Any]:
    x, y = qd.field(qd.f32, threads, needs_grad=True), qd.field(qd.f32, threads, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * s
            y[i] = s

    x.fill(1)
    return x, y, k


def gradient(x: Any, y: Any, k: Any, n: int) -> list[float]:
    x.grad.fill(0)
    y.grad.fill(1)
    k(n)
    k.grad(n)
    values: list[float] = x.grad.to_numpy().tolist()
    return values


@pytest.mark.parametrize("arch", ["cpu", "reference"])
def test_an_overflow_in_a_tape_leaves_the_tape_and_the_program_usable(arch):
    qd.init(arch=arch, ad_stack_size=4)
    x, y, k = chain()
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def recorded(n: int) -> None:
        loss[None] = 0
        with qd.ad.Tape(loss):
            k(n)
            total()

    for n in (3, 9, 4, 5, 0):
        if n <= 4:
            recorded(n)
            assert x.grad.to_numpy().tolist() == [2.0**n] * 5
        else:
            with pytest.raises(AdstackOverflowError, match=f"pushed {n} deep"):
                recorded(n)


def test_a_refused_storage_names_task_bytes_and_remedy_and_the_program_goes_on():
    qd.init(arch=qd.cpu, ad_stack_storage="stack", ad_stack_size=1 << 17)
    x, y, k = chain()
    with pytest.raises(AdstackMemoryError) as caught:
        gradient(x, y, k, 3)
    message = str(caught.value)
    assert "k.grad.0.parallel take 524288 bytes of a thread's stack, which may hold 262144" in message
    assert "use ad_stack_storage='heap'" in message
    k(3)
    assert y.to_numpy().tolist() == [1] * 5


def test_storage_in_threads_wants_depths_that_are_known_when_compiled():
    qd.init(arch=qd.cpu, ad_stack_storage="stack")
    x, y, k = chain()
    with pytest.raises(
        qd.AdstackCompilationError, match=r"how deep the adstacks of k\.grad\.0\.parallel are"
    ) as caught:
        gradient(x, y, k, 3)
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert "set ad_stack_size=N" in str(caught.value)


@pytest.mark.parametrize("failing", range(14))
def test_whichever_allocation_fails_there_is_a_memory_error_or_none_and_the_program_can_go_on(monkeypatch, failing):
    qd.init(arch=qd.cpu, offline_cache=False)
    calls, take = [], layout.take

    def once(size: int, **how: Any) -> Any:
        calls.append(size)
        if len(calls) == failing + 1:
            raise MemoryError(f"no {size} bytes")
        return take(size, **how)

    monkeypatch.setattr(layout, "take", once)

    def program() -> None:
        x, y, k = chain(300)
        for n in (2, 5, 0, 7):
            assert gradient(x, y, k, n) == [2.0**n] * 300

    refused = ""
    try:
        program()
    except AdstackMemoryError as error:
        refused = str(error)
    assert not refused or (len(calls) == failing + 1 and "no memory for" in refused)  # that call, and not a later one
    if refused:
        program()


def test_deep_gradients_are_the_same_whatever_the_limit():
    results = {limited(limit) for limit in (0, 10_000, 3000, 1024)}
    assert len(results) == 1


def limited(limit: int) -> bytes:
    """Gradients through 200 steps, with so many bytes for adstacks."""
    qd.init(arch=qd.cpu, ad_stack_heap_limit=limit, cpu_max_num_threads=1)
    x, y = qd.field(qd.f32, 500, needs_grad=True), qd.field(qd.f32, 500, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n + i % 3):
                s = qd.sin(s) * 1.5
            y[i] = s

    x.from_numpy(np.linspace(0.1, 3, 500, dtype=np.float32))
    y.grad.fill(1)
    k(200)
    k.grad(200)
    content: bytes = x.grad.to_numpy().tobytes()
    return content
