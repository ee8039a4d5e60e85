"""Iterations that do the work of several: where they do, and that memory gets the same as before."""

from __future__ import annotations

import cuda_kit
import numpy as np
import pytest
from cpu_kit import compiled, tasks_of

from adstack import interpreter
from adstack.ir.structure import Op, Program, Task
from adstack.ir.verify.verifier import verify
from adstack.transforms.tasks.jam import jam

ROWS, WIDTH = 12, 5
TEXT = """kernel @k({params}) {{
  place @x : {dtype}[{rows}, 5] field
  place @w : {dtype}[5, 5] field
  place @y : {dtype}[{rows}, 5] field
  place @b : {dtype}[5] field
  place @at : i32[5] field
  %zero = const 0 : {index}
  %lo = const {lo} : {index}
  %rows = const {rows} : {index}
  %width = const 5 : {index}
  parallel_for (%i = %lo to %rows, %j = %zero to %width) {{
    %g = load @y[%i, %j] : {dtype}
    {body}
    yield
  }}
  return
}}
"""
WEIGHTS = """for %k = %zero to %width {{
  %u = load @x[%i, %k] : {dtype}
  %v = load @w[%k, %j] : {dtype}
  %p = mul %g, %u : {dtype}
  %o = atomic add @w[%k, %j], %p
  yield
}}"""
LAYER = """%zeros = sub %g, %g : {dtype}
%s = for %k = %zero to %width carry (%t = %zeros) {{
  %u = load @x[%i, %k] : {dtype}
  %n = add %t, %u : {dtype}
  yield %n
}}
%big = gt %s, %g : u1
%h = if %big -> ({dtype}) {{
  store @y[%i, %j], %s
  yield %s
}} else {{
  yield %g
}}
for %k = %zero to %width {{
  %u = load @x[%i, %k] : {dtype}
  %p = mul %h, %u : {dtype}
  %o = atomic add @w[%k, %j], %p
  %q = atomic max @b[%k], %p
  yield
}}
%last = atomic max @b[%j], %h"""


def program(
    body: str, *, dtype: str = "i32", index: str = "i32", rows: int = ROWS, lo: int = 0, params: str = ""
) -> Program:
    whole = TEXT.replace("{body}", body)
    return tasks_of(whole.format(dtype=dtype, index=index, rows=rows, lo=lo, params=params))


def jammed(source: Program, least: int = 1) -> Program:
    source.tasks = [jam(task, least) for task in source.tasks]
    verify(source)
    return source


def loop_of(task: Task) -> Op:
    return task.body.ops[-2]


def updates(source: Program) -> list[str]:
    return [op.attrs["place"].name for op in loop_of(source.tasks[0]).regions[0].walk() if op.name == "atomic"]


def count_of(source: Program) -> int:
    """How many iterations have become one."""
    before = [op for op in source.tasks[0].body.ops if op.name == "parallel_for"]
    assert before
    lo, hi = (v.op.attrs["value"] for v in before[0].operands[:2])  # type: ignore[union-attr]
    return int(hi - lo)


def memory(dtype: str, rows: int) -> dict[str, np.ndarray]:
    to = np.dtype({"i": "int", "f": "float", "u": "uint"}[dtype[0]] + dtype[1:])
    draw = np.random.default_rng(0)
    shapes = {"x": (rows, WIDTH), "w": (WIDTH, WIDTH), "y": (rows, WIDTH), "b": (WIDTH,)}
    filled = {name: draw.integers(-3, 4, shape).astype(to) for name, shape in shapes.items()}
    return {**filled, "at": np.array([4, 0, 0, 2, 1], np.int32)}


def same(body: str, **options: str | int) -> Program:
    """The interpreter makes the same of it, jammed or not, and so does the cpu; gives what was jammed."""
    dtype, rows = str(options.get("dtype", "i32")), int(options.get("rows", ROWS))
    changed = jammed(program(body, **options))  # type: ignore[arg-type]
    wanted, got, fast = (memory(dtype, rows) for _ in range(3))
    interpreter.run(program(body, **options), wanted)  # type: ignore[arg-type]
    interpreter.run(changed, got)
    compiled(changed, 16)(fast)
    for name, array in wanted.items():
        assert np.array_equal(array, got[name]), name
        assert np.array_equal(array, fast[name]), name
    return changed


@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "i64"])
@pytest.mark.parametrize(
    "body", [WEIGHTS.replace("%v = load @w[%k, %j] : {dtype}", ""), LAYER], ids=["weights", "a layer"]
)
@pytest.mark.parametrize(("rows", "lo", "left"), [(12, 0, 3), (16, 0, 2), (14, 4, 5), (13, 1, 3), (8, 0, 1)])
def test_elements_get_what_they_got(body, dtype, rows, lo, left):
    assert count_of(same(body, dtype=dtype, rows=rows, lo=lo)) == left


def test_what_several_iterations_add_to_one_element_is_one_update():
    changed = same(LAYER)
    assert sorted(updates(changed)) == ["b", "b", "w"]
    inner = [op for op in loop_of(changed.tasks[0]).regions[0].ops if op.name == "for"]
    assert len(inner) == 2


def test_elements_that_depend_on_the_index_are_updated_one_by_one():
    each = WEIGHTS.replace("%v = load @w[%k, %j] : {dtype}", "%q = atomic add @x[%i, %k], %g").replace(
        "load @x", "load @y"
    )
    changed = same(
        each.replace("@y[%i, %k]", "@y[%i, %j]").replace("%u = load @y[%i, %j] : {dtype}", "%u = add %g, %g : {dtype}")
    )
    assert sorted(updates(changed)) == ["w", "x", "x", "x", "x"]


def test_loops_that_are_not_equally_long_stay_apart():
    triangle = "%s = for %m = %zero to %i carry (%t = %g) {{\n%n = add %t, %g : i32\nyield %n\n}}\nstore @y[%i, %j], %s"
    changed = same(ALONE + "\n" + triangle)
    loops = [op for op in loop_of(changed.tasks[0]).regions[0].ops if op.name == "for"]
    assert len(loops) == 1 + 4


ALONE = WEIGHTS.replace("%v = load @w[%k, %j] : {dtype}", "")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 13},
        {"index": "u32"},
        {"index": "i16"},
        {"body": ALONE.replace("@w[%k, %j]", "@x[%i, %k]")},
        {"body": ALONE.replace("@w[%k, %j], %p", "@b[%k], %p").replace("@b[%k]", "@b[%g]")},
        {"body": ALONE.replace("atomic add", "atomic xchg")},
        {"body": ALONE.replace("@w[%k, %j], %p", "@w[%k, %j], %p\n  store @x[%i, %k], %o")},
        {"body": ALONE + "\n%r = random : {dtype}\nstore @y[%i, %j], %r", "dtype": "f32"},
        {"body": ALONE + "\n%o2 = load @w[%j, %at0] : {dtype}\nstore @y[%i, %j], %o2", "after": True},
    ],
    ids=[
        "an odd extent",
        "unsigned",
        "narrow",
        "the row's own",
        "data",
        "an exchange",
        "old values",
        "random numbers",
        "outside",
    ],
)
def test_a_loop_stays_as_it_is_where_it_must(change):
    if change.pop("after", False):
        change["body"] = "%at0 = load @at[%j] : i32\n" + change["body"]
    body = change.pop("body", ALONE)
    source = program(body, **change)
    (task,) = source.tasks
    assert jam(task, 1) is task


def test_enough_iterations_are_left():
    (task,) = program(ALONE, rows=16).tasks
    assert jam(task) is task
    assert jam(task, 81) is task
    for least, left in ((41, 8), (40, 8), (20, 4), (10, 2), (1, 2)):
        changed = jam(task, least)
        assert changed is task if least == 41 else int(loop_of(changed).operands[1].op.attrs["value"]) == left


def test_a_loop_over_one_axis_stays_as_it_is():
    text = """kernel @k() {
      place @w : i32[64] field
      %zero = const 0 : i32
      %n = const 64 : i32
      parallel_for (%i = %zero to %n) {
        for %k = %zero to %n {
          %o = atomic add @w[%k], %i
          yield
        }
        yield
      }
      return
    }
    """
    (task,) = tasks_of(text).tasks
    assert jam(task, 1) is task


def test_threads_of_a_device_make_the_same_of_it():
    wanted, got = memory("f32", 16), memory("f32", 16)
    interpreter.run(program(LAYER, dtype="f32", rows=16), wanted)
    cuda_kit.compiled(jammed(program(LAYER, dtype="f32", rows=16)))(got)
    for name, array in wanted.items():
        assert np.array_equal(array, got[name]), name
