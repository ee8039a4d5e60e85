"""Scalar promotion: elements that a loop updates in every iteration stay in a register; memory is the same."""

from __future__ import annotations

import re

import cpu_kit
import numpy as np
import pytest
from cuda_kit import agree_on, device_text
from interpreter_kit import parallel

from adstack.backends.cpu.codegen import emit_module
from adstack.errors import AdstackOutOfBoundsError
from adstack.transforms.memory.guard import guard

N = 37
PLACES = """place @x : f32[?] {kind}
place @y : f32[?] field
place @z : f32[?] field
place @n : i32[?] field"""
LOOP = """%zero32 = const 0 : i32
%one = const 1 : i32
%trips = load @n[%i] : i32
%next = add %i, %one : i32
%start = const 0.5 : f32
%r = for %j = %zero32 to %trips carry (%v = %start) {
  %a = load @y[%j] : f32
  {body}
}
store @z[%i], %r"""


def source(body: str, kind: str = "field") -> str:
    return parallel(LOOP.replace("{body}", body), N, PLACES.replace("{kind}", kind))


def buffers(last: int) -> dict[str, np.ndarray]:
    """Trips from 0 to 6; of the last iteration so many."""
    trips = (np.arange(N) * 5 % 7).astype(np.int32)
    trips[-1] = last
    return {
        "x": np.arange(N, dtype=np.float32),
        "y": np.linspace(0.5, 1.5, 8).astype(np.float32),
        "z": np.zeros(N, np.float32),
        "n": trips,
    }


HELD = {
    "add": "%o = atomic add @x[%i], %a\nyield %v",
    "twice": "%o = atomic add @x[%i], %a\n%p = atomic mul @x[%i], %v\n%w = add %v, %p : f32\nyield %w",
    "old": "%o = atomic xchg @x[%i], %a\n%w = add %o, %v : f32\nyield %w",
    "max": "%o = atomic max @x[%i], %v\n%w = add %a, %v : f32\nyield %w",
}
NOT_HELD = {
    "read": "%o = atomic add @x[%i], %a\n%w = load @x[%i] : f32\nyield %w",
    "perhaps": "%c = gt %a, %v : u1\nif %c {\n%o = atomic add @x[%i], %a\nyield\n} else {\nyield\n}\nyield %v",
    "moving": "%o = atomic add @x[%j], %a\nyield %v",
}


@pytest.mark.parametrize("body", [*HELD.values(), *NOT_HELD.values()], ids=[*HELD, *NOT_HELD])
def test_what_is_in_memory_in_the_end_is_the_same(body):
    if body == NOT_HELD["moving"]:
        body = body.replace("%a\n", "%start\n")  # which comes from several threads, in any order: nothing rounds it
    agree_on(source(body), [(buffers(last), ()) for last in (0, 1, 5)])


def turns(text: str) -> str:
    """What is between the labels of the loop's body and of what comes after it."""
    (body,) = re.findall(r"^body\d+:\n(.*?)^done\d+:", text, re.MULTILINE | re.DOTALL)
    return body


@pytest.mark.parametrize("body", HELD.values(), ids=list(HELD))
def test_a_turn_does_not_touch_the_element(body):
    text = turns(device_text(source(body)))
    assert text.count("load float, ptr %slot") == text.count("store float") == body.count("atomic")


@pytest.mark.parametrize("body", NOT_HELD.values(), ids=list(NOT_HELD))
def test_what_others_may_look_at_stays_in_memory(body):
    assert "%slot" not in turns(device_text(source(body)))


def test_an_array_that_may_be_what_the_loop_reads_stays_in_memory():
    assert "%slot" not in turns(device_text(source(HELD["add"], "ndarray")))


def test_a_loop_that_does_not_run_touches_nothing():
    """The element behind the last iteration's is not there."""
    beyond = "%o = atomic add @x[%next], %a\nyield %v"
    agree_on(source(beyond), [(buffers(0), ())])
    text = device_text(source(beyond))
    assert "%slot" in turns(text)
    assert re.search(r"^load\d+:\n  %t\d+ = load float", text, re.MULTILINE)
    assert re.search(r"^store\d+:\n  %t\d+ = load float, ptr %slot\d+.*\n  store float", text, re.MULTILINE)


# ---- many lanes


def host_text(text: str, lanes: int) -> str:
    """For a processor with vectors of 64 bytes, whatever this one has."""
    return emit_module(cpu_kit.tasks_of(text), debug=False, lanes=lanes, vector_bytes=64).text


SAME_TRIPS = (
    source(HELD["add"])
    .replace("%zero32 to %trips", "%zero32 to %five")
    .replace("%one =", "%five = const 5 : i32\n%one =")
)
UNDER_A_MASK = source(
    "%o = atomic add @x[%i], %a\n%w = add %v, %o : f32\nyield %w\n}\nyield %q\n} else {\nyield %start\n"
).replace("%r = for", "%c = gt %trips, %one : u1\n%r = if %c -> (f32) {\n%q = for")


@pytest.mark.parametrize(
    "text",
    [*map(source, (*HELD.values(), *NOT_HELD.values())), SAME_TRIPS, UNDER_A_MASK],
    ids=[*HELD, *NOT_HELD, "same", "mask"],
)
def test_lanes_leave_the_same_in_memory(text):
    text = text.replace("@x[%j], %a", "@x[%j], %start")
    cpu_kit.agree_on(text, [(buffers(last), ()) for last in (0, 1, 5)], cpu_kit.WIDTHS)


@pytest.mark.parametrize("body", HELD.values(), ids=list(HELD))
def test_lanes_do_not_touch_their_elements_in_a_turn(body):
    text = host_text(source(body), 16)
    assert len(re.findall(r"store <16 x float> %\S+, ptr %slot\d+", text)) == body.count("atomic") + 1
    assert len(re.findall(r"masked\.store\.v16f32\.p0\(", text)) == 2 + 1  # behind the loop, of %r, and its declaration


def test_an_element_that_lanes_share_stays_in_memory():
    """Each adds to it in turn: a copy of a lane's own would lose what the others add."""
    text = source("%o = atomic add @x[%one], %start\nyield %v")
    cpu_kit.agree_on(text, [(buffers(5), ())], cpu_kit.WIDTHS)


@pytest.mark.parametrize("lanes", cpu_kit.WIDTHS)
def test_an_element_that_may_be_outside_is_not_touched(lanes):
    """Iterations from the 30th on have none: what stands behind the array stays."""
    program = cpu_kit.tasks_of(source(HELD["add"]))
    for task in program.tasks:
        guard(task.body)
    memory, behind = buffers(5), np.arange(N, dtype=np.float32)
    memory["x"] = behind[:30]
    with pytest.raises(AdstackOutOfBoundsError):
        cpu_kit.compiled(program, lanes, threads=1)(memory)
    assert behind[30:].tolist() == list(range(30, N))
    assert behind[29] > 29


def test_a_lane_whose_loop_does_not_run_touches_nothing():
    """The element behind the last iteration's is not there."""
    beyond = "%o = atomic add @x[%next], %a\nyield %v"
    cpu_kit.agree_on(source(beyond), [(buffers(0), ())], cpu_kit.WIDTHS)


@pytest.mark.parametrize("dtype", ["f16", "f64", "i8", "u64"])
def test_elements_of_every_size(dtype):
    text = source("%b = cast %a : DTYPE\n%o = atomic add @x[%i], %b\nyield %v").replace("DTYPE", dtype)
    text = text.replace("@x : f32[?]", f"@x : {dtype}[?]")
    memory = buffers(5)
    memory["x"] = memory["x"].astype({"f16": np.float16, "f64": np.float64, "i8": np.int8, "u64": np.uint64}[dtype])
    cpu_kit.agree_on(text, [(memory, ())], cpu_kit.WIDTHS)
