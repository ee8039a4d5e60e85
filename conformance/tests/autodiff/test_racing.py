"""Races that are called certain are there, and all are called so that indices and bounds alone decide."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from transforms_kit import kernel_of, wrap

from adstack.autodiff.activities.witnesses import Access, decided_by
from adstack.errors import AdstackDataAccessError
from adstack.ir.builder import Builder
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import f32, i32
from adstack.runtime.racing import Racing

X, Y, TOTAL = Place("x", f32, (99, 99)), Place("y", f32, (9,)), Place("total", f32, ())
NAMES = {"x", "y", "total"}


def refused(kernel, scalars=(3, 3), names=NAMES, **more):
    """Whether a launch with these scalars is called a race."""
    try:
        Racing(kernel, names, **more).refuse(scalars, {})
    except AdstackDataAccessError:
        return True
    return False


@dataclass(frozen=True)
class Touch:
    """An access of an element: what it does, its indices as (variable, number), and how often a loop around it runs.

    The variable 0 stands for 0, 1 and 2 for the axes of the parallel loop, 3 for the loop around it.
    """

    kind: str
    forms: tuple[tuple[int, int], tuple[int, int]]
    trips: int

    def elements(self, point):
        """Those that one iteration touches."""
        for j in range(self.trips):
            variables = (0, *point, j)
            yield tuple(variables[k] + plus for k, plus in self.forms)


FORM = st.tuples(st.integers(0, 3), st.integers(-1, 2))
TOUCH = st.builds(Touch, st.sampled_from(["store", "load", "atomic"]), st.tuples(FORM, FORM), st.integers(0, 3))
EXTENTS = st.tuples(st.integers(0, 3), st.integers(0, 3))


def racing(extents, touches):
    """Whether two iterations conflict, one by one."""
    points = list(itertools.product(*map(range, extents)))
    return any(
        {one.kind, other.kind} not in ({"load"}, {"atomic"}) and not set(one.elements(p)).isdisjoint(other.elements(q))
        for p, q in itertools.permutations(points, 2)
        for one, other in itertools.combinations_with_replacement(touches, 2)
    )


def built(touches, extents):
    """The kernel; bounds are its parameters, unless they are known."""
    b = Builder(Region([Value(i32, "n"), Value(i32, "m")]))
    n, m = (b.const(k, i32) for k in extents) if extents else b.region.args
    zero, body = b.const(0, i32), Region([Value(i32, "i"), Value(i32, "j")])
    with b.into(body):
        value = b.load(Y, [zero])
        for touch in touches:
            inside = Region([Value(i32, "k")])
            with b.into(inside):
                variables = (zero, *body.args, inside.args[0])
                indices = [b.add(variables[k], b.const(plus, i32)) for k, plus in touch.forms]
                if touch.kind == "store":
                    b.store(X, indices, value)
                elif touch.kind == "load":
                    b.atomic("add", TOTAL, [], b.load(X, indices))
                else:
                    b.atomic("add", X, indices, value)
                b.yield_()
            b.for_(zero, b.const(touch.trips, i32), [], inside)
        b.yield_()
    b.parallel_for([(zero, n), (zero, m)], body)
    region = b.region
    b.return_()
    return Kernel("k", region, {place.name: place for place in (X, Y, TOTAL)})


@pytest.mark.parametrize("constant", [False, True])
def test_a_race_is_certain_if_and_only_if_two_iterations_meet(constant):
    @settings(max_examples=150)
    @given(EXTENTS, st.lists(TOUCH, min_size=1, max_size=3))
    def check(extents, touches):
        kernel = built(touches, extents if constant else None)
        assert refused(kernel, extents) == racing(extents, touches)

    check()


@pytest.mark.parametrize("picked", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_indices_that_depend_on_each_other_are_told_from_those_that_do_not(picked):
    for a, b, c in itertools.product((-2, -1, 0, 1), repeat=3):
        store = Touch("store", ((1, 0), (2, a)), 1)
        load = Touch("load", ((picked[0], b), (picked[1], c)), 1)
        assert refused(built([store, load], (2, 3))) == racing((2, 3), [store, load])


HEAD = """kernel @k(%n: i32) {
  place @x : f32[9] field
  place @y : f32[9] field
  place @a : f32[?] ndarray
  place @j : i32[9] field
"""
NUMBERS = "\n".join(f"%{k} = const {k} : i32" for k in range(9)) + "\n"


def text(body, high="%8", before=""):
    loop = f"{before}\nparallel_for (%i = %0 to {high}) {{\n%s = add %i, %1 : i32\n{body}\nyield\n}}"
    return kernel_of(wrap(NUMBERS + loop + "\nreturn", HEAD.rstrip("\n")))


SHIFT = "%v = load @x[%s] : f32\nstore @x[%i], %v"


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        (SHIFT, True),
        ("%v = load @x[%i] : f32\nstore @x[%i], %v", False),
        ("%v = load @x[%n] : f32\nstore @x[%i], %v", True),
        ("%o = add %n, %8 : i32\n%v = load @x[%o] : f32\nstore @x[%i], %v", False),
        (f"%b = lt %i, %n : u1\nif %b {{\n{SHIFT}\nyield\n}} else {{\nyield\n}}", True),
        (f"%b = lt %n, %i : u1\nif %b {{\nyield\n}} else {{\n{SHIFT}\nyield\n}}", True),
        (f"%b = lt %i, %1 : u1\nif %b {{\n{SHIFT}\nyield\n}} else {{\nyield\n}}", False),
        (f"%m = load @j[%i] : i32\n%b = lt %i, %m : u1\nif %b {{\n{SHIFT}\nyield\n}} else {{\nyield\n}}", False),
        ("%o = mod %s, %8 : i32\n%v = load @x[%o] : f32\nstore @x[%i], %v", True),
        ("%o = mod %s, %n : i32\n%v = load @y[%i] : f32\nstore @x[%o], %v", True),
        ("%o = mod %s, %8 : i32\n%v = load @x[%o] : f32\nstore @x[%o], %v", False),
        ("%o = add %i, %8 : i32\n%p = mod %o, %8 : i32\n%v = load @x[%p] : f32\nstore @x[%i], %v", False),
        ("%o = mod %n, %8 : i32\n%v = load @x[%o] : f32\nstore @x[%i], %v", True),
        (f"for %k = %0 to %n {{\n{SHIFT}\nyield\n}}", True),
        (f"for %k = %0 to %i {{\n{SHIFT}\nyield\n}}", False),
        (f"for %k = %2 to %2 {{\n{SHIFT}\nyield\n}}", False),
        ("%o = load @j[%i] : i32\n%v = load @x[%o] : f32\nstore @x[%i], %v", False),
        ("%v = load @y[%i] : f32\nstore @x[%i], %v\n%w = load @x[%i] : f32\nstore @y[%i], %w", False),
        ("%v = load @y[%i] : f32\nstore @x[%2], %v\n%w = load @x[%2] : f32\nstore @y[%i], %w", True),
        ("%v = const 1.0 : f32\nstore @x[%2], %v\n%w = load @x[%2] : f32\nstore @y[%i], %w", False),
        ("%v = const 1.0 : f32\nstore @x[%2], %v", False),
        ("%v = load @x[%s] : f32\n%b = lt %v, %v : u1\n%w = load @x[%i] : f32\nstore @x[%i], %w", False),
    ],
)
def test_only_what_each_iteration_does_and_derivatives_flow_through_is_a_certain_race(body, certain):
    assert refused(text(body), (3,)) == certain


@dataclass(frozen=True)
class Folded:
    """An access where the index of the loop is at least a number: what it does, and how its own index is shifted and
    then divided with remainder.
    """

    kind: str
    shift: int
    divisor: int
    least: int

    def elements(self, i):
        return {(i + self.shift) % self.divisor} if i >= self.least else set()

    def text(self, k):
        names = (
            f"%a{k} = add %i, {{}} : i32\n%o{k} = mod %a{k}, %{self.divisor} : i32\n%b{k} = le %{self.least}, %i : u1"
        )
        access = f"%w{k} = load @x[%o{k}] : f32\nstore @y[%i], %w{k}" if self.kind == "load" else f"store @x[%o{k}], %v"
        return names.format(f"%{self.shift}") + f"\nif %b{k} {{\n{access}\nyield\n}} else {{\nyield\n}}"


FOLDED = st.builds(
    Folded, st.sampled_from(["store", "load"]), st.integers(0, 8), st.integers(1, 8), st.sampled_from([0, 0, 1, 5])
)


@settings(max_examples=150)
@given(st.lists(FOLDED, min_size=1, max_size=3), st.integers(0, 8))
def test_accesses_that_are_evaluated_race_if_and_only_if_two_iterations_meet(accesses, extent):
    kernel = text("\n".join(["%v = load @y[%i] : f32", *(one.text(k) for k, one in enumerate(accesses))]), "%n")
    meet = any(
        {one.kind, other.kind} != {"load"} and not one.elements(i).isdisjoint(other.elements(j))
        for i, j in itertools.permutations(range(extent), 2)
        for one, other in itertools.combinations_with_replacement(accesses, 2)
    )
    assert refused(kernel, (extent,), {"x", "y"}) == meet


@pytest.mark.parametrize(("shift", "certain"), [(1, True), (10**6 // 2, True), (10**6 - 1, True), (0, False)])
def test_of_long_loops_some_iterations_are_looked_at(shift, certain):
    constants = f"%big = const 1000000 : i32\n%far = const {shift} : i32"
    body = "%o = add %i, %far : i32\n%p = mod %o, %big : i32\n%v = load @long[%p] : f32\nstore @long[%i], %v"
    head = HEAD.replace("place @y", "place @long : f32[1000000] field\n  place @y").rstrip("\n")
    loop = f"{constants}\nparallel_for (%i = %0 to %big) {{\n{body}\nyield\n}}"
    kernel = kernel_of(wrap(NUMBERS + loop + "\nreturn", head))
    assert refused(kernel, (3,), {"long"}) == certain


@pytest.mark.parametrize("high", ["%n", "%m"])
def test_bounds_that_arguments_do_not_tell_are_not_known(high):
    kernel = text(SHIFT, high, "%m = load @j[%0] : i32")
    assert [refused(kernel, (n,)) for n in (0, 1, 2, 5)] == [False, False, high == "%n", high == "%n"]


@pytest.mark.parametrize(("low", "high"), [("%m", "%8"), ("%0", "%m"), ("%m", "%m")])
@pytest.mark.parametrize("index", ["%i", "%k"])
def test_a_loop_whose_bounds_memory_tells_may_have_no_iteration(low, high, index):
    body = f"for %k = {low} to {high} {{\n%w = load @x[%s] : f32\nstore @x[{index}], %w\nyield\n}}"
    assert not refused(text(body, before="%m = load @j[%0] : i32"), (3,))
    assert refused(text(body.replace("%m", "%n").replace("to %n", "to %8")), (3,))


def test_values_from_before_the_loop_are_what_they_are():
    """One iteration would have to be the one that memory names: nobody knows whether there is such a one."""
    before = "%m = load @j[%0] : i32\n%o = add %m, %1 : i32"
    assert not refused(text("%v = load @x[%m] : f32\nstore @x[%i], %v", before=before), (3,))
    assert refused(text("%v = load @x[%m] : f32\nstore @x[%m], %v", before=before), (3,))
    assert refused(text("%v = load @y[%i] : f32\nstore @x[%m], %v", before=before), (3,))


GUARDED = "{}\n%b = lt %i, %m : u1\nif %b {{\n{}\nyield\n}} else {{\nyield\n}}"
READ = "%v = load @x[%s] : f32\nstore @y[%i], %v"
WRITE = "%w = load @y[%i] : f32\nstore @x[%i], %w"


@pytest.mark.parametrize("bound", ["%m = load @j[%i] : i32", "%m = add %n, %0 : i32"], ids=["memory", "argument"])
@pytest.mark.parametrize(("always", "sometimes"), [(WRITE, READ), (READ, WRITE)])
def test_accesses_of_which_one_may_not_be_made_do_not_race_for_certain(always, sometimes, bound):
    guarded = GUARDED.format(bound, sometimes)
    assert not refused(text(f"{always}\n{guarded}"), (0,), {"x"})
    assert not refused(text(f"{guarded}\n{always}"), (0,), {"x"})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("always", "sometimes"), [(WRITE, READ), (READ, WRITE)])
def test_a_condition_of_either_access_decides_whether_they_race(always, sometimes, order):
    parts = [always, GUARDED.format("%m = add %n, %0 : i32", sometimes)]
    kernel = text("\n".join(parts[k] for k in order))
    assert [refused(kernel, (n,)) for n in (0, 8)] == [False, True]


@pytest.mark.parametrize(
    ("index", "deciding"),
    [("%i", set()), ("%n", {"n"}), ("%o", {"n"}), ("%t", {"e"}), ("%u", {"n", "e"}), ("%m", None), ("%p", None)],
)
def test_what_decides_an_index_is_followed_to_arguments_and_extents(index, deciding):
    before = """%e = shape @a, 0 : i32
    %o = mul %n, %2 : i32
    %t = sub %e, %1 : i32
    %u = mul %o, %t : i32
    %m = load @j[%0] : i32
    %p = add %m, %n : i32"""
    kernel = text(f"%v = load @y[%i] : f32\nstore @x[{index}], %v", before=before)
    (loop,) = (op for op in kernel.body.ops if op.name == "parallel_for")
    (store,) = (op for op in kernel.body.walk() if op.name == "store")
    values = decided_by(Access(store, loop), kernel.params)
    bounds = set(loop.operands)
    assert (None if values is None else {value.name for value in values - bounds}) == deciding


def test_each_launch_is_judged_by_its_own_numbers():
    kernel = text(f"%b = lt %i, %n : u1\nif %b {{\n{SHIFT}\nyield\n}} else {{\nyield\n}}")
    races = Racing(kernel, NAMES)
    for n in (0, 3, 1, 5, 0):
        if n > 1:
            with pytest.raises(AdstackDataAccessError):
                races.refuse((n,), {})
        else:
            races.refuse((n,), {})


def test_places_that_are_not_differentiated_may_race():
    assert not refused(text(SHIFT), (3,), {"y"})
    assert refused(text(SHIFT), (3,), {"x"})


def test_places_that_are_one_memory_race_like_one():
    kernel = text("%v = load @x[%s] : f32\nstore @y[%i], %v")
    assert not refused(kernel, (3,))
    assert refused(kernel, (3,), aliases={"y": "x"})


def test_the_message_names_the_place_the_lines_the_indices_and_what_to_do():
    body = 'load @x[%s] : f32 loc("user.py":7:3)\nstore @x[%i], %v loc("user.py":8:3)'
    with pytest.raises(AdstackDataAccessError) as caught:
        Racing(text(f"%v = {body}"), NAMES).refuse((3,), {})
    message = str(caught.value)
    assert message.startswith("user.py:8:3: Breaks the global data access rule")
    assert "race on field x: one stores to [i] here, and another one reads [i + 1] at user.py:7:3" in message
    assert "qd.loop_config(serialize=True)" in message
