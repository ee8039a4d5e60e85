"""Lanes that update memory one by one: elements anywhere, some of them shared, by lanes of which some do not run."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cpu_kit import agree, run_cpu, tasks_of
from cpu_kit import compiled as compiled_here
from cuda_kit import SUMS, CudaBackend, compiled, device_text
from programs_kit import loop, updates

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.backends.cuda.adds import LEAST
from adstack.backends.cuda.emulator import Emulator
from adstack.errors import AdstackError
from adstack.ir.types import by_name
from adstack.runtime.protocol.backend import Capabilities
from adstack.transforms.memory.guard import guard

WIDTHS = (2, 4, 8, 16, 64)
N = 101
THIRDS = "%three = const 3 : i32\n%r = mod %i, %three : i32\n%on = ne %r, %zero : u1\n"


def where_they_say(body: str, dtype: str, *names: str) -> str:
    """A loop whose iterations update elements that memory tells: %w."""
    text = loop(f"%w = load @where[%i] : i32\n{body}", dtype, *names)
    return text.replace("place @", "place @where : i32[?] field\nplace @", 1)


def where() -> np.ndarray:
    return (np.arange(N) // 3 * 7 % 11).astype(np.int32)


def running(update: str) -> str:
    """An update by the iterations that %on says."""
    return f"if %on {{\n{update}\nyield\n}} else {{\nyield\n}}\n"


@pytest.mark.parametrize("dtype", ["u32", "i64", "f32", "f64"])
def test_every_lane_updates_its_element_in_the_way_that_is_meant(dtype: str) -> None:
    """Sums and maxima in one kernel, each by all lanes and by some."""
    body = f"%v = load @x[%i] : {dtype}\n{THIRDS}"
    for kind, place in (("add", "y"), ("max", "z")):
        update = f"atomic {kind} @{place}[%w], %v : {dtype}"
        body += f"%{kind} = {update}\n{running(f'%some = {update}')}"
    text = where_they_say(body, dtype, "x", "y", "z")
    assert '"max.' in emit_program(tasks_of(text), [8]).text
    values = np.arange(N).astype(by_name(dtype).numpy)
    if dtype == "u32":
        values[::2] += np.uint32(3 << 30)
    memory = {"where": where(), "x": values, "y": np.zeros(11, values.dtype), "z": np.zeros(11, values.dtype)}
    agree(text, memory, [N], WIDTHS)


def test_whether_threads_are_kept_apart_is_asked_when_the_task_runs() -> None:
    text = where_they_say("%v = load @x[%i] : i64\n%old = atomic add @y[%w], %v : i64", "i64", "x", "y")
    calls = re.findall(r'call void @"add\.[^\n]*', emit_program(tasks_of(text), [8]).text)
    assert calls
    assert all(call.endswith("i1 %apart)") for call in calls)


@pytest.mark.parametrize("index", ["%w", "%zero"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_where_old_values_are_asked_for_lanes_that_do_not_run_update_nothing(index: str, lanes: int) -> None:
    update = f"%one = const 1 : i64\n%old = atomic add @y[{index}], %one : i64\nstore @z[%i], %old"
    memory = {"where": where(), "y": np.zeros(11, np.int64), "z": np.full(N, -1, np.int64)}
    run_cpu(where_they_say(THIRDS + running(update), "i64", "y", "z"), memory, [N], lanes)
    hits = [0 if index == "%zero" else int(memory["where"][i]) for i in range(N) if i % 3]
    assert memory["y"].tolist() == np.bincount(hits, minlength=11).tolist()
    assert [old for i, old in enumerate(memory["z"]) if i % 3 == 0] == [-1] * len(range(0, N, 3))
    for element in set(hits):
        olds = [
            int(memory["z"][i]) for i, at in zip((i for i in range(N) if i % 3), hits, strict=True) if at == element
        ]
        assert sorted(olds) == list(range(len(olds)))


@pytest.mark.parametrize("lanes", WIDTHS)
def test_unsigned_maxima_that_others_may_write_are_unsigned(lanes: int) -> None:
    body = "%v = load @x[%i] : u32\n%old = atomic max @y[%w], %v : u32\nstore @z[%i], %old"
    values = np.arange(N, dtype=np.uint32)
    values[::2] += np.uint32(3 << 30)
    memory = {"where": where(), "x": values, "y": np.ones(11, np.uint32), "z": np.zeros(N, np.uint32)}
    run_cpu(where_they_say(body, "u32", "x", "y", "z"), memory, [N], lanes)
    wanted = np.ones(11, np.uint32)
    np.maximum.at(wanted, where(), values)
    assert memory["y"].tolist() == wanted.tolist()


@pytest.mark.parametrize("lanes", WIDTHS)
def test_elements_of_records_that_others_may_update_are_those_of_each_lane(lanes: int) -> None:
    """Going up, each lane has the second element of the record that follows that of the lane before."""
    body = """%v = load @x[%i] : i32
    %one = const 1 : i32
    %last = sub %n, %one : i32
    %m = sub %last, %i : i32
    %old = atomic add @y[%i, %one], %v : i32
    %other = atomic add @y[%m, %one], %v : i32
    store @z[%i], %other"""
    text = loop(body, "i32", "x", "y", "z").replace("@y : i32[?]", "@y : i32[?, 2]")
    x = np.arange(N, dtype=np.int32)
    memory = {"x": x, "y": np.zeros((N, 2), np.int32), "z": np.zeros(N, np.int32)}
    run_cpu(text, memory, [N], lanes)
    assert memory["y"].tolist() == [[0, N - 1]] * N


def test_an_exchange_that_another_thread_was_faster_than_is_tried_with_what_that_one_left() -> None:
    body = "%v = load @x[%i] : f32\n%old = atomic mul @y[%zero], %v : f32\nstore @x[%i], %old"
    text = emit_program(tasks_of(loop(body, "f32", "x", "y")), [1]).text
    turns = re.findall(r"phi i32 \[ %\w+, %\w+ \], \[ (%\w+), %\w+ \]", text)
    assert text.count("cmpxchg") == len([again for again in turns if f"{again} = extractvalue" in text]) > 0


class Least(Emulator):
    """A device whose memory takes small numbers for zero, as far as code can tell."""

    def float_adds(self, cached: object) -> dict[str, float]:
        return {"f32": LEAST}


def test_small_numbers_are_added_where_memory_would_take_them_for_zero() -> None:
    offered = Capabilities("cuda", "emulated", "the host", addressed=True, sums=SUMS)
    body = "%v = load @x[%i] : f32\n%old = atomic add @y[%zero], %v : f32\nstore @z[%i], %old"
    text = loop(body, "f32", "x", "y", "z")
    for value in (2.0**-120, 1.0):
        memory = {"x": np.full(8, value, np.float32), "y": np.zeros(1, np.float32), "z": np.zeros(8, np.float32)}
        compiled(text, device=CudaBackend(offered, Least()))(memory, [8])
        assert memory["y"].tolist() == [8 * value]


def test_an_old_value_that_is_asked_for_is_there() -> None:
    """An instruction that only updates gives none."""
    asked = "%v = load @x[%i] : i32\n%old = atomic add @sum[%zero], %v : i32\nstore @x[%i], %old"
    assert "red.relaxed" not in device_text(loop(asked, "i32", "x", "sum"))
    assert "red.relaxed" in device_text(updates("add", "i32"))


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("kind", ["add", "xchg"])
def test_updates_outside_of_an_array_leave_what_is_around_it(kind: str, lanes: int) -> None:
    """They go to memory that nobody reads, though old values are asked for."""
    body = f"%v = load @z[%i] : i32\n%old = atomic {kind} @x[%w], %v : i32\nstore @z[%i], %old"
    program = tasks_of(where_they_say(body, "i32", "x", "z"))
    for task in program.tasks:
        guard(task.body)
    around, at = np.zeros(400, np.int32), np.arange(64, dtype=np.int32)
    at[[5, 9]] = 200, -20
    memory = {"where": at, "x": around[100:164], "z": np.ones(64, np.int32)}
    with pytest.raises(AdstackError, match="outside its extents"):
        compiled_here(program, lanes, threads=1)(memory, [64])
    assert np.flatnonzero(around).tolist() == [100 + k for k in range(64) if k not in (5, 9)]
