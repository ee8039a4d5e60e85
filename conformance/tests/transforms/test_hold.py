"""Sums that are held in a register by an inner loop: which are, and that elements get the same as before."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from cpu_kit import compiled, tasks_of
from interpreter_kit import parallel

from adstack import interpreter
from adstack.errors import AdstackError
from adstack.ir.structure import Program
from adstack.ir.verify.verifier import verify
from adstack.transforms.loops.hold import hold
from adstack.transforms.memory.guard import guard

N = 40


def program(body: str, dtype: str = "i32", kind: str = "field", bound: int = 3) -> Program:
    places = "\n".join(f"place @{name} : {dtype}[?] {kind}" for name in "xy") + "\nplace @at : i32[?] field"
    start = f"%v = load @x[%i] : {dtype}\n%k = load @at[%i] : i32\n%last = const {bound} : i32"
    return tasks_of(parallel(f"{start}\n{body}", N, places))


def held(body: str, **options: str) -> Program:
    changed = program(body, **options)
    for task in changed.tasks:
        hold(task)
    verify(changed)
    return changed


def in_loops(changed: Program) -> int:
    """How many updates are in inner loops."""
    loops = [op for task in changed.tasks for op in task.body.walk() if op.name in ("for", "while")]
    return len({o for loop in loops for region in loop.regions for o in region.walk() if o.name == "atomic"})


def same(body: str, dtype: str = "i32", **options: int) -> None:
    """The interpreter makes the same of it, held or not, and so does the cpu."""
    memory = {
        "x": np.arange(N).astype(np.dtype({"i": "int", "f": "float", "u": "uint"}[dtype[0]] + dtype[1:])),
        "y": np.zeros(N, np.dtype({"i": "int", "f": "float", "u": "uint"}[dtype[0]] + dtype[1:])),
        "at": (np.arange(N, dtype=np.int32) * 7) % N,
    }
    wanted, got, fast = ({name: array.copy() for name, array in memory.items()} for _ in range(3))
    interpreter.run(program(body, dtype, **options), wanted)
    changed = held(body, dtype=dtype, **options)
    interpreter.run(changed, got)
    compiled(changed, 16)(fast)
    for name, array in wanted.items():
        assert np.array_equal(array, got[name])
        assert np.array_equal(array, fast[name])


FOR = "for %j = %zero to %last {{\n{}\nyield\n}}"
ADD = "%a = atomic add @y[%k], %v : i32"


def test_an_update_goes_behind_the_loop():
    assert in_loops(program(FOR.format(ADD))) == 1
    assert in_loops(held(FOR.format(ADD))) == 0
    same(FOR.format(ADD))


@pytest.mark.parametrize(
    ("kind", "dtype"), [("min", "f32"), ("mul", "i64"), ("max", "u8"), ("xor", "u32"), ("and", "i32"), ("add", "f16")]
)
def test_every_kind_that_combines(kind, dtype):
    body = FOR.format(f"%a = atomic {kind} @y[%k], %v : {dtype}")
    assert in_loops(held(body, dtype=dtype)) == 0
    same(body, dtype)


@pytest.mark.parametrize("bound", [0, 1, 5])
def test_any_number_of_iterations_and_two_loops(bound):
    body = FOR.format("for %l = %zero to %j {\n" + ADD + "\nyield\n}")
    assert in_loops(held(body, bound=bound)) == 0
    same(body, bound=bound)


def test_branches_and_several_updates_of_one_element():
    update = "%b{} = atomic add @y[%k], %j : i32"
    body = f"%c = lt %j, %k : u1\nif %c {{\n{update.format(0)}\nyield\n}} else {{\n%d = mul %k, %k : i32\n"
    body += f"%a = atomic add @y[%k], %d : i32\nyield\n}}\n{update.format(1)}"
    assert in_loops(held(FOR.format(body))) == 0
    same(FOR.format(body))


def test_while_loops():
    body = """%end = while (%c = %zero) {
  %more = lt %c, %k : u1
  yield %more, %c
} do (%d) {
  %a = atomic add @y[%k], %d : i32
  %one = const 1 : i32
  %e = add %d, %one : i32
  yield %e
}"""
    assert in_loops(program(body)) == 1
    assert in_loops(held(body)) == 0
    same(body)


@pytest.mark.parametrize(
    "body",
    [
        "%m = add %k, %j : i32\n%a = atomic add @y[%m], %v : i32",
        ADD + "\n%b = load @y[%k] : i32\nstore @x[%i], %b",
        ADD + "\nstore @y[%k], %v",
        ADD + "\nstore @x[%i], %a",
        ADD + "\n%b = atomic max @y[%k], %v : i32",
        "%a = atomic xchg @y[%k], %v : i32",
        "%a = atomic add @y[%i], %v : i32",
    ],
    ids=["another element", "a load", "a store", "the old value", "another kind", "an exchange", "its own"],
)
def test_what_stays_in_the_loop(body):
    assert in_loops(held(FOR.format(body))) == in_loops(program(FOR.format(body)))


def test_arrays_may_be_one_memory():
    body = FOR.format(ADD + "\n%b = load @x[%j] : i32\nstore @at[%i], %b")
    assert in_loops(held(body)) == 0
    assert in_loops(held(body, kind="ndarray")) == 1


@pytest.mark.parametrize("bound", [0, 2])
def test_an_update_that_never_runs_is_not_out_of_bounds(bound):
    changed = held(FOR.format(ADD), bound=bound)
    for task in changed.tasks:
        guard(task.body)
    memory = {name: np.full(N, 100_000, np.int32) for name in ("x", "y", "at")}
    launch = compiled(changed, 16)
    with pytest.raises(AdstackError) if bound else contextlib.nullcontext():
        launch(memory)


def updates(changed: Program) -> int:
    """How many updates there are."""
    return sum(op.name == "atomic" for task in changed.tasks for op in task.body.walk())


TWICE = "%a = atomic add @y[%k], %v : i32\n%b = atomic add @y[%k], %i : i32"
BRANCHES = """%c = lt %i, %last : u1
if %c {
  %a = atomic add @y[%k], %v : i32
  yield
} else {
  %d = lt %k, %last : u1
  if %d {
    %e = atomic add @y[%k], %k : i32
    yield
  } else {
    yield
  }
  yield
}"""
NEXT = "%one = const 1 : i32\n%m = add %k, %one : i32\n"


@pytest.mark.parametrize("dtype", ["i32", "u8", "f16", "f64"])
def test_an_iteration_updates_an_element_once(dtype):
    body = TWICE.replace("i32", dtype).replace("%i", "%v")
    assert updates(held(body, dtype=dtype)) == 1
    same(body, dtype)


@pytest.mark.parametrize("bound", [0, 3, 30])
def test_an_iteration_updates_an_element_if_one_of_its_branches_does(bound):
    assert updates(held(BRANCHES, bound=bound)) == 1
    same(BRANCHES, bound=bound)


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("%u = load @y[%k] : i32\nstore @at[%i], %u", 2),
        ("store @y[%k], %i", 2),
        ("%o = atomic max @y[%k], %i : i32", 3),
        (NEXT + "%u = load @y[%m] : i32\nstore @at[%i], %u", 1),
        (NEXT + "%w = sub %m, %one : i32\n%u = load @y[%w] : i32\nstore @at[%i], %u", 2),
        (NEXT + "%o = atomic add @y[%m], %i : i32", 2),
        ("%u = load @y[%i] : i32\nstore @at[%i], %u", 2),
    ],
    ids=["a load", "a store", "another kind", "the next one", "there and back", "two elements", "any element"],
)
def test_what_an_iteration_updates_once_it_touches_in_no_other_way(more, count):
    body = f"{TWICE}\n{more}"
    assert updates(held(body)) == count


def test_memory_that_may_be_another_array_is_updated_where_it_was():
    body = f"{TWICE}\n%u = load @x[%k] : i32\nstore @at[%i], %u"
    assert updates(held(body)) == 1
    assert updates(held(body, kind="ndarray")) == 2


def test_what_threads_hold_anyway_or_only_an_iteration_has_stays():
    assert updates(held(TWICE.replace("%k", "%last"))) == 2
    assert updates(held(TWICE.replace("%k", "%i"))) == 2


def test_indices_that_a_branch_computes_are_not_known_behind_it():
    body = """%c = lt %i, %last : u1
if %c {
  %m = add %k, %last : i32
  %w = mod %m, %last : i32
  %a = atomic add @y[%w], %v : i32
  %b = atomic add @y[%w], %i : i32
  yield
} else {
  yield
}"""
    assert updates(held(body)) == 2


def test_threads_of_a_block_hand_on_no_sum():
    team = FOR.replace("for ", "for team 3 ", 1).format(ADD)
    assert in_loops(held(team)) == 1
    same(team)
