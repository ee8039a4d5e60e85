"""Updates of elements that one iteration alone touches: no atomics, the same results; and where atomics must stay."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import agree, agree_on, run_cpu, tasks_of
from interpreter_kit import parallel

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.ir.opdef import CLASSES
from adstack.ir.ops import ATOMICS
from adstack.ir.types import ALL, by_name

N = 75
WIDTHS = (1, 2, 16, 64)
KINDS = [(kind.name, t.name) for kind in ATOMICS.values() for t in ALL if t in CLASSES[kind.over]]
ADD = "%old = atomic add @y[{}], %v : i32"


def loop(body: str, dtype: str = "i32", kind: str = "field", names: str = "xyz") -> str:
    places = "\n".join(f"place @{name} : {dtype}[?] {kind}" for name in names)
    return parallel(f"%v = load @x[%i] : {dtype}\n{body}", N, places)


def is_atomic(text: str, lanes: int = 8) -> bool:
    """Whether there are atomic instructions, or threads are kept apart by blocks of rows instead."""
    program = tasks_of(text)
    code = emit_program(program, [lanes]).text
    in_blocks = any(op.attrs.get("sums") == "tiled" for task in program.tasks for op in task.body.walk())
    return "atomicrmw" in code or "cmpxchg" in code or in_blocks


def numbers(dtype: str, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(0, 2 if dtype == "u1" else 5, N)
    return drawn.astype(by_name(dtype).numpy)


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_every_kind_updates_own_elements_and_gives_what_they_held(kind, dtype):
    values = "%v, %w" if kind == "cas" else "%v"
    body = f"%w = load @w[%i] : {dtype}\n%old = atomic {kind} @y[%i], {values} : {dtype}\nstore @z[%i], %old"
    text = loop(body, dtype, names="wxyz")
    assert not is_atomic(text)
    agree(text, {name: numbers(dtype, k) for k, name in enumerate("wxyz")}, widths=WIDTHS)


@pytest.mark.parametrize("dtype", ["u1", "f32", "f64"])
def test_lanes_that_do_not_run_touch_nothing(dtype):
    kind = "xor" if dtype == "u1" else "add"
    body = f"""%three = const 3 : i32
%r = mod %i, %three : i32
%c = eq %r, %zero : u1
if %c {{
  %old = atomic {kind} @y[%i], %v : {dtype}
  store @z[%i], %old
  yield
}} else {{
  yield
}}"""
    assert not is_atomic(loop(body, dtype))
    agree(loop(body, dtype), {name: numbers(dtype, k) for k, name in enumerate("xyz")}, widths=WIDTHS)


MOVED = "%c = const {} : i32\n%j = {} : i32\n"


@pytest.mark.parametrize(
    "body",
    [
        ADD.format("%i") + "\n%u = load @y[%i] : i32\nstore @z[%i], %u\n%two = atomic mul @y[%i], %u : i32",
        MOVED.format(3, "add %i, %c") + ADD.format("%j"),
        MOVED.format(N + 3, "sub %c, %i") + ADD.format("%j"),
        "%j = cast %i : u64\n" + ADD.format("%j"),
        "%two = const 2 : i32\nfor %k = %zero to %two {\n" + ADD.format("%i") + "\nyield\n}",
    ],
    ids=["often", "moved", "backwards", "wider", "in a loop"],
)
def test_an_index_that_no_two_iterations_share_is_enough(body):
    buffers = {name: np.arange(N + 5, dtype=np.int32) for name in "xyz"}
    assert not is_atomic(loop(body))
    agree(loop(body), buffers, widths=WIDTHS)


@pytest.mark.parametrize(
    "body",
    [
        MOVED.format(1, "add %i, %c") + ADD.format("%i") + "\n%other = atomic add @y[%j], %v : i32",
        MOVED.format(1, "add %i, %c") + ADD.format("%i") + "\nstore @y[%j], %v",
        MOVED.format(1, "add %i, %c") + ADD.format("%i") + "\n%u = load @y[%j] : i32\nstore @z[%i], %u",
        MOVED.format(2, "floordiv %i, %c") + ADD.format("%j"),
        "%j = cast %i : i8\n" + ADD.format("%j"),
        "%j = load @z[%i] : i32\n" + ADD.format("%j"),
        "%two = const 2 : i32\nfor %k = %zero to %two {\n%j = add %i, %k : i32\n" + ADD.format("%j") + "\nyield\n}",
    ],
    ids=["another's update", "another's store", "another's load", "halved", "narrower", "from memory", "in a loop"],
)
def test_elements_that_others_may_touch_stay_atomic(body):
    assert is_atomic(loop(body))


def test_each_index_of_a_loop_must_decide():
    places = "place @y : i32[?, ?] field\nplace @z : i32[?, ?, ?] field"
    frame = """kernel @k() {{
{places}
  %zero = const 0 : i32
  %n = const 9 : i32
  parallel_for (%i = %zero to %n, %j = %zero to %n) {{
    %old = atomic add @{}, %j : i32
    yield
  }}
  return
}}
"""
    buffers = {"y": np.zeros((9, 9), np.int32), "z": np.zeros((9, 9, 9), np.int32)}
    for element, shared in [("y[%j, %i]", False), ("y[%i, %i]", True), ("z[%j, %zero, %i]", False)]:
        text = frame.format(element, places=places)
        assert is_atomic(text) == shared
        agree(text, buffers, widths=WIDTHS)


@pytest.mark.parametrize("kind", ["add", "max"])
def test_arrays_that_may_be_one_memory_are_looked_at_when_the_task_runs(kind):
    body = f"%old = atomic {kind} @y[%i], %v : i32\n%m = sub %last, %i : i32\n%other = atomic {kind} @z[%m], %v : i32"
    body = f"%last = const {N - 1} : i32\n{body}\nstore @w[%i], %old"
    text = loop(body, kind="ndarray", names="wxyz")
    assert is_atomic(text)
    apart = {name: np.arange(N, dtype=np.int32) * k for k, name in enumerate("wxyz")}
    agree_on(text, [(apart, ())], WIDTHS)
    for lanes in WIDTHS:
        memory = np.zeros(N, np.int32)
        buffers = {"w": np.zeros(N, np.int32), "x": np.arange(N, dtype=np.int32), "y": memory, "z": memory}
        run_cpu(text, buffers, lanes=lanes)
        x = buffers["x"]
        assert memory.tolist() == (x + x[::-1] if kind == "add" else np.maximum(x, x[::-1])).tolist()


def test_arrays_that_are_only_read_are_no_obstacle():
    assert not is_atomic(loop("%old = atomic add @y[%i], %v : i32", kind="ndarray", names="xy"))
