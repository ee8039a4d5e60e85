"""What a running program reports, in words and on standard output."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from cpu_kit import compiled, tasks_of
from interpreter_kit import parallel, serial

from adstack import interpreter
from adstack.backends.shared.reports import number, written
from adstack.ir.types import ALL, by_name


def printed(text: str, lanes: int, monkeypatch, **options) -> list[str]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    compiled(text, lanes, **options)()
    monkeypatch.undo()
    return out.getvalue().splitlines()


def by_the_interpreter(text: str) -> list[str]:
    out: list[str] = []
    interpreter.run(tasks_of(text), {}, (), options=interpreter.RunOptions(stdout=out.append))
    return "".join(out).splitlines()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numbers_of_every_type_are_printed_as_the_interpreter_prints_them(dtype, monkeypatch):
    values = ["true", "false"] if dtype.is_bool else ["0", str(dtype.max), str(dtype.min)] if not dtype.is_float else []
    values += ["0.1", "-0.0", "nan", "inf", "-inf", "1e-7", "60000.0", "1.0"] if dtype.is_float else []
    values = [str(dtype(float(v))) if dtype.is_float and v[-1].isdigit() else v for v in values]
    consts = "\n".join(f"%v{k} = const {v} : {dtype}" for k, v in enumerate(values))
    prints = "\n".join(f'print "value ", %v{k}, "\\n"' for k in range(len(values)))
    text = serial(f"{consts}\n{prints}\nreturn")
    assert printed(text, 1, monkeypatch) == by_the_interpreter(text)
    assert len(by_the_interpreter(text)) == len(values)


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_every_iteration_prints_once(lanes, monkeypatch):
    body = """%two = const 2 : i32
    %m = mod %i, %two : i32
    %odd = eq %m, %zero : u1
    if %odd {
      print "even ", %i, "\\n"
      yield
    } else {
      yield
    }
    print "all\\n" """
    lines = printed(parallel(body, 100), lanes, monkeypatch)
    assert lines.count("all") == 100
    assert sorted(lines) == sorted(by_the_interpreter(parallel(body, 100)))


class Broken(io.StringIO):
    def write(self, text):
        raise ValueError("nobody reads this")


def test_an_error_of_the_stream_is_raised_when_the_launch_is_over(monkeypatch):
    text = parallel('print "x\\n"\nstore @y[%i], %i', 100, "place @y : i32[?] field")
    launch = compiled(text, 8)
    y = np.zeros(100, np.int32)
    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(ValueError, match="nobody reads this"):
        launch({"y": y})
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    launch({"y": y})
    monkeypatch.undo()
    assert out.getvalue().count("x") == 100
    assert y.tolist() == list(range(100))


def test_without_a_standard_output_nothing_is_printed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    compiled(parallel('print "x\\n"', 10), 1)()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_recorded_number_is_read_in_its_type(dtype):
    value = dtype.numpy.type(1 if dtype.is_bool else -2.5 if dtype.is_float else 100)
    bits = int.from_bytes(np.asarray(value).tobytes().ljust(8, b"\xff"), "little", signed=True)
    assert number(bits, dtype) == value


def test_floats_are_written_with_the_digits_that_they_need():
    assert written(np.float32(0.1)) == "0.1"
    assert written(np.float16(0.1)) == "0.1"
    assert written(by_name("f64").numpy.type(0.1)) == "0.1"
    assert written(np.int8(-3)) == "-3"


def test_threads_may_print(monkeypatch):
    body = """%thousand = const 1000 : i32
    %m = mod %i, %thousand : i32
    %now = eq %m, %zero : u1
    if %now {
      print "at ", %i, "\\n"
      yield
    } else {
      yield
    }
    %s = for %j = %zero to %thousand carry (%t = %i) {
      %u = mul %t, %j : i32
      %v = add %u, %i : i32
      yield %v
    }
    store @y[%i], %s"""
    launch = compiled(parallel(body, 40_000, "place @y : i32[?] field"), 8)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    launch({"y": np.zeros(40_000, np.int32)})
    monkeypatch.undo()
    assert sorted(out.getvalue().splitlines()) == sorted(f"at {i}" for i in range(0, 40_000, 1000))
