"""The reversal of each structure, small: the gradient is the oracle's, and nothing comes of what is not connected."""

from __future__ import annotations

import numpy as np
import pytest
from reverse_kit import Buffers, check_against_oracle, reversed_kernel
from structures_kit import END, START, kernel, threads

from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.transforms.pipeline import lower

SHAPES = {"x": 5, "w": 5, "y": 5, "z": ()}


def memory(seed: int) -> Buffers:
    random = np.random.default_rng(seed)
    arrays = {name: np.asarray(random.uniform(0.5, 1.5, shape)) for name, shape in SHAPES.items()}
    return {**arrays, "n": np.array([0, 3, 1, 4, 2], np.int32)}


def adjoints(seed: int) -> Buffers:
    random = np.random.default_rng(seed)
    return {name: np.asarray(random.normal(size=shape)) for name, shape in SHAPES.items()}


STEP = "%s = sin %v\n%g = mul %s, %u\nyield %g"
LOOP = f"%r = for %k = %0 to %m carry (%v = %a) {{\n{STEP}\n}}"
TURN = "%c = gt {0}, %half\n"
IN_LOOPS = {
    "a loop": LOOP,
    "a range that begins later": (
        "%r = for %k = %1 to %m carry (%v = %a) {\n%q = load @w[%k]\n%s = sin %v\n%g = mul %s, %q\nyield %g\n}"
    ),
    "a range from high to low": (
        "%q = for %k = %4 to %m carry (%v = %a) {\n" + STEP + "\n}\n"
        "%r = for %l = %0 to %3 carry (%b = %q) {\n%d = sin %b\n%e = mul %d, %u\nyield %e\n}"
    ),
    "a loop in a loop": (
        "%r = for %k = %1 to %4 carry (%o = %a) {\n%h = load @n[%k]\n"
        "%p = for %l = %1 to %h carry (%v = %o) {\n" + STEP + "\n}\n%f = cos %p\nyield %f\n}"
    ),
    "a loop in a loop between carried numbers": (
        "%q, %t, %r = for %k = %0 to %4 carry (%j = %0, %e = %3, %o = %a) {\n"
        "%p = for %l = %j to %e carry (%v = %o) {\n%f = load @w[%l]\n%s = add %v, %f\nyield %s\n}\n"
        "%h = sub %4, %k\n%g = add %k, %1\nyield %h, %g, %p\n}"
    ),
    "a loop in a loop that at times has no range": (
        "%r = for %k = %0 to %5 carry (%o = %a) {\n%h = load @n[%k]\n"
        "%p = for %l = %2 to %h carry (%v = %o) {\n" + STEP + "\n}\n%f = cos %p\nyield %f\n}"
    ),
    "two loops in a loop": (
        "%r = for %k = %0 to %m carry (%o = %a) {\n"
        "%p = for %l = %0 to %k carry (%v = %o) {\n" + STEP + "\n}\n"
        "%q = for %j = %k to %4 carry (%b = %p) {\n%d = cos %b\nyield %d\n}\nyield %q\n}"
    ),
    "two loops": (
        "%q = for %k = %0 to %m carry (%v = %a) {\n" + STEP + "\n}\n"
        "%r = for %l = %1 to %m carry (%b = %q) {\n%d = cos %b\n%e = mul %d, %q\nyield %e\n}"
    ),
    "a loop in each branch in a loop": (
        "%r = for %k = %0 to %4 carry (%o = %a) {\n" + TURN.format("%o") + "%p = if %c {\n"
        "%q = for %l = %0 to %3 carry (%v = %o) {\n" + STEP + "\n}\nyield %q\n} else {\n"
        "%q2 = for %l2 = %0 to %m carry (%v2 = %o) {\n%d = cos %v2\nyield %d\n}\nyield %q2\n}\nyield %p\n}"
    ),
    "a branch in a loop": (
        "%r = for %k = %0 to %4 carry (%v = %a) {\n" + TURN.format("%v") + "%p = if %c {\n%s = sin %v\nyield %s\n"
        "} else {\n%e = exp %v\n%d = mul %e, %u\nyield %d\n}\nyield %p\n}"
    ),
    "values that are carried and handed on": (
        "%r, %q = for %k = %0 to %m carry (%v = %a, %b = %u) {\n%s = mul %v, %b\nyield %b, %s\n}"
    ),
    "a value from around": (
        "%f = exp %a\n%r = for %k = %0 to %m carry (%v = %u) {\n%s = mul %v, %f\n%g = sin %s\nyield %g\n}"
    ),
    "a value kept by its result": (
        "%r = for %k = %0 to %m carry (%v = %a) {\n%e = tanh %v\n%s = exp %e\n%g = div %u, %s\nyield %g\n}"
    ),
    "an integer that is carried": (
        "%q, %r = for %k = %0 to %m carry (%j = %0, %v = %a) {\n%f = load @w[%j]\n%s = mul %v, %f\n%h = sub %4, %k\n"
        "yield %h, %s\n}"
    ),
    "an index that is carried": (
        "%q, %r = for %k = %0 to %m carry (%j = %0, %v = %a) {\n%f = load @w[%j]\n%s = add %v, %f\n%h = sub %4, %k\n"
        "yield %h, %s\n}"
    ),
    "a while": (
        "%r = while (%v = %a) {\n%c = lt %v, %one\n%f = mul %v, %u\n%p = add %f, %half\nyield %c, %p\n} do (%b) {\n"
        "%d = exp %b\n%e = mul %d, %half\nyield %e\n}"
    ),
    "a while that counts": (
        "%q, %r = while (%j = %0, %v = %a) {\n%c = lt %j, %m\nyield %c, %j, %v\n} do (%l, %b) {\n"
        "%d = sin %b\n%e = mul %d, %u\n%f = add %l, %1\nyield %f, %e\n}"
    ),
    "a while in a for": (
        "%r = for %k = %0 to %3 carry (%o = %a) {\n"
        "%q, %p = while (%j = %0, %v = %o) {\n%c = lt %j, %k\nyield %c, %j, %v\n} do (%l, %b) {\n"
        "%d = sin %b\n%e = mul %d, %u\n%f = add %l, %1\nyield %f, %e\n}\nyield %p\n}"
    ),
    "a for in a while in a while": (
        "%q0, %r = while (%j0 = %0, %v0 = %a) {\n%c0 = lt %j0, %m\nyield %c0, %j0, %v0\n} do (%l0, %b0) {\n"
        "%q, %p = while (%j = %0, %v = %b0) {\n%c = lt %j, %2\nyield %c, %j, %v\n} do (%l, %b) {\n"
        "%o = for %k = %0 to %l0 carry (%h = %b) {\n%d = sin %h\n%e = mul %d, %u\nyield %e\n}\n"
        "%f = add %l, %1\nyield %f, %o\n}\n%f0 = add %l0, %1\nyield %f0, %p\n}"
    ),
    "a while that turns what it hands on": (
        "%q, %r = while (%v = %a, %o = %u) {\n%c = lt %v, %one\nyield %c, %o, %v\n} do (%d, %e) {\n"
        "%f = exp %e\n%g = mul %f, %d\nyield %g, %e\n}"
    ),
    "a while whose condition is carried": (
        "%c0 = gt %m, %0\n%w, %q, %r, %z0 = while (%g = %c0, %v = %a, %o = %u, %j = %0) {\nyield %g, %g, %o, %v, %j\n"
        "} do (%h, %d, %e, %l) {\n%f = exp %e\n%p = mul %f, %d\n%n = add %l, %1\n%c = lt %n, %m\n"
        "yield %c, %p, %e, %n\n}"
    ),
    "a local array": (
        "%h = array.alloc : array<f64, 4>\narray.store %h, %0, %a\narray.store %h, %1, %u\n"
        "%q = for %k = %0 to %4 carry (%v = %a) {\n%l = load @n[%k]\n%b = array.load %h, %k\n%s = mul %v, %b\n"
        "%d = sin %s\narray.store %h, %k, %d\n%j = sub %4, %l\n%o = sub %j, %1\n%mx = max %o, %0\n"
        "array.store %h, %mx, %s\n%e = array.load %h, %1\nyield %e\n}\n%r = array.load %h, %1"
    ),
    "a local array that a constant clears": (
        "%h = array.alloc : array<f64, 4>\narray.store %h, %0, %a\narray.store %h, %0, %u\narray.store %h, %1, %a\n"
        "%b = array.load %h, %0\narray.store %h, %0, %half\n%d = array.load %h, %0\n%e = array.load %h, %1\n"
        "%f = mul %b, %e\n%r = add %f, %d"
    ),
    "a local array in a branch in a loop": (
        "%h = array.alloc : array<f64, 2>\narray.store %h, %0, %u\n%r = for %k = %0 to %4 carry (%v = %a) {\n"
        + TURN.format("%v")
        + "%p = if %c {\n%b = array.load %h, %0\n%d = mul %v, %b\n%s = sin %d\narray.store %h, %0, %s\nyield %d\n"
        "} else {\nyield %v\n}\nyield %p\n}"
    ),
    "a local array in a loop": (
        "%r = for %k = %0 to %m carry (%v = %a) {\n%h = array.alloc : array<f64, 2>\narray.store %h, %0, %v\n"
        "%b = array.load %h, %0\n%d = array.load %h, %0\n%e = mul %b, %d\narray.store %h, %1, %e\n"
        "%f = array.load %h, %1\n%g = sin %f\nyield %g\n}"
    ),
}


@pytest.mark.parametrize("name", IN_LOOPS)
def test_loops_are_reversed_as_they_ran(name: str) -> None:
    check_against_oracle(kernel(threads(START + IN_LOOPS[name] + END)), memory(0), adjoints(1))


def test_a_range_may_be_longer_than_its_type() -> None:
    loop = (
        "%lo = const -100 : i8\n%hi = const 100 : i8\n%r = for %k = %lo to %hi carry (%v = %a) {\n%s = sin %v\n"
        "%f = load @w[%i]\n%d = mul %s, %f\nyield %d\n}"
    )
    check_against_oracle(kernel(threads(f"%a = load @x[%i]\n{loop}{END}")), memory(0), adjoints(1))


BRANCH = "%c = gt %a, %one\n{names}if %c {{\n{one}\n}} else {{\n{two}\n}}"
STRAIGHT = {
    "branches": "%a = load @x[%i]\n"
    + BRANCH.format(names="%r = ", one="%s = exp %a\nyield %s", two="%t = sin %a\nyield %t")
    + END,
    "the second branch alone": "%a = load @x[%i]\n%b = load @w[%i]\n"
    + BRANCH.format(names="%r = ", one="yield %half", two="%t = mul %a, %b\nyield %t")
    + END,
    "branches in branches": "%a = load @x[%i]\n%b = load @w[%i]\n"
    + BRANCH.format(
        names="%r = ",
        one="%c2 = gt %b, %one\n%q = if %c2 {\n%s = exp %a\n%e = mul %s, %b\nyield %e\n} else {\nyield %b\n}\nyield %q",
        two="yield %a",
    )
    + END,
    "two reads": "%a = load @x[%i]\n%o = load @x[%0]\n%r = mul %a, %o" + END,
    "two stores": (
        "%a = load @x[%i]\n%b = load @w[%i]\nstore @y[%i], %a\nstore @y[%i], %b\n%s = sin %b\nstore @y[%i], %s"
    ),
    "a constant": "%a = load @x[%i]\nstore @y[%i], %a\nstore @y[%i], %half",
    "sums": "%a = load @x[%i]\n%s = sin %a\n%o = atomic add @z[], %s\n%p = atomic add @y[%i], %a",
    "old values": "%a = load @x[%i]\n%o = atomic add @y[%i], %a\n%b = mul %o, %half\n%p = atomic add @z[], %b",
    "extremes": "%a = load @x[%i]\n%s = sin %a\n%o = atomic max @z[], %s",
    "least values": "%a = load @x[%i]\n%b = load @w[%i]\n%s = mul %a, %b\n%o = atomic min @z[], %s",
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_branches_and_memory_are_reversed(name: str) -> None:
    check_against_oracle(kernel(threads(STRAIGHT[name])), memory(0), adjoints(1))


OVER = "%o{0} = load @x[%0]\n%q{0} = sin %o{0}\n"
USES = "%b{0} = load @w[%{1}]\n%d{0} = mul %b{0}, %q0\n%e{0} = atomic add @y[%{1}], %d{0}"
TASKS = {
    "a value for all threads": OVER.format(0) + threads(USES.format(1, "i")),
    "a value for two loops": OVER.format(0) + threads(USES.format(1, "i")) + threads(USES.format(2, "j"), "j"),
    "serial code behind a loop": threads("%a = load @x[%i]\n%s = sin %a\nstore @y[%i], %s")
    + "%b = load @y[%0]\n%d = exp %b\nstore @z[], %d",
    "a loop behind another": threads("%a = load @x[%i]\n%s = sin %a\nstore @y[%i], %s")
    + threads("%b = load @y[%j]\n%d = exp %b\n%o = atomic add @z[], %d", "j"),
    "a sum over threads for others": "store @t[], %half\n"
    + threads("%a = load @x[%i]\n%o = atomic add @t[], %a")
    + "%p = load @t[]\n%q0 = sin %p\n"
    + threads(USES.format(1, "j"), "j"),
    "a sum in serial code": (
        "store @t[], %half\nfor %k = %0 to %4 {\n%f = load @w[%k]\n%o = atomic add @t[], %f\nyield\n}\n"
        "%p = load @t[]\n%q = exp %p\nstore @z[], %q"
    ),
    "a store at a carried index": (
        "%q = for %k = %0 to %4 carry (%j = %0) {\n%f = load @w[%k]\nstore @y[%j], %f\n%h = sub %4, %k\nyield %h\n}"
    ),
    "extremes in a loop": ("for %k = %0 to %4 {\n%f = load @w[%k]\n%s = sin %f\n%o = atomic max @y[%0], %s\nyield\n}"),
    "a sum over threads, and what they wrote besides": "store @t[], %half\n"
    + threads("%a = load @x[%i]\nstore @y[%i], %a\n%o = atomic add @t[], %a")
    + "%p = load @t[]\nstore @y[%0], %p\n",
    "a sum over threads, and what some wrote": "store @t[], %half\n"
    + threads(
        "%a = load @x[%i]\n%c = gt %a, %half\nif %c {\nstore @y[%i], %a\nyield\n} else {\nyield\n}\n"
        "%o = atomic add @t[], %a"
    )
    + "%p = load @t[]\nstore @y[%0], %p\nstore @y[%1], %p\n",
    "a loop in serial code": "%a = load @x[%0]\n%r = for %k = %0 to %4 carry (%v = %a) {\n%b = load @w[%k]\n"
    "%s = mul %v, %b\n%g = sin %s\nyield %g\n}\nstore @z[], %r",
    "a branch in serial code": "%a = load @x[%0]\n%c = gt %a, %half\nif %c {\n"
    "%r = for %k = %0 to %4 carry (%v = %a) {\n%s = sin %v\nyield %s\n}\nstore @z[], %r\nyield\n} else {\nyield\n}",
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_reversed_last_to_first(name: str) -> None:
    check_against_oracle(kernel(TASKS[name]), memory(0), adjoints(1))


def test_a_loop_that_runs_again_for_its_sum_prints_nothing() -> None:
    text = kernel(
        "store @t[], %half\n"
        + threads('%a = load @x[%i]\nprint %a, "\\n"\n%o = atomic add @t[], %a')
        + "%p = load @t[]\n%q = exp %p\nstore @z[], %q\n"
    )
    assert all(op.name != "print" for op in reversed_kernel(text).body.walk())


def test_a_sum_of_what_only_the_launch_has_seen_is_refused() -> None:
    text = kernel(
        "store @t[], %half\n"
        + threads("%a = load @x[%i]\n%o = atomic add @y[%i], %a\n%s = atomic add @t[], %o")
        + "%p = load @t[]\n%q = exp %p\nstore @z[], %q\n"
    )
    with pytest.raises(AdstackDataAccessError, match="old value"):
        reversed_kernel(text)


def gradient_of_x(body: str, x: list[float], **others: list[float]) -> list[float]:
    """Where x is a square root's argument, say, that is at the edge of its domain."""
    forward = kernel(threads(body))
    buffers = {**memory(0), "x": np.array(x), **{name: np.array(values) for name, values in others.items()}}
    run(lower(forward), buffers)
    buffers |= {f"{name}.grad": np.ones_like(array) for name, array in adjoints(1).items()}
    buffers["x.grad"][:] = 0
    run(lower(reversed_kernel(forward)), buffers)
    gradient: list[float] = buffers["x.grad"].tolist()
    return gradient


ROOT = "%a = load @x[%i]\n%r = sqrt %a\n%z = const 0.0 : f64\n%c = gt %a, %z\n%m = load @n[%i]\n"
LOOSE = {
    "a select": "%s = select %c, %r, %one",
    "a select, then products": "%s0 = select %c, %r, %one\n%s = mul %s0, %half",
    "products, then a select": "%q = mul %r, %half\n%s = select %c, %q, %one",
    "a product with infinity": "%i0 = div %one, %a\n%q = mul %a, %i0\n%s = select %c, %q, %one",
    "an abs at zero": "%q = mul %z, %r\n%s = abs %q",
    "a maximum": "%s = max %r, %half",
    "a branch": "%s = if %c {\nyield %r\n} else {\nyield %one\n}",
    "a branch into which an adjoint of nothing goes": (
        "%q = if %c {\n%d = cbrt %a\nyield %d\n} else {\n%e = sqrt %a\nstore @w[%i], %half\nyield %e\n}\n"
        "%s = select %c, %q, %one"
    ),
    "a branch that gives one value twice": (
        "%never = gt %m, %5\n"
        "%q, %p = if %c {\n%d = cbrt %a\nyield %d, %half\n} else {\n"
        "%h = mul %a, %half\n%e = sqrt %h\nstore @w[%i], %half\nyield %e, %e\n}\n"
        "%f = select %never, %q, %one\n%g = select %never, %p, %one\n%s = mul %f, %g"
    ),
    "what one branch alone reaches": ("%s = if %c {\n%d = mul %r, %half\nyield %d\n} else {\nyield %one\n}"),
    "a loop that does not run": "%s = for %k = %0 to %0 carry (%v = %one) {\n%d = mul %v, %r\nyield %d\n}",
    "a loop with branches": (
        "%s = for %k = %0 to %2 carry (%v = %r) {\n%d = if %c {\nyield %v\n} else {\nyield %one\n}\nyield %d\n}"
    ),
    "a loop with costly branches": (
        "%s = for %k = %0 to %2 carry (%v = %r) {\n%d = if %c {\n%e = exp %v\nyield %e\n} else {\nyield %one\n}\n"
        "yield %d\n}"
    ),
    "a loop in a loop that does not run": (
        "%n0 = load @n[%0]\n%m1 = add %m, %1\n%s = for %k = %0 to %m1 carry (%v = %r) {\n"
        "%d = for %l = %0 to %n0 carry (%b = %one) {\n%e = mul %b, %v\nyield %e\n}\nyield %d\n}"
    ),
    "a loop that stores and goes on with something else": (
        "%m1 = add %m, %1\n%s = for %k = %0 to %m1 carry (%v = %r) {\nstore @w[%i], %v\nyield %half\n}\n"
        "store @w[%i], %one"
    ),
    "what a loop carries and nobody uses": (
        "%q, %p = for %k = %0 to %2 carry (%v = %r, %b = %one) {\n%d = mul %v, %half\n%e = mul %b, %v\n"
        "yield %d, %e\n}\n%s = select %c, %p, %one"
    ),
    "an adjoint of nothing that goes into a loop": (
        "%q = for %k = %0 to %2 carry (%v = %r) {\n%d = mul %v, %half\nyield %d\n}\n%s = select %c, %q, %one"
    ),
    "roots in a loop": (
        "%q = for %k = %0 to %2 carry (%v = %a) {\n%d = sqrt %v\nyield %d\n}\n%s = select %c, %q, %one"
    ),
    "memory that a loop overwrites": (
        "%q = for %k = %0 to %2 carry (%p = %a) {\n%d = sqrt %p\nstore @w[%i], %d\nyield %one\n}\n%s = mul %one, %half"
    ),
    "a local array that is overwritten": (
        "%h = array.alloc : array<f64, 2>\n%l = load @n[%0]\narray.store %h, %l, %r\narray.store %h, %0, %one\n"
        "%s = array.load %h, %l"
    ),
    "memory that is overwritten": "store @y[%i], %r\n%s = mul %one, %half",
    "memory that is overwritten in a loop": (
        "for %k = %0 to %2 {\n%d = select %c, %one, %r\nstore @y[%i], %r\nyield\n}\n%s = mul %one, %half"
    ),
    "what did not win": "%o = atomic max @z[], %r\n%s = mul %one, %half",
}


@pytest.mark.parametrize("name", LOOSE)
def test_nothing_comes_of_an_infinite_derivative_that_nothing_depends_on(name: str) -> None:
    assert np.isfinite(gradient_of_x(ROOT + LOOSE[name] + "\nstore @y[%i], %s", [0.0, 0.25, 0.0, 4.0, 1.0])).all()


def test_nothing_comes_of_it_in_code_around_a_parallel_loop_either() -> None:
    body = "%b = load @w[%i]\n%c = gt %b, %five\n%s = select %c, %r, %b\nstore @y[%i], %s"
    forward = kernel("%five = const 5.0 : f64\n%a = load @x[%0]\n%r = sqrt %a\n" + threads(body))
    buffers = {**memory(0), "x": np.zeros(5)} | {f"{name}.grad": array for name, array in adjoints(1).items()}
    run(lower(reversed_kernel(forward)), buffers)
    assert np.isfinite(buffers["x.grad"]).all()


TIGHT = {
    "straight": "%s = mul %r, %half",
    "sums with what is not connected": "%q = select %c, %r, %one\n%d = add %q, %r\n%s = sub %d, %q",
    "a loop without branches": "%s = for %k = %0 to %2 carry (%v = %r) {\n%d = mul %v, %half\nyield %d\n}",
    "the last store": "%s = mul %r, %half",
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_connected_zero_times_infinity_is_not_hidden(name: str) -> None:
    forward = kernel(threads(ROOT + TIGHT[name] + "\nstore @y[%i], %s"))
    buffers = {**memory(0), "x": np.zeros(5)}
    run(lower(forward), buffers)
    buffers |= {f"{name}.grad": np.zeros_like(array) for name, array in adjoints(1).items()}
    run(lower(reversed_kernel(forward)), buffers)
    assert np.isnan(buffers["x.grad"]).all()


def test_of_equal_extremes_one_takes_the_adjoint() -> None:
    body = "%a = load @x[%i]\n%o = atomic max @z[], %a"
    assert sorted(gradient_of_x(body, [2.0, 3.0, 3.0, 1.0, 3.0])) == [0.0, 0.0, 0.0, 0.0, 1.0]
