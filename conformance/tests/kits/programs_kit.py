"""What the tests of both code generators share: programs in IR text, operations, and what to run them on."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
from interpreter_kit import parallel

from adstack.errors import IRError
from adstack.ir.opdef import CLASSES
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.types import ALL, FLOATS, DType, by_name

XY = "place @x : i32[?] field\nplace @y : i32[?] field"
N = 75


def shapes_of_x() -> list[np.ndarray]:
    """Lanes alike, lanes all different, none, one."""
    random = np.random.default_rng(3)
    one = np.zeros(N, np.int32)
    one[66] = 5
    return [np.zeros(N, np.int32), one, np.full(N, 3, np.int32), random.integers(-3, 7, N).astype(np.int32)]


IF = """%c = gt %x, %two : u1
    %a, %b = if %c -> (i32, i32) {{
      {}
      yield %x, %i
    }} else {{
      {}
      yield %i, %two
    }}
    %s = sub %a, %b : i32
    store @y[%i], %s"""
SIDES = ("", "store @y[%i], %two", "%o = atomic add @y[%i], %x : i32\nstore @x[%i], %o", "%q = mul %x, %i : i32")
EACH = [(kind.name, t.name) for kind in ATOMICS.values() for t in ALL if t in CLASSES[kind.over]]
LOOP = """kernel @k(%n: i32) {{
{places}
  %zero = const 0 : i32
  %far = const 2000000000 : i32
  parallel_for (%i = %zero to %n) {{
{body}
    yield
  }}
  return
}}
"""


def numbers(kind: str, dtype: str, n: int) -> np.ndarray:
    """Values whose combination is exact in any order."""
    to = by_name(dtype).numpy
    picked = np.arange(n) * 7 % 5 + 1
    if kind == "mul" and by_name(dtype) in FLOATS:
        return np.where(picked > 2, 2.0, 0.5).astype(to)
    return (picked % 2 if dtype == "u1" else picked).astype(to)


def loop(body: str, dtype: str, *names: str, kinds: str = "field") -> str:
    """A parallel loop over %i from 0 to %n, with one-dimensional places of these names."""
    places = "\n".join(f"place @{name} : {dtype}[?] {kinds}" for name in names)
    return LOOP.format(body=body, places=places)


def updates(kind: str, dtype: str, index: str = "%zero", condition: str = "") -> str:
    """Every iteration (for which a condition holds) updates an element of @sum with its own of @x."""
    update = f"%v = load @x[%i] : {dtype}\n%old = atomic {kind} @sum[{index}], %v : {dtype}"
    if condition:
        update = f"{condition}\nif %on {{\n{update}\nyield\n}} else {{\nyield\n}}"
    return loop(update, dtype, "x", "sum")


SLOTS = 40


def steps(random: Random, dtype: str, count: int) -> str:
    """Random operations on %s; everything that can be seen of it is stored to @y, one column per operation."""
    lines = []
    kinds = ["push"] * 4 + ["pop"] * 2 + ["load_top"] * 2
    if dtype in ("f16", "f32", "f64"):
        kinds += ["acc_adjoint", "load_top_adj"] * 2
    for k in range(count):
        kind = random.choice(kinds)
        if kind in ("push", "acc_adjoint"):
            value = random.choice(["true", "false"]) if dtype == "u1" else str(random.randint(0, 9))
            value += ".5" if dtype.startswith("f") else ""
            lines += [f"%v{k} = const {value} : {dtype}", f"stack.{kind} %s, %v{k}"]
        elif kind == "pop":
            lines.append("stack.pop %s")
        else:
            lines += [f"%r{k} = stack.{kind} %s : {dtype}", f"%k{k} = const {k} : i32"]
            lines.append(f"store @y[%i, %k{k}], %r{k}")
    return "\n".join(lines)


def machine(body: str, dtype: str, n: int = 6) -> str:
    """Iterations with a stack %s of capacity @c[%i] each."""
    places = f"place @c : i32[?] field\nplace @y : {dtype}[?, {SLOTS}] field"
    return parallel(f"%c = load @c[%i] : i32\n%s = stack.alloca %c : stack<{dtype}>\n{body}", n, places)


def inputs(dtype, capacities) -> dict:
    columns = np.zeros((len(capacities), SLOTS), dtype.numpy)
    return {"c": np.array(capacities, np.int32), "y": columns}


PURE = sorted(name for name, row in TABLE.items() if row.meaning is not None and not row.transcendental)
SIZE = 1024


def interesting(dtype: DType, seed: int) -> np.ndarray:
    """Edges in any combination, and random bits of all sizes."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.integers(0, 2, SIZE).astype(np.bool_)
    if dtype.is_float:
        info = np.finfo(dtype.numpy)
        some = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 3, 1e3, np.inf, -np.inf, np.nan]
        edges = np.array([*some, info.max, info.min, info.tiny, info.smallest_subnormal, 2.0**15, 2.0**31 % 6e4])
    else:
        some = [0, 1, 2, 3, 5, dtype.bits - 1, dtype.bits, dtype.max, dtype.max - 1, dtype.min, dtype.min + 1]
        edges = np.array([*some, *([-1] if dtype.is_signed else [])], dtype.numpy)
    bits = rng.integers(0, 256, SIZE * dtype.size, dtype=np.uint8).view(dtype.numpy)
    small = rng.integers(0, 9, SIZE) if not dtype.is_float else rng.standard_normal(SIZE) * 100
    parts = [rng.choice(edges.astype(dtype.numpy), SIZE), bits, small.astype(dtype.numpy)]
    return np.choose(rng.integers(0, 3, SIZE), parts)


def instances(name: str) -> list[tuple[tuple[DType, ...], DType]]:
    """Operand types and result type for all that the row allows."""
    row = TABLE[name]
    objects = []
    targets = ALL if "to" in row.attrs else (None,)
    for types in itertools.product(ALL, repeat=len(row.signature.inputs)):
        for to in targets:
            try:
                (result,) = row.signature.infer(name, list(types), {"to": to})
            except IRError:
                continue
            if name != "bitcast" or types[0].bits == to.bits:
                objects.append((types, result))
    return objects
