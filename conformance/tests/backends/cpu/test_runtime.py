"""Launches: errors leave everything usable, programs do not disturb each other, threads and streams may launch too."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref

import numpy as np
import pytest
from cpu_kit import backend, compiled, tasks_of
from interpreter_kit import parallel, serial

import adstack as qd
from adstack.errors import AdstackOutOfBoundsError, AdstackRuntimeError
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options

FILL = parallel(
    "%v = load @x[%i] : i32\n%w = add %v, %p : i32\nstore @y[%i], %w",
    200,
    "place @x : i32[?] ndarray\nplace @y : i32[?] ndarray",
    "%p: i32",
)


def test_scalars_and_arrays_of_a_launch_are_its_own():
    launch = compiled(FILL, 8)
    for p, n in ((1, 200), (-5, 300), (2**31 - 1, 200)):
        x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        launch({"x": x, "y": y}, [p])
        with np.errstate(over="ignore"):
            assert y[:200].tolist() == (x[:200] + np.int32(p)).tolist()


@pytest.mark.parametrize("dtype", ["u1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"])
def test_scalars_of_every_type_go_in_and_come_out(dtype):
    values = {"u1": [True, False], "f16": [0.5, float("inf")], "f32": [0.5, -0.0], "f64": [1e300, -0.0]}.get(dtype)
    if values is None:
        info = np.iinfo({"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
        values = [info.min, info.max, 1]
    launch = compiled(serial("return %v, %v", f"(%v: {dtype}) -> ({dtype}, {dtype})"), 1)
    for value in values:
        assert [repr(result) for result in launch({}, [value])] == [repr(value)] * 2


def test_temps_start_at_zero_in_every_launch():
    text = """kernel @k(%n: i32) -> (i32) {
      %zero = const 0 : i32
      %a = array.alloc : array<i32, 4>
      %old = array.load %a, %zero : i32
      array.store %a, %zero, %n
      parallel_for (%i = %zero to %n) {
        %v = array.load %a, %zero : i32
        yield
      }
      %r = array.load %a, %zero : i32
      %s = mul %old, %r : i32
      return %s
    }
    """
    launch = compiled(text, 1)
    assert [list(launch({}, [n])) for n in (3, 4, 3)] == [[0], [0], [0]]


def test_programs_take_turns_without_a_trace_of_each_other():
    places = "place @x : i32[?] field"
    bad = compiled(parallel("store @x[%i], %p", 9, places, "%p: i32"), 1, debug=True)
    good = compiled(
        parallel("%v = load @x[%i] : i32\n%w = add %v, %p : i32\nstore @x[%i], %w", 5, places, "%p: i32"), 8
    )
    x = np.zeros(5, np.int32)
    for turn in range(5):
        with pytest.raises(AdstackOutOfBoundsError, match=r"in iteration \(5\)"):
            bad({"x": x}, [turn])
        good({"x": x}, [10])
        assert set(x) == {turn + 10}


def test_a_report_that_nobody_took_is_not_the_next_launchs():
    program = tasks_of(parallel("store @x[%i], %i", 9, "place @x : i32[?] field"), debug=True)
    executable = backend().compile(program, Options(debug=True, offline_cache=False))
    executable.errors[:2] = 1  # as an interrupt between the launch and its report leaves it
    executable.overflow[:] = 7
    x = np.zeros(9, np.int32)
    backend().launch(executable, (), Bindings({"x": x}, {"x": x.shape}))
    assert x.tolist() == list(range(9))


def test_threads_may_launch_one_program_at_once():
    launch = compiled(FILL, 8)
    wrong: list[int] = []

    def work(p: int) -> None:
        x, y = np.arange(200, dtype=np.int32), np.zeros(200, np.int32)
        for _ in range(300):
            launch({"x": x, "y": y}, [p])
            if (y != x + p).any():
                wrong.append(p)

    threads = [threading.Thread(target=work, args=(p,)) for p in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_threads_may_call_one_kernel_at_once():
    qd.init(arch=qd.cpu, offline_cache=False)

    @qd.kernel
    def shift(x: qd.types.ndarray(dtype=qd.i32, ndim=1), p: qd.i32):
        for i in x:
            x[i] += p

    wrong: list[int] = []

    def work(p: int) -> None:
        x = np.zeros(100, np.int32)
        for _ in range(200):
            shift(x, p)
        if set(x) != {200 * p}:
            wrong.append(p)

    work(1)
    threads = [threading.Thread(target=work, args=(p,)) for p in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_stream_that_launches_while_a_kernel_prints_is_told_so(monkeypatch):
    inner = compiled(FILL, 8)
    outer = compiled(parallel('print "line\\n"', 3), 1)
    x, y = np.arange(200, dtype=np.int32), np.zeros(200, np.int32)

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            inner({"x": x, "y": y}, [len(text)])
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Stream())
    with pytest.raises(AdstackRuntimeError, match="launched while another"):
        outer()
    monkeypatch.undo()
    inner({"x": x, "y": y}, [5])
    assert (y == x + 5).all()


def test_machine_code_goes_with_its_program():
    program = tasks_of(FILL)
    options = Options(offline_cache=False)
    executable = backend().compile(program, options)
    gone = []
    weakref.finalize(executable.code, gone.append, True)
    del executable
    gc.collect()
    assert gone == [True]


def test_listings_show_what_runs():
    program = tasks_of(FILL)
    executable = backend().compile(program, Options(cpu_lanes=8, offline_cache=False))
    listing = backend().listing(executable)
    assert list(listing) == ["llvm", "llvm-opt", "asm"]
    assert "load <8 x i32>" in listing["llvm"]
    assert "define i64 @run(" in listing["llvm-opt"]
    assert "run:" in listing["asm"]
