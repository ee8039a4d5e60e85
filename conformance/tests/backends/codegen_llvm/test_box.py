"""Lanes over several axes: when they stay in a row of the last one, and what they compute whichever way they go."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from cpu_kit import Pieces, agree, agree_on, tasks_of
from streams_kit import both

from adstack.analysis.iteration_space import row_length, stays_in_rows
from adstack.analysis.manager import Analyses
from adstack.backends.cpu.codegen import emit_module
from adstack.ir.structure import Op

LOOP = """kernel @k({params}) {{
{places}
  %zero = const 0 : i32
  %one = const 1 : i32
  %n = {n} : i32
  %m = {m} : i32
  parallel_for (%i = %one to %n, %j = %one to %m) {{
{body}
    yield
  }}
  return
}}
"""
PLACES = "\n".join(
    [
        "place @x : i32[?, ?] field",
        "place @y : i32[?, ?] field",
        "place @r : i32[?] field",
        "place @c : i32[?] field",
        "place @f : f32[?, ?] field",
    ]
)
UP = "%b = sub %i, %one : i32\n"
STENCIL = UP + "%v = load @x[%b, %j] : i32\n%w = load @x[%i, %j] : i32\n%s = sub %v, %w : i32\nstore @y[%i, %j], %s"
BODIES = {
    "stencil": STENCIL,
    "rows and columns": "%v = load @r[%i] : i32\n%w = load @c[%j] : i32\n%s = mul %v, %w : i32\nstore @y[%i, %j], %s",
    "sums": "%v = load @x[%i, %j] : i32\n%o = atomic add @r[%i], %v : i32\n%o2 = atomic add @c[%j], %v : i32",
    "counts": "%o = atomic add @y[%i, %j], %i : i32\n%s = mul %o, %j : i32\nstore @x[%i, %j], %s",
    "last": "store @r[%i], %i\n%k = sub %m, %j : i32\nstore @c[%k], %k",
    "sides": UP
    + """%v = load @x[%b, %j] : i32
%d = lt %v, %j : u1
%e = lt %i, %j : u1
%s = if %d -> (i32) {
  %t = if %e -> (i32) {
    %o = atomic max @y[%i, %j], %v : i32
    yield %o
  } else {
    yield %i
  }
  yield %t
} else {
  store @y[%i, %j], %b
  yield %j
}
store @x[%i, %j], %s""".replace("@x[%i", "@y[%i"),
    "loops": UP
    + """%v = load @x[%b, %j] : i32
%s = for %k = %zero to %i carry (%a = %zero) {
  %t = for %l = %zero to %j carry (%g = %a) {
    %u = add %g, %v : i32
    yield %u
  }
  yield %t
}
store @y[%i, %j], %s""",
}


def loop(body: str, n: str = "const 9", m: str = "const 71", params: str = "") -> str:
    return LOOP.format(body=body, n=n, m=m, params=params, places=PLACES)


def memory(n: int, m: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n * m)
    shapes = {"x": (n, m), "y": (n, m), "r": n, "c": m}
    arrays = {name: random.integers(-9, m, shape).astype(np.int32) for name, shape in shapes.items()}
    return {**arrays, "f": np.zeros((n, m), np.float32)}


@pytest.mark.parametrize("name", BODIES)
def test_rows_of_any_length_are_run_to_their_ends(name):
    for n, m in ((9, 71), (3, 66), (20, 7)):
        agree(loop(BODIES[name], f"const {n}", f"const {m}"), memory(n, m), widths=(2, 8, 64))
    text = loop(BODIES[name], "add %p, %zero", "add %q, %zero", "%p: i32, %q: i32")
    shapes = ((40, 9), (5, 65), (4, 130), (2, 2), (7, 1), (1, 7))
    agree_on(text, [(memory(*shape), shape) for shape in shapes], (1, 8, 64))


@pytest.mark.parametrize("lanes", [4, 64])
def test_a_row_draws_the_numbers_of_its_iterations(lanes):
    body = "%h = sub %i, %one : i32\n%v = random : f32\n%w = random : f32\n%s = sub %v, %w : f32\nstore @y[%h, %j], %s"
    text = LOOP.format(body=body, n="const 5", m="const 70", params="", places="place @y : f32[5, 71] field")
    assert in_rows(text, lanes)
    both(text, np.zeros((5, 71), np.float32), lanes, seed=3, launches=2)


def test_three_axes_have_rows_too():
    text = """kernel @k() {
  place @x : i32[?, ?, ?] field
  place @y : i32[?, ?, ?] field
  %one = const 1 : i32
  %n = const 4 : i32
  %m = const 5 : i32
  %o = const 21 : i32
  parallel_for (%i = %one to %n, %j = %one to %m, %k = %one to %o) {
    %b = sub %j, %one : i32
    %v = load @x[%i, %b, %k] : i32
    %w = mul %v, %i : i32
    store @y[%i, %j, %k], %w
    yield
  }
  return
}
"""
    x = np.arange(4 * 5 * 21, dtype=np.int32).reshape(4, 5, 21)
    assert in_rows(text, 16)
    agree(text, {"x": x, "y": np.zeros_like(x)}, widths=(1, 4, 16, 64))


def in_rows(text: str, lanes: int) -> bool:
    (task,) = tasks_of(text).tasks
    return stays_in_rows(task.body, lanes, Analyses())


def task_of(text: str) -> tuple[Op, list[Op]]:
    (task,) = tasks_of(text).tasks
    return task.body.ops[-2], task.body.ops[:-2]


COPY = "%v = load @x[%a, %b] : i32\nstore @y[%a, %b], %v"
WHOLE = """kernel @k() {{
  place @x : i32[?, 64] field
  place @y : i32[?, 64] field
  %a0 = const 0 : i32
  %n = const 9 : i32
  %m = const {} : i32
  parallel_for (%a = %a0 to %n, %b = %a0 to %m) {{
    {}
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("text", "lanes", "rows"),
    [
        (WHOLE.format(64, COPY), 16, False),
        (WHOLE.format(63, COPY), 16, True),
        (WHOLE.format(64, COPY.replace("@x[%a, %b]", "@x[%b, %a]")), 16, False),
        (WHOLE.format(64, COPY.replace("@x[%a, %b]", "@x[%a0, %b]")), 16, True),
        (WHOLE.format(64, COPY), 64, False),
        (WHOLE.format(20, COPY), 32, True),
        (WHOLE.format(15, COPY), 32, False),
        (WHOLE.format(33, COPY), 32, True),
        (WHOLE.format(32, COPY), 1, False),
        (loop(STENCIL, m="add %q, %zero", params="%q: i32"), 64, True),
        (loop("store @y[%j, %i], %i"), 64, False),
    ],
    ids=[
        "as in memory",
        "narrower",
        "transposed",
        "a row again and again",
        "one vector a row",
        "shorter than lanes",
        "much shorter",
        "the end half empty",
        "one lane",
        "length unknown",
        "columns",
    ],
)
def test_lanes_stay_in_rows_where_that_makes_vectors_of_accesses_and_leaves_few_idle(text, lanes, rows):
    assert in_rows(text, lanes) == rows


@pytest.mark.parametrize(("length", "lanes"), [(3, 8), (8, 8), (9, 16), (20, 32), (33, 64), (500, 64)])
def test_short_rows_get_few_lanes(length, lanes):
    program = tasks_of(WHOLE.format(length, COPY))
    assert row_length(*task_of(WHOLE.format(length, COPY))) == length
    module = emit_module(program, debug=False, lanes=0, vector_bytes=64)
    assert module.emitted.lanes == [1 if 9 * length < lanes else lanes]


def test_any_pieces_of_a_loop_make_the_whole_of_its_rows():
    shifted = """kernel @k(%a: i32, %b: i32) {
  place @x : f32[?, ?] field
  place @y : f32[?, ?] field
  %one = const 1 : i32
  parallel_for (%i = %one to %a, %j = %one to %b) {
    %h = sub %i, %one : i32
    %v = load @x[%h, %j] : f32
    %o = atomic add @y[%i, %j], %v : f32
    yield
  }
  return
}
"""
    assert in_rows(shifted, 8)
    pieces, random = Pieces(8, shifted), Random(4)
    for rows, columns in ((3, 5), (2, 70), (9, 66), (40, 8)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        y = np.zeros_like(x)
        context = pieces.context(rows, columns, x=x, y=y)
        cuts = [0, *sorted(random.choices(range(pieces.count(context)), k=5)), pieces.count(context)]
        ranges = list(pairwise(cuts))
        random.shuffle(ranges)
        for begin, end in ranges:
            pieces.task(context, begin, end)
        wanted = np.zeros_like(x)
        wanted[1:, 1:] = x[:-1, 1:]
        assert y.tolist() == wanted.tolist()
