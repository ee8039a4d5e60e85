"""Sums of neighbours that are collected by element: which are, that bits are those of one iteration after another, and
the condition behind every refusal.
"""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import run_cpu, tasks_of
from interpreter_kit import read, same_bits

from adstack import interpreter
from adstack.ir.structure import Program, Task
from adstack.ir.verify.verifier import verify
from adstack.transforms.memory.accumulate import accumulate
from adstack.transforms.rewriting.options import Options
from adstack.transforms.tasks.gather import gather
from adstack.transforms.tasks.gathering import DEAREST, Gathering, gathering
from adstack.transforms.tasks.tasks import split

N = 9
PLACES = "\n".join(
    [
        *(f"place @{name} : T[{N}] field" for name in "xyz"),
        f"place @m : T[2, {N}] field",
        f"place @q : T[{N}, {N}] field",
        f"place @at : i32[{N}] field",
        "place @a : T[?] ndarray",
        f"place @r : T[{N}] field relaxed",
        f"place @b : u1[{N}] field",
    ]
)
START = "%v = load @x[%i] : T\n%p = add %i, %one : I\n%m = sub %i, %one : I"
NEXT, LAST, OWN = (f"%u{k} = atomic add @y[%{at}], %v : T" for k, at in enumerate("pmi"))
THREE = "\n".join((NEXT, OWN, LAST))
INNER = "for %j = %zero to %one {{\n{}\nyield\n}}"


def text(body: str, dtype: str, lo: str = "const 1", hi: str = f"const {N - 1}", index: str = "i32") -> str:
    template = f"""kernel @k(%s: i32, %t: i32) {{
{PLACES}
      %zero = const 0 : I
      %one = const 1 : I
      %lo = {lo} : I
      %hi = {hi} : I
      parallel_for (%i = %lo to %hi) {{
{START}
{body}
        yield
      }}
      return
    }}
"""
    return template.replace(": T", f": {dtype}").replace(": I", f": {index}")


def loop(body: str, dtype: str = "f32", **around: str) -> Program:
    """The lowered loop, whose sums are not planned."""
    return split(read(text(body, dtype, **around)), Options())


def parallel(program: Program) -> Task:
    return next(task for task in program.tasks if task.kind == "parallel")


def memory(dtype: str) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    to = np.dtype({"f": "float", "i": "int"}[dtype[0]] + dtype[1:])
    sizes = {"x": N, "y": N, "z": N, "m": (2, N), "q": (N, N), "a": N, "r": N}
    arrays = {name: (64 * draw.standard_normal(size)).astype(to) for name, size in sizes.items()}
    return {**arrays, "at": (np.arange(N, dtype=np.int32) * 2) % N, "b": np.zeros(N, bool)}


def same(body: str, dtype: str = "f32", dearest: float = DEAREST, **around: str) -> Program:
    """A program whose updates are gathered leaves behind, to the bit, what iterations do one after the other."""
    wanted, got, fast = (memory(dtype) for _ in range(3))
    ordered = loop(body, dtype, **around)
    for task in ordered.tasks:
        accumulate(task, deterministic=True)
    interpreter.run(ordered, wanted, (0, 1))
    turned = loop(body, dtype, **around)
    turned.tasks = [one for task in turned.tasks for one in gather(task, dearest)]
    verify(turned)
    stores = [op for task in turned.tasks for op in task.body.walk() if op.attrs.get("sums") == "gathered"]
    assert stores
    interpreter.run(turned, got, (0, 1))
    run_cpu(turned, fast, (0, 1), 16)
    for name, array in wanted.items():
        assert same_bits(array, got[name]), name
        assert same_bits(array, fast[name]), name
    return turned


UNDER = "%c = gt %v, %zeros : T\nif %c {{\n{}\nyield\n}} else {{\nyield\n}}".replace(": T", ": u1")
POSITIVE = "%zeros = const 0 : T\n" + UNDER
INSIDE = "%c = ge %m, %zero : u1\nif %c {\n" + LAST + "\nyield\n} else {\nyield\n}\n" + OWN
READ_BACK = "%o = atomic add @z[%i], %v : T\n%w = load @z[%i] : T\n%n = neg %w : T\nstore @z[%i], %v\n"
COLUMNS = "\n".join(
    f"%u{at} = atomic add @m[%{row}, %{at}], %v : T" for row, at in (("zero", "p"), ("one", "m"), ("zero", "i"))
)
FIXED = "%u = atomic add @m[%row, %p], %v : T\n%k = atomic add @m[%row, %m], %v : T"


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i32"])
@pytest.mark.parametrize("hi", [1, 2, 3, N - 1])
def test_neighbours_are_collected_in_the_order_of_iterations(dtype: str, hi: int) -> None:
    same(THREE, dtype, hi=f"const {hi}")


@pytest.mark.parametrize(
    "body",
    [
        POSITIVE.format(THREE),
        INSIDE,
        THREE + "\n%k = atomic mul @y[%p], %v : T",
        THREE + "\nstore @z[%i], %v",
        THREE + "\n%k = atomic add @z[%i], %v : T\n%l = atomic add @z[%p], %v : T",
        THREE + "\n%k = atomic add @z[%i], %v : T",
        COLUMNS,
        READ_BACK + "%k = atomic add @y[%p], %n : T\n%l = atomic add @y[%m], %n : T",
        "%w = load @z[%i] : T\n%u = atomic add @y[%p], %w : T\n%k = atomic add @y[%m], %v : T\nstore @z[%i], %v",
        "%w = load @m[%one, %i] : T\n%u = atomic add @m[%zero, %p], %w : T\n%k = atomic add @m[%zero, %i], %v : T",
        "store @m[%one, %i], %v\n%w = load @m[%zero, %i] : T\n%u = atomic add @y[%p], %w : T\n" + OWN,
        "%row = sub %one, %one : I\n" + FIXED,
        "%zeroth = mul %one, %zero : I\n%row = add %one, %zeroth : I\n" + FIXED,
    ],
    ids=[
        "branch",
        "outside",
        "kinds",
        "rest",
        "two",
        "rider",
        "columns",
        "read-back",
        "overwritten",
        "beside",
        "apart",
        "a row computed in the loop",
        "a row computed in steps",
    ],
)
def test_whatever_else_the_loop_does(body: str) -> None:
    lo = "const 0" if body is INSIDE else "const 1"
    same(body, lo=lo)


def test_an_iteration_collects_what_an_earlier_branch_has_decided() -> None:
    """Values that branches hand on, of which only some are needed."""
    branch = (
        "%c = ge %m, %one : u1\n%g, %h = if %c -> (T, T) {\n%w = neg %v : T\nyield %w, %v\n} else {\nyield %v, %v\n}"
    )
    same(f"{branch}\n%u = atomic add @y[%p], %g : T\n%k = atomic add @y[%m], %v : T".replace("(T, T)", "(f32, f32)"))


def test_elements_that_nobody_updates_are_not_written() -> None:
    """-0.0 + 0.0 is 0.0: an element without updates has its old bits, and memory beside it is not touched."""
    turned = same(POSITIVE.format(THREE))
    stores = [op for task in turned.tasks for op in task.body.walk() if op.name == "store"]
    inside = [
        o for task in turned.tasks for op in task.body.walk() if op.name == "if" for r in op.regions for o in r.ops
    ]
    assert stores
    assert all(store in inside for store in stores)


def test_what_is_left_has_no_updates_and_a_loop_of_nothing_else_leaves_nothing() -> None:
    assert [task.name for task in same(THREE).tasks] == ["k.0.parallel.gathered"]
    left = same(THREE + "\nstore @z[%i], %v").tasks[-1]
    assert [op.name for op in left.body.walk() if op.opdef.writes] == ["store"]


def reason(body: str, dearest: float = DEAREST, **around: str) -> str:
    """Why nothing is gathered; empty also where something is."""
    plan = gathering(parallel(loop(body, **around)), dearest)
    return "" if isinstance(plan, Gathering) else plan or "nothing"


TWICE = "%u0 = atomic add {0}, %v : T\n%u1 = atomic add {1}, %v : T"
WRITTEN = "store @z[%i], %v\n%w = load @z[%i] : T\n%u = atomic add @y[%p], %w : T\n" + OWN


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (OWN, "nothing"),
        (TWICE.format("@a[%p]", "@a[%i]"), "shares the memory"),
        (THREE + "\nstore @a[%i], %v", "shares the memory"),
        (TWICE.format("@r[%p]", "@r[%i]"), "others update it"),
        ("%f = const true : u1\n%u = atomic or @b[%p], %f : u1\n%k = atomic or @b[%i], %f : u1", "one bit"),
        ("%j = load @at[%i] : i32\n" + TWICE.format("@y[%j]", "@y[%i]"), "neither an index"),
        ("%j = load @at[%i] : i32\n" + TWICE.format("@q[%j, %p]", "@q[%j, %i]"), "neither an index"),
        ("%j = mul %i, %one : I\n%l = add %j, %i : I\n" + TWICE.format("@y[%l]", "@y[%i]"), "neither an index"),
        (TWICE.format("@m[%zero, %one]", "@m[%zero, %i]"), "neither an index"),
        (TWICE.format("@q[%i, %p]", "@q[%i, %i]"), "neither an index"),
        (TWICE.format("@q[%i, %one]", "@q[%one, %p]"), "different axes"),
        (INNER.format(THREE), "an update is in an inner loop"),
        ("%k = atomic xchg @y[%i], %v : T\n" + NEXT, "old value is used"),
        (THREE + "\nstore @z[%i], %u0", "old value is used"),
        (THREE + "\n%w = load @y[%i] : T\nstore @z[%i], %w", "in other ways"),
        (THREE + "\nstore @y[%i], %v", "in other ways"),
        (TWICE.format("@m[%s, %p]", "@m[%t, %i]"), "in other ways"),
        ("%w = load @m[%s, %i] : T\nstore @z[%i], %w\n" + TWICE.format("@m[%t, %p]", "@m[%t, %i]"), "in other ways"),
        (
            "%w = load @m[%zero, %m] : T\nstore @z[%i], %w\n" + TWICE.format("@m[%zero, %p]", "@m[%zero, %i]"),
            "in other ways",
        ),
        (WRITTEN, "written before"),
        ("%o = atomic xchg @z[%i], %v : T\n%u = atomic add @y[%p], %o : T\n" + OWN, "old value"),
        (THREE + "\nprint %v", "once an iteration (print)"),
    ],
)
def test_what_is_refused_and_why(body: str, why: str) -> None:
    assert why in reason(body)


def test_an_array_whose_extents_a_launch_decides_is_left_alone() -> None:
    alone = text(TWICE.format("@a[%p]", "@a[%i]"), "f32").replace("load @x[%i]", "const 1.0")
    assert "shares the memory" in str(gathering(parallel(split(read(alone), Options()))))


def test_inputs_that_an_inner_loop_writes_are_refused() -> None:
    """What is computed in a loop that writes, or read in one where the next trip reads what this one has written."""
    carried = "%w = for %j = %zero to %one carry (%c = %v) {{\n{}\nyield %d\n}}\n%u = atomic add @y[%p], %w : T\n"
    writes = carried.format("%d = add %c, %c : T\nstore @z[%i], %c") + OWN
    assert "loop that writes" in reason(writes)


@pytest.mark.parametrize(
    ("around", "why"),
    [
        ({"index": "i16"}, "narrow"),
        ({"index": "u32"}, "no sign"),
        ({"hi": "const 2147483647"}, "ends of their type"),
        ({"lo": "const -2147483647"}, "ends of their type"),
        ({"hi": "const 2147483645"}, ""),
        ({"lo": "load @at[%zero]"}, ""),
    ],
)
def test_bounds_and_indices(around: dict[str, str], why: str) -> None:
    got = reason(THREE, **around)
    assert why in got if why or "lo" not in around else "ends of their type" in got


def test_bounds_that_depend_on_the_memory_are_refused() -> None:
    spread = "%f = const 1 : i32\n%u = atomic add @at[%p], %f : i32\n%k = atomic add @at[%i], %f : i32"
    assert reason(spread) == ""
    lo = "load @at[%zero] : i32\n%least = max %from, %zero\n%few = min %least, %one"
    inside = text(spread, "f32", lo=lo).replace("%lo = load", "%from = load").replace("%few", "%lo")
    task = inside.replace("kernel @k", "task @k.0 parallel ").replace(PLACES.replace(": T", ": f32"), "")
    program = read(f"program @k {{\n{PLACES}\n{task}\n}}".replace(": T", ": f32"))
    assert isinstance(program, Program)
    assert gathering(parallel(program)) == "the bounds of the loop depend on the memory"


def test_what_costs_more_than_it_saves_is_left_alone() -> None:
    dear = "%w = sqrt %v : T\n%k = sqrt %w : T\n" + THREE.replace("%v", "%k")
    assert reason(dear, dearest=3.0) == ""
    assert "costs more" in reason(dear)


def test_serial_tasks_are_left_alone() -> None:
    program = read("kernel @k() {\nplace @s : i32[] field\n%a = const 1 : i32\nstore @s[], %a\nreturn\n}")
    (task,) = tasks_of(program).tasks
    assert gather(task) == [task]
