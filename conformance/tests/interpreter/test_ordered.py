"""Ordered updates: many lanes leave the bits of one after another, as compiled code does on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import backend
from interpreter_kit import parallel, read

from adstack import interpreter
from adstack.interpreter.ordered import postponable
from adstack.ir.structure import Kernel, Program
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.transforms.memory.accumulate import accumulate
from adstack.transforms.rewriting.options import Options as PassOptions
from adstack.transforms.tasks.tasks import split

N = 1300
PLACES = "\n".join(f"place @{name} : {{dtype}}[?] ndarray" for name in "xyw") + "\nplace @at : i32[?] ndarray"
START = "%v = load @x[%i] : {dtype}\n%k = load @at[%i] : i32\n%one = const 1 : i32\n"
TWICE = "%a = atomic {kind} @y[%k], %v : {dtype}\n%w = mul %v, %v : {dtype}\n%b = atomic {kind} @y[%one], %w : {dtype}"
INNER = """%three = const 3 : i32
%odd = and %i, %one : i32
%c = eq %odd, %one : u1
for %j = %one to %three {{
  if %c {{
    %l = add %k, %j : i32
    %a = atomic {kind} @y[%l], %v : {dtype}
    yield
  }} else {{
    yield
  }}
  %b = atomic {kind} @y[%j], %v : {dtype}
  yield
}}"""
GUARDED = "%far = mul %k, %k : i32\n%a = atomic guarded (0) {kind} @y[%far], %v : {dtype}"
OLD = "%a = atomic {kind} @y[%one], %v : {dtype}\nstore @w[%i], %a"
READ = "%a = atomic {kind} @y[%one], %v : {dtype}\n%b = atomic {kind} @w[%k], %v : {dtype}"


def planned(body: str, kind: str, dtype: str) -> Program:
    text = parallel((START + body).format(kind=kind, dtype=dtype), N, PLACES.format(dtype=dtype))
    kernel = read(text)
    assert isinstance(kernel, Kernel)
    program = split(kernel, PassOptions())
    for task in program.tasks:
        accumulate(task, deterministic=True)
    return program


def memory(dtype: str, *, shared: bool) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    real = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
    x = (draw.standard_normal(N) * np.exp2(draw.uniform(-9, 2, N))).astype(real)
    x[::7] = 0.0
    x[3::7] = -0.0
    y = np.ones(N, real)
    at = draw.integers(0, 50, N).astype(np.int32)
    return {"x": x, "y": y, "w": y if shared else np.ones(N, real), "at": at}


@pytest.mark.parametrize(
    "body", [TWICE, INNER, GUARDED, OLD, READ], ids=["two", "inner", "guarded", "old", "two places"]
)
@pytest.mark.parametrize(("kind", "dtype"), [("add", "f32"), ("add", "f16"), ("mul", "f64"), ("min", "f32")])
@pytest.mark.parametrize("shared", [False, True], ids=["apart", "one memory"])
def test_many_lanes_leave_the_bits_of_one(body, kind, dtype, shared):
    program = planned(body, kind, dtype)
    left = []
    for lanes in (1, 8192, 100):
        left.append(memory(dtype, shared=shared))
        try:
            interpreter.run(program, left[-1], options=interpreter.RunOptions(lanes=lanes))
        except IndexError:
            assert body == GUARDED
    for threads in (1, 3) if body != GUARDED else ():
        options = Options(deterministic=True, offline_cache=False, cpu_max_num_threads=threads)
        executable = backend().compile(program, options)
        left.append(memory(dtype, shared=shared))
        shapes = {name: array.shape for name, array in left[-1].items()}
        backend().launch(executable, (), Bindings(dict(left[-1]), shapes))
    for other in left[1:]:
        for name, array in left[0].items():
            assert array.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (TWICE, {"y": "add"}),
        (READ, {"y": "add", "w": "add"}),
        (OLD, None),
        (TWICE + "\n%d = atomic max @y[%k], %v : {dtype}", None),
        (TWICE + "\n%d = load @y[%k] : {dtype}\nstore @w[%i], %d", None),
        ("%a = atomic xchg @y[%k], %v : {dtype}", None),
    ],
    ids=["one place", "two places", "the old value", "two kinds", "a load", "an exchange"],
)
def test_what_can_be_postponed(body, kinds):
    program = planned(body, "add", "f32")
    assert postponable(program.tasks[0].body.ops[-2].regions[0]) == kinds
