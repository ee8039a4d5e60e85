"""The pool of threads: every index once, whatever the sizes; forks, interrupts, and the end of the process."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from process_kit import resident_bytes, unmeasured

from adstack.backends.cpu.pool import Pool, usable_cores
from adstack.backends.cpu.pool_code import HostWorkers
from adstack.backends.cpu.threads.system import sleeps
from adstack.backends.shared.jit import runtime_library
from adstack.errors import AdstackMemoryError

COUNT = """
; count every visit of an index, and note the piece that it was in
define void @count(ptr %ctx, i64 %begin, i64 %end, i64 %seat) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %at = getelementptr [2 x i64], ptr %ctx, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %from = getelementptr i64, ptr %at, i64 1
  store i64 %begin, ptr %from
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}

declare i32 @usleep(i32)
define void @slow(ptr %ctx, i64 %begin, i64 %end, i64 %seat) {
  %ignored = call i32 @usleep(i32 50000)
  ret void
}
"""
_ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *3 * [ctypes.c_int64])

SCRIPT = (
    f"COUNT = '''{COUNT}'''\n"
    """
import ctypes, os, signal, sys, threading, time
import numpy as np
from adstack.backends.cpu.pool import pool
from adstack.backends.shared.jit import runtime_library

library = runtime_library(COUNT, ["count", "slow"], None)
ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *3 * [ctypes.c_int64])

def launch(total=1000, grain=1, task="count"):
    visits = np.zeros((total, 2), np.int64)
    status = ENTRY(pool().entry)(library[task], visits.ctypes.data, total, grain, 1 << 40)
    if task == "count":
        assert status == 0 and (visits[:, 0] == 1).all()
    return status
"""
)


STAND_INS = """
declare i64 @syscall(i64, ...)
define i32 @__ulock_wait(i32 %how, ptr %word, i64 %expected, i32 %microseconds) {
  %nanoseconds = mul i32 %microseconds, 1000
  %r = call i32 @futex(ptr %word, i64 %expected, i32 %nanoseconds)
  ret i32 %r
}
define i32 @__ulock_wake(i32 %how, ptr %word, i64 %value) {
  %all = and i32 %how, 256
  %is = icmp ne i32 %all, 0
  %count = select i1 %is, i32 2147483647, i32 1
  %r = call i64 (i64, ...) @syscall(i64 202, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret i32 0
}
define i32 @WaitOnAddress(ptr %word, ptr %expected.at, i64 %size, i32 %milliseconds) {
  %expected = load i32, ptr %expected.at
  %wide = zext i32 %expected to i64
  %endless = icmp eq i32 %milliseconds, -1
  %some = mul i32 %milliseconds, 1000000
  %nanoseconds = select i1 %endless, i32 0, i32 %some
  %r = call i32 @futex(ptr %word, i64 %wide, i32 %nanoseconds)
  ret i32 1
}
define void @WakeByAddressSingle(ptr %word) {
  %r = call i32 @__ulock_wake(i32 0, ptr %word, i64 0)
  ret void
}
define void @WakeByAddressAll(ptr %word) {
  %r = call i32 @__ulock_wake(i32 256, ptr %word, i64 0)
  ret void
}
declare i32 @clock_gettime(i32, ptr)
define void @QueryInterruptTimePrecise(ptr %at) {
  %time = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %whole = mul i64 %seconds, 10000000
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %hundreds = udiv i64 %rest, 100
  %all = add i64 %whole, %hundreds
  store i64 %all, ptr %at
  ret void
}
define internal i32 @futex(ptr %word, i64 %expected, i32 %nanoseconds) {
  %time = alloca [2 x i64]
  store i64 0, ptr %time
  %rest = getelementptr i64, ptr %time, i64 1
  %wide = zext i32 %nanoseconds to i64
  store i64 %wide, ptr %rest
  %endless = icmp eq i32 %nanoseconds, 0
  %limit = select i1 %endless, ptr null, ptr %time
  %value = trunc i64 %expected to i32
  %r = call i64 (i64, ...) @syscall(i64 202, ptr %word, i64 128, i32 %value, ptr %limit, ptr null, i64 0)
  ret i32 0
}
"""
"""What macOS and Windows offer, on Linux: so their ways to wait run where neither is."""
OFFERED = (
    *("__ulock_wait", "__ulock_wake", "WaitOnAddress", "WakeByAddressSingle", "WakeByAddressAll"),
    "QueryInterruptTimePrecise",
)


class Launcher:
    """Runs the counting task on a pool."""

    def __init__(self, system: str) -> None:
        self.sleeps = sleeps(system)
        self._offered = runtime_library(STAND_INS, OFFERED, None)
        offered = {name: self._offered[name] for name in OFFERED}
        self.pool = Pool(HostWorkers(system=system, offered=offered))
        self._entry = _ENTRY(self.pool.entry)
        self.library = runtime_library(COUNT, ["count"], None)

    def run(self, total: int, grain: int) -> Any:
        """(visits, start of its piece) of each of `total` indices, and of some after them."""
        visits = np.zeros((max(total, 0) + 70, 2), np.int64)
        assert self._entry(self.library["count"], visits.ctypes.data, total, grain, 1 << 40) == 0
        assert (visits[: max(total, 0), 0] == 1).all()
        assert (visits[max(total, 0) :] == 0).all()
        return visits[: max(total, 0)]


@pytest.fixture(scope="module", params=["linux", "darwin", "windows", "another"])
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    if sys.platform != "linux":
        pytest.fail("what stands in for systems is for Linux")
    subject = Launcher(request.param)
    yield subject
    subject.pool.stop()


def in_process(body: str, *, send: int = 0, seconds: float = 30) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own; `send` is a signal it gets once it has printed a line."""
    code = SCRIPT + textwrap.dedent(body)
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=unmeasured())
    assert process.stdout is not None
    first = process.stdout.readline() if send else ""
    if send:
        process.send_signal(send)
    out, err = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, first + out, err)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_index_is_visited_once(launcher: Launcher, threads: int) -> None:
    launcher.pool.start(threads)
    assert launcher.pool.threads == threads
    for total in (-5, 0, 1, 2, 15, 16, 17, 63, 64, 65, 100, 127, 128, 129, 1000, 4096, 100_003):
        for grain in (-64, -1, 0, 1, 16, 64, 1000, 1 << 40):
            launcher.run(total, grain)


@given(total=st.integers(0, 5000), grain=st.integers(0, 6000), threads=st.integers(1, 4))
def test_loops_of_any_size_are_covered(total: int, grain: int, threads: int) -> None:
    SHARED.pool.start(threads)
    timed = grain + 1 if grain + 1 < total else 1
    behind = np.unique(SHARED.run(total, -1 - grain)[:, 1])[1:]
    if total - timed > 64:
        assert ((behind - timed) % 64 == 0).all()
    starts = np.unique(SHARED.run(total, grain)[:, 1])
    if total > 64:
        assert (starts % 64 == 0).all()
    if total <= grain:
        assert len(starts) <= 1


SHARED = Launcher("linux")


def test_a_large_loop_is_cut_into_several_pieces_and_a_small_one_is_not(launcher: Launcher) -> None:
    launcher.pool.start(2)
    assert 16 <= len(np.unique(launcher.run(100_000, 100)[:, 1])) <= 256
    assert len(np.unique(launcher.run(100_000, 40_000)[:, 1])) == 3
    assert len(np.unique(launcher.run(100, 100)[:, 1])) == 1
    assert len(np.unique(launcher.run(8, 1)[:, 1])) == 8


def test_without_a_number_there_is_a_thread_per_usable_core() -> None:
    SHARED.pool.start()
    assert SHARED.pool.threads == len(usable_cores())


def test_threads_that_the_system_does_not_allow_are_an_error_and_the_others_end(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, left = threading.Thread.start, iter(range(2))

    def limited(thread: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    launcher.pool.stop()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", limited)
        with pytest.raises(AdstackMemoryError, match="no memory for more than 2 of 4 threads"):
            launcher.pool.start(5)
    assert launcher.pool.threads == 1
    launcher.run(10_000, 64)
    launcher.pool.start(5)
    assert launcher.pool.threads == 5
    launcher.run(10_000, 64)


def test_other_threads_take_part(launcher: Launcher) -> None:
    seen: set[int] = set()
    both = threading.Barrier(2, timeout=20)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *3 * [ctypes.c_int64])
    def task(context: int, begin: int, end: int, seat: int) -> None:
        if begin in (0, 64):
            both.wait()
        seen.add(threading.get_native_id())

    launcher.pool.start(2)
    assert _ENTRY(launcher.pool.entry)(ctypes.cast(task, ctypes.c_void_p), None, 128, 64, 1 << 40) == 0
    assert len(seen) == 2


def test_a_short_loop_of_long_iterations_is_shared(launcher: Launcher) -> None:
    seen: dict[int, int] = {}
    both = threading.Barrier(2, timeout=20)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *3 * [ctypes.c_int64])
    def task(context: int, begin: int, end: int, seat: int) -> None:
        if begin in (1, 2):
            both.wait()
        time.sleep(0.02)
        seen.update(dict.fromkeys(range(begin, end), threading.get_native_id()))

    launcher.pool.start(2)
    assert _ENTRY(launcher.pool.entry)(ctypes.cast(task, ctypes.c_void_p), None, 8, -64, 1 << 40) == 0
    assert sorted(seen) == list(range(8))
    assert len(set(seen.values())) == 2


@pytest.mark.parametrize("seats", [1, 2, 3, 1 << 40])
def test_no_two_threads_have_the_same_seat_and_no_more_take_part_than_there_are_seats(
    launcher: Launcher, seats: int
) -> None:
    taken: set[int] = set()
    seen: dict[int, set[int]] = {}
    failures: list[str] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *3 * [ctypes.c_int64])
    def task(context: int, begin: int, end: int, seat: int) -> None:
        if seat in taken:
            failures.append(f"seat {seat} is taken")
        taken.add(seat)
        time.sleep(0.0005)
        seen.setdefault(seat, set()).add(threading.get_native_id())
        taken.discard(seat)

    launcher.pool.start(4)
    for _ in range(10):
        seen.clear()
        entry = _ENTRY(launcher.pool.entry)
        assert entry(ctypes.cast(task, ctypes.c_void_p), None, 64 * 20, 64, seats) == 0
        assert failures == []
        assert all(len(threads) == 1 for threads in seen.values())
        assert seen.keys() <= set(range(min(seats, 4)))


def test_a_loop_inside_a_loop_runs_where_it_is(launcher: Launcher) -> None:
    launcher.pool.start(2)
    entry = _ENTRY(launcher.pool.entry)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *3 * [ctypes.c_int64])
    def task(context: int, begin: int, end: int, seat: int) -> None:
        launcher.run(1000, 10)

    assert entry(ctypes.cast(task, ctypes.c_void_p), None, 256, 64, 1 << 40) == 0


def test_threads_of_python_may_launch_at_the_same_time(launcher: Launcher) -> None:
    launcher.pool.start(3)
    failures: list[BaseException] = []

    def work(total: int) -> None:
        try:
            for _ in range(300):
                launcher.run(total, 64)
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(1000 + 77 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_number_of_threads_may_change_while_others_launch(launcher: Launcher) -> None:
    done = threading.Event()

    def change() -> None:
        for k in range(60):
            launcher.pool.start(1 + k % 4)
        done.set()

    thread = threading.Thread(target=change)
    thread.start()
    while not done.is_set():
        launcher.run(5000, 64)
    thread.join()


@pytest.mark.alone
def test_many_launches_take_no_memory(launcher: Launcher) -> None:
    launcher.pool.start(2)
    before = resident_bytes()
    visits = np.zeros((256, 2), np.int64)
    entry, task = _ENTRY(launcher.pool.entry), launcher.library["count"]
    for _ in range(100_000 if launcher.sleeps else 5_000):
        entry(task, visits.ctypes.data, 256, 64, 1 << 40)
    assert resident_bytes() - before < 4 << 20
    assert (visits[:, 0] == visits[0, 0]).all()


# ---- the process around it


def test_a_process_with_workers_ends() -> None:
    done = in_process("pool().start(4); launch(); print('end')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_process_ends_in_the_middle_of_a_launch_of_a_daemon_thread() -> None:
    done = in_process(
        """
        pool().start(2)
        threading.Thread(target=lambda: launch(640, 1, "slow"), daemon=True).start()
        time.sleep(0.1)
        print('end')
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_launches_after_the_workers_ended_run_on_their_caller() -> None:
    done = in_process("import atexit; atexit.register(launch); pool().start(2); launch(); print('end')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_forked_child_launches_and_starts_its_own_workers() -> None:
    done = in_process(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        pool().start(3)
        launch()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            launch()
            assert pool().threads == 1
            pool().start(2)
            for _ in range(1000):
                launch()
            assert pool().threads == 2
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        launch()
        print(pool().threads)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_a_child_forked_during_another_threads_launch_does_not_hang() -> None:
    done = in_process(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        pool().start(2)
        thread = threading.Thread(target=lambda: launch(640, 1, "slow"))
        thread.start()
        time.sleep(0.1)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            pool().start(2)
            launch()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        thread.join()
        launch()
        print("end")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_launch_and_the_pool_stays_usable(threads: int) -> None:
    done = in_process(
        f"""
        pool().start({threads})
        try:
            print("ready", flush=True)
            for _ in range(100):
                launch(6400, 1, "slow")
        except KeyboardInterrupt:
            launch()
            print(pool().threads)
        """,
        send=signal.SIGINT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ready\n{threads}\n", "")


def test_a_signal_handler_that_raises_nothing_changes_nothing() -> None:
    done = in_process(
        """
        caught = []
        signal.signal(signal.SIGUSR1, lambda *_: caught.append(launch()))
        pool().start(2)
        print("ready", flush=True)
        begun = time.monotonic()
        while not caught and time.monotonic() - begun < 20:
            assert launch(640, 1, "slow") == 0
        print(caught)
        """,
        send=signal.SIGUSR1,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n[0]\n", "")
