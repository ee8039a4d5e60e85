"""One element of each of the records that lanes access: vectors come and go, and nothing beside is written."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import WIDTHS, agree, agree_on, backend, compiled, tasks_of
from interpreter_kit import parallel

from adstack.ir.types import ALL
from adstack.runtime.protocol.options import Options

N = 140
CONSTANTS = "\n".join(f"%c{k} = const {k} : i32" for k in range(4)) + "\n"


def numbers(dtype, *shape: int) -> np.ndarray:
    random = np.random.default_rng(len(shape))
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(dtype.numpy)
    if dtype.is_float:
        return (random.integers(-1000, 1000, shape) / 8).astype(dtype.numpy)
    return random.integers(max(dtype.min, -(2**62)), min(dtype.max, 2**62), shape).astype(dtype.numpy)


def under_a_mask(body: str) -> str:
    return f"%on = load @on[%i] : u1\nif %on {{\n{body}\nyield\n}} else {{\nyield\n}}"


def llvm_text(text: str, lanes: int = 16) -> str:
    options = Options(cpu_lanes=lanes, offline_cache=False)
    return backend().compile(tasks_of(text), options).module.text


@pytest.mark.parametrize("masked", [False, True], ids=["all lanes", "some lanes"])
@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_elements_of_every_type_come_and_go(dtype, stride, masked):
    """The last element of each record becomes the first one of another; the rest stays what it is."""
    body = f"%v = load @x[%i, %c{stride - 1}] : {dtype}\nstore @y[%i, %c0], %v"
    body = CONSTANTS + (under_a_mask(body) if masked else body)
    text = parallel(
        body,
        N,
        f"place @x : {dtype}[?, {stride}] field\nplace @y : {dtype}[?, {stride}] field\nplace @on : u1[?] field",
    )
    assert "llvm.masked.gather" not in llvm_text(text)
    assert "llvm.masked.scatter" not in llvm_text(text)
    memory = {"x": numbers(dtype, N, stride), "y": numbers(dtype, N + 9, stride), "on": np.arange(N) % 3 == 0}
    agree(text, memory, widths=(1, 8, 64))


def test_wide_records_are_gathered():
    body = CONSTANTS + "%v = load @x[%i, %c1] : f32\nstore @y[%i], %v"
    text = parallel(body, N, "place @x : f32[?, 5] field\nplace @y : f32[?] field")
    assert "llvm.masked.gather" in llvm_text(text)
    agree(text, {"x": np.arange(5.0 * N, dtype=np.float32).reshape(N, 5), "y": np.zeros(N, np.float32)}, widths=(16,))


@pytest.mark.parametrize("kind", ["add", "max", "xchg"])
@pytest.mark.parametrize("used", [False, True], ids=["forgotten", "old values used"])
@pytest.mark.parametrize("place", ["field", "ndarray"])
def test_updates_of_records(kind, used, place):
    """Of elements of the iteration's own, and, as arrays may overlap, by atomics lane by lane."""
    body = CONSTANTS + f"%v = load @y[%i, %c0] : f32\n%o = atomic {kind} @x[%i, %c1], %v"
    body += "\nstore @y[%i, %c1], %o" if used else ""
    text = parallel(body, N, f"place @x : f32[?, 2] {place}\nplace @y : f32[?, 2] {place}")
    memory = {name: np.random.default_rng(1).integers(-9, 9, (N, 2)).astype(np.float32) for name in "xy"}
    agree(text, memory)
    shared = memory["x"].copy()
    alone = memory["x"].copy()
    if place == "ndarray" and not used:
        compiled(text, 16)({"x": shared, "y": shared})
        compiled(text, 1, threads=1)({"x": alone, "y": alone})
        assert shared.tolist() == alone.tolist()


NEIGHBOURS = """kernel @k(%t: i32) {
  place @x : f32[3, 11, 23, 2] field
  place @y : f32[3, 11, 23, 2] field
  %zero = const 0 : i32
  %rows = const 11 : i32
  %columns = const 23 : i32
  parallel_for (%i = %zero to %rows, %j = %zero to %columns) {
    %one = const 1 : i32
    %b = sub %j, %one : i32
    %a = add %i, %one : i32
    %left = ge %b, %zero : u1
    %below = lt %a, %rows : u1
    %there = and %left, %below : u1
    %v = load guarded (0) @x[%t, %i, %j, %one] : f32
    if %there {
      %w = load guarded (0) @x[%t, %a, %b, %zero] : f32
      %s = add %v, %w : f32
      %o = atomic guarded (0) add @y[%t, %a, %b, %one], %s
      %p = atomic guarded (0) add @y[%t, %a, %b, %zero], %v
      yield
    } else {
      store guarded (0) @x[%t, %i, %j, %zero], %v
      yield
    }
    yield
  }
  return
}
"""


def test_neighbours_on_a_grid_under_conditions_and_guards():
    x = np.random.default_rng(3).integers(-9, 9, (3, 11, 23, 2)).astype(np.float32)
    agree_on(NEIGHBOURS, [({"x": x, "y": np.zeros_like(x)}, (t,)) for t in (0, 2, 3, -1)], WIDTHS)


def test_an_access_outside_is_reported():
    """The last records are not there."""
    body = CONSTANTS + "%v = load guarded (0) @x[%i, %c1] : f32\nstore guarded (0) @y[%i, %c0], %v"
    text = parallel(body, N, "place @x : f32[?, 3] ndarray\nplace @y : f32[?, 3] ndarray")
    x = np.arange(3.0 * N, dtype=np.float32).reshape(N, 3)
    cases = [({"x": x[:m], "y": np.zeros((k, 3), np.float32)}, ()) for m, k in ((N, N), (N - 1, N), (N, 100), (1, 1))]
    agree_on(text, cases, WIDTHS)


def test_threads_do_not_write_what_lies_between():
    """Two loops at once would be a race for the elements in between; here each iteration writes its own, often."""
    n = 20_000
    body = CONSTANTS + "%v = load @x[%i, %c0] : i32\n%w = add %v, %c1 : i32\nstore @x[%i, %c2], %w"
    launch, memory = compiled(parallel(body, n, "place @x : i32[?, 3] field"), 16), np.zeros((n, 3), np.int32)
    for k in range(20):
        memory[:, 0] = k
        memory[:, 1] = -k
        launch({"x": memory})
        assert (memory == [k, -k, k + 1]).all()
