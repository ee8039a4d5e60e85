"""Serial loops whose indices are in bounds from the first iteration to the last one run without guards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from cpu_kit import Case
from vulkan_kit import agree_on, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.assembly.traits import IEEE
from adstack.backends.codegen_spirv.tasks import emit_program

LOOP = """kernel @k() {{
  place @x : f32[?] field
  place @m : f32[3, 9] field
  place @y : f32[4] field
  place @ends : {index}[2] field
  place @row : i32[1] field
  %end = const 4 : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  %low = load @ends[%zero] : {index}
  %high = load @ends[%one] : {index}
  %t = load @row[%zero] : i32
  parallel_for (%i = %zero to %end) {{
    %start = load @y[%i] : f32
    %sum = for %k = %low to %high carry (%v = %start) {{
      {at}
      %a = load guarded (0) @x[{k}] : f32
      %b = load guarded (0, 1) @m[%t, {k}] : f32
      %ab = mul %a, %b : f32
      %w = add %v, %ab : f32
      yield %w
    }}
    store @y[%i], %sum
    yield
  }}
  return
}}"""
INDICES = {
    "the index of the loop": ("i32", "", "%k"),
    "a number more": ("i32", "%two = const 2 : i32\n%at = add %k, %two : i32", "%at"),
    "downwards": ("i32", "%six = const 6 : i32\n%at = sub %six, %k : i32", "%at"),
    "of 64 bits": ("i64", "%two = const 2 : i64\n%at = sub %k, %two : i64", "%at"),
    "narrower than what is followed": (
        "i64",
        "%two = const 2 : i64\n%b2 = add %k, %two : i64\n%at = cast %b2 : i32",
        "%at",
    ),
}
ENDS = (-3, -2, -1, 0, 1, 2, 3, 6, 7, 8, 9, 10)


def source(name: str) -> str:
    index, at, k = INDICES[name]
    return LOOP.format(index=index, at=at, k=k)


def cases(index: str) -> Iterator[Case]:
    """Loops that begin and end inside, outside, and where numbers wrap around; rows that are there, and others."""
    far = 2 ** (31 if index == "i32" else 32)
    least = -(2**31) if index == "i32" else -far
    ranges = [(low, high) for low in ENDS for high in ENDS if low < high or (low, high) in {(0, 0), (9, -3)}]
    ranges += [(far - 3, far - 1), (least, least + 3), (far - 1, far - 1)]
    for low, high in ranges:
        for size, t in ((9, 1), (7, 2), (9, 3), (0, 0)):
            memory = {
                "x": np.arange(1, size + 1, dtype=np.float32),
                "m": np.arange(27, dtype=np.float32).reshape(3, 9),
                "y": np.arange(4, dtype=np.float32),
                "ends": np.array([low, high], "int32" if index == "i32" else "int64"),
                "row": np.array([t], np.int32),
            }
            yield memory, ()


def loops(name: str, threads: int) -> int:
    (one,) = emit_program(tasks_of(source(name)), dataclasses.replace(IEEE, threads=threads)).shaders
    return listing(one.words).count("OpLoopMerge")


@pytest.mark.parametrize("name", INDICES)
def test_devices_of_their_own_have_two_versions(name):
    alone, both = loops(name, threads=0), loops(name, threads=256)
    assert alone == 2  # that over the iterations of the launch, and this one
    assert both == 1 + 2 * 2  # each version has several iterations at once, and those that are left


@pytest.mark.parametrize("name", INDICES)
def test_all_launches_do_what_they_should(name):
    agree_on(source(name), cases(INDICES[name][0]), device=backend(threads=256))


def test_an_index_is_below_the_end_of_its_own_type():
    text = source("narrower than what is followed").replace("%at = cast %b2 : i32", "%at = cast %b2 : i8")
    text = text.replace("%b = load guarded (0, 1) @m[%t, %at]", "%b = load guarded (0) @m[%t, %zero]")
    memory = {
        "x": np.arange(200, dtype=np.float32),
        "m": np.ones((3, 9), np.float32),
        "y": np.zeros(4, np.float32),
        "row": np.zeros(1, np.int32),
    }
    ends = (np.array([high - 4, high], np.int64) for high in (125, 126, 127, 130))
    agree_on(text, [({**memory, "ends": one}, ()) for one in ends], device=backend(threads=256))


def test_indices_from_memory_have_one_version():
    text = source("the index of the loop").replace("%a = load guarded (0) @x[%k]", "%a = load @x[%k]")
    text = text.replace("%b = load guarded (0, 1) @m[%t, %k]", "%j = cast %a : i32\n%b = load guarded (1) @m[%t, %j]")
    (one,) = emit_program(tasks_of(text), dataclasses.replace(IEEE, threads=256)).shaders
    assert listing(one.words).count("OpLoopMerge") == 1 + 2
