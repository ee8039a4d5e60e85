"""A process of another processor makes calls, on memory that this one sees too."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from adstack.backends.cpu.emulated import Emulated
from adstack.backends.qemu.guest import Guest, object_of

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
CODE = """
declare void @adstack_say(i64, ptr)
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
define i64 @weigh(i64 %a, i64 %b, i64 %c, i64 %d) {
  %b2 = mul i64 %b, 10
  %c2 = mul i64 %c, 100
  %d2 = mul i64 %d, 1000
  %x = add i64 %a, %b2
  %y = add i64 %c2, %d2
  %z = add i64 %x, %y
  ret i64 %z
}
define i64 @double(ptr %at, i64 %count) {
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %next, %each ]
  %p = getelementptr double, ptr %at, i64 %k
  %x = load double, ptr %p
  %y = fadd double %x, %x
  store double %y, ptr %p
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %each, label %done
done:
  ret i64 %count
}
define i64 @count(ptr %at) {
  %old = atomicrmw add ptr %at, i64 1 seq_cst
  ret i64 %old
}
define i64 @talk(i64 %who, i64 %what) {
  %words = alloca i64
  store i64 %what, ptr %words
  call void @adstack_say(i64 5, ptr %words)
  call void @adstack_say(i64 6, ptr %words)
  ret i64 %who
}
define i64 @heap(i64 %size) {
  %a = call ptr @malloc(i64 %size)
  store i64 42, ptr %a
  %b = call ptr @calloc(i64 %size, i64 8)
  %zero = load i64, ptr %b
  %x = load i64, ptr %a
  call void @free(ptr %a)
  call void @free(ptr %b)
  call void @free(ptr null)
  %none = call ptr @calloc(i64 -1, i64 8)
  %is = icmp eq ptr %none, null
  %one = zext i1 %is to i64
  %s = add i64 %x, %zero
  %r = add i64 %s, %one
  ret i64 %r
}
"""


@pytest.fixture(scope="module")
def machine() -> Emulated:
    """One for all tests: its memory stands at an address that is the same in every process."""
    return Emulated("aarch64")


@pytest.fixture(scope="module")
def guest(machine: Emulated) -> Guest:
    return machine.guest


@pytest.fixture(scope="module")
def code(guest: Guest):
    return guest.linked(object_of(CODE, None))


def test_a_function_gets_four_numbers_and_gives_one(guest, code):
    assert guest.call(code.symbols["weigh"], 4, 3, 2, 1) == 1234
    assert guest.call(code.symbols["weigh"], -1) == -1


def test_memory_is_the_same_in_both_and_may_grow(guest, code):
    for count in (3, 1000, 3_000_000, 5):
        array = guest.arena.take(8 * count).view(np.float64)
        assert array.ctypes.data % 64 == 0
        assert not array.any()
        array[:] = np.arange(count)
        assert guest.call(code.symbols["double"], array.ctypes.data, count) == count
        assert (array == 2.0 * np.arange(count)).all()


def test_memory_that_is_given_back_is_taken_again_and_is_zero(guest):
    for size in (100, 70_000):
        array = guest.arena.take(size)
        array[:] = 7
        at = array.ctypes.data
        del array
        again = guest.arena.take(size)
        assert again.ctypes.data == at
        assert not again.any()


def test_a_function_of_this_process_calls_one_over_there(guest):
    linked = guest.linked(object_of(CODE, None), "double")
    array = guest.arena.take(80).view(np.float64)
    array[:] = 1.5
    assert CALL(linked.thunk)(array.ctypes.data, 10) == 10
    assert (array == 3).all()


def test_what_is_said_is_heard_before_the_call_ends(machine, guest, code):
    heard = []
    _, say = machine.printer(77, lambda site, words: heard.append((site, words[:1])))
    assert say == guest.symbols["adstack_say"]
    assert guest.call(code.symbols["talk"], 77, 123) == 77
    assert heard == [(5, [123]), (6, [123])]


def test_the_heap_gives_memory_and_takes_it_back(guest, code):
    for size in (8, 100_000, 64):
        assert guest.call(code.symbols["heap"], size) == 43


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 33, 100])
def test_bytes_are_set_and_copied(guest, size):
    source, target = guest.arena.take(128), guest.arena.take(128)
    source[:] = np.arange(128)
    guest.call(guest.symbols["memcpy"], target.ctypes.data + 3, source.ctypes.data + 1, size)
    assert target.tolist() == [0] * 3 + list(range(1, size + 1)) + [0] * (125 - size)
    guest.call(guest.symbols["memset"], target.ctypes.data + 3, 0x1FF, size)
    assert target.tolist() == [0] * 3 + [255] * size + [0] * (125 - size)


def test_threads_run_and_end(guest, code):
    count = guest.arena.take(8).view(np.int64)
    stacks = [guest.spawn(code.symbols["count"], count.ctypes.data) for _ in range(5)]
    guest.join(stacks)
    assert count[0] == 5
    again = guest.spawn(code.symbols["count"], count.ctypes.data)
    assert again in stacks
    guest.join([again])
    assert count[0] == 6


DEATH = """
from adstack.backends.cpu.emulated import Emulated
guest = Emulated("aarch64").guest
guest.call(16)
print("unreachable")
"""


def test_code_that_would_end_this_process_does():
    done = subprocess.run([sys.executable, "-c", DEATH], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -11
    assert "the emulated processor ended with -11" in done.stderr
    assert "unreachable" not in done.stdout
