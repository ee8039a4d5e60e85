"""How the sum of each atomic update is built: what is decided for a loop, and the condition behind every decision."""

from __future__ import annotations

import pytest
from cpu_kit import tasks_of
from interpreter_kit import parallel, read

from adstack.analysis.accumulation import Offsets, plan, rows_between
from adstack.analysis.manager import Analyses
from adstack.errors import IRError
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify

PLACES = "\n".join(f"place @{name} : i32[?] field" for name in "xyz") + "\nplace @s : i32[] field"
ADD = "%a{0} = atomic add @y[{1}], %v : i32"


def loop(body: str, places: str = PLACES, index: str = "i32") -> str:
    return parallel(f"%v = load @x[%i] : i32\n%one = const 1 : {index}\n{body}", 9, places, index=index)


def ways(text: str) -> list[str]:
    (task,) = tasks_of(text).tasks
    return [op.attrs["sums"] for op in task.body.walk() if op.name == "atomic"]


NEIGHBOUR = "%j = add %i, %one : i32\n"
FROM_MEMORY = "%j = load @z[%i] : i32\n"


@pytest.mark.parametrize(
    ("body", "way"),
    [
        (ADD.format(0, "%i"), "own"),
        ("%a = atomic add @s[], %v : i32", "uniform"),
        ("%a = atomic add @y[%one], %v : i32\n%b = atomic add @y[%zero], %v : i32", "uniform"),
        ("%a = atomic add @y[%one], %v : i32\n%b = atomic max @y[%zero], %v : i32", "uniform"),
        ("%a = atomic add @y[%one], %v : i32\n%b = atomic max @y[%one], %v : i32", "atomic"),
        ("%l = load @s[] : i32\n%a = atomic add @y[%one], %v : i32\n%b = atomic max @y[%l], %v : i32", "atomic"),
        (NEIGHBOUR + ADD.format(0, "%i") + "\n" + ADD.format(1, "%j"), "tiled"),
        (NEIGHBOUR + ADD.format(0, "%j") + "\n%u = load @y[%i] : i32\nstore @z[%i], %u", "tiled"),
        (FROM_MEMORY + ADD.format(0, "%j"), "private"),
        (FROM_MEMORY + ADD.format(0, "%j") + "\nstore @z[%i], %a0", "atomic"),
        (NEIGHBOUR + ADD.format(0, "%j") + "\n" + ADD.format(1, "%i") + "\nstore @z[%i], %a1", "atomic"),
        (FROM_MEMORY + ADD.format(0, "%j") + "\n%u = load @y[%i] : i32\nstore @z[%i], %u", "atomic"),
        (FROM_MEMORY + ADD.format(0, "%j") + "\nstore @y[%i], %v", "atomic"),
        (FROM_MEMORY + ADD.format(0, "%j") + "\n%b = atomic max @y[%j], %v : i32", "atomic"),
        (NEIGHBOUR + ADD.format(0, "%j") + "\n%b = atomic max @y[%i], %v : i32", "tiled"),
        (FROM_MEMORY + "%b = atomic xchg @y[%j], %v : i32", "atomic"),
        (NEIGHBOUR + ADD.format(0, "%i") + "\n%b = atomic xchg @y[%j], %v : i32", "atomic"),
        ("%l = load @s[] : i32\nstore @z[%i], %l\n%a = atomic add @s[], %v : i32", "atomic"),
        ("%a = atomic add @s[], %v : i32\nstore @z[%i], %a", "atomic"),
        ("%a = atomic xchg @s[], %v : i32", "atomic"),
        ("%t = const true : u1\n" + FROM_MEMORY + "%a = atomic or @f[%j], %t : u1", "atomic"),
        ("%j = cast %i : i8\n" + ADD.format(0, "%j"), "private"),
        ("%r = cast %i : f32\n%j = cast %r : i32\n" + ADD.format(0, "%j"), "private"),
        ("%two = const 2 : i32\n%j = mul %i, %two : i32\n" + ADD.format(0, "%j"), "private"),
    ],
    ids=[
        "own",
        "one element",
        "two elements",
        "two kinds for two elements",
        "two kinds for one element",
        "two kinds for elements that may be one",
        "neighbours",
        "a neighbour and a load",
        "from memory",
        "the old value",
        "an old value",
        "a load",
        "a store",
        "kinds that do not combine",
        "kinds, in blocks",
        "an exchange",
        "an exchange, in blocks",
        "one element, and a load",
        "the old value of one element",
        "an exchange of one element",
        "bits",
        "a narrow index",
        "an index that was a float",
        "a product",
    ],
)
def test_the_way_of_an_update(body, way):
    assert set(ways(loop(body, PLACES + "\nplace @f : u1[?] field"))) == {way}


@pytest.mark.parametrize(
    ("index", "way"),
    [
        ("%j = sub %i, %one : i32", "tiled"),
        ("%k = cast %i : i64\n%o = cast %one : i64\n%j = add %k, %o : i64", "tiled"),
        ("%m = neg %i : i32\n%j = add %m, %one : i32", "private"),
        ("%k = add %i, %i : i32\n%j = add %k, %one : i32", "private"),
        ("%k = cast %i : i8\n%o = cast %one : i8\n%j = add %k, %o : i8", "private"),
        ("%k = cast %i : u32\n%o = cast %one : u32\n%j = sub %k, %o : u32", "private"),
        ("%far = const 9999999 : i32\n%j = add %i, %far : i32", "private"),
        ("%j = add %i, %v : i32", "private"),
        ("%j = sub %one, %i : i32", "private"),
    ],
    ids=["behind", "wider", "backwards", "twice", "narrow", "unsigned", "far", "by a value", "from a constant"],
)
def test_blocks_need_the_index_itself_moved_by_constants(index, way):
    """Two updates, so that neither is an iteration's own."""
    wide = index.rsplit(" ", 1)[1]
    zero = f"%w = cast %i : {wide}" if wide != "i32" else "%nothing = const 0 : i32\n%w = add %i, %nothing : i32"
    assert set(ways(loop(f"{index}\n{zero}\n" + ADD.format(0, "%w") + "\n" + ADD.format(1, "%j")))) == {way}


def test_offsets_of_inner_loops_count_with_their_range():
    body = (
        "%three = const 3 : i32\nfor %k = %one to %three {\n%j = add %i, %k : i32\n"
        + ADD.format(0, "%j")
        + "\nyield\n}"
    )
    (task,) = tasks_of(loop(body)).tasks
    assert rows_between(task, Analyses()) == 1
    (update,) = [op for op in task.body.walk() if op.name == "atomic"]
    assert Offsets(task.body.ops[-2]).of(update.operands[0]) == (1, 2)


def test_an_inner_index_that_begins_at_the_outermost_one_is_no_constant():
    body = (
        "%three = const 3 : i32\nfor %k = %i to %three {\n%j = add %i, %k : i32\n" + ADD.format(0, "%j") + "\nyield\n}"
    )
    assert ways(loop(body)) == ["private"]


def test_a_wide_index_that_is_made_narrow_wraps_around():
    index = "%k = cast %i : i32\n%o = cast %one : i32\n%j = add %k, %o : i32\n"
    body = index + ADD.format(0, "%k") + "\n" + ADD.format(1, "%j")
    assert set(ways(loop(body, index="i64"))) == {"private"}


def test_a_narrow_index_of_the_loop_wraps_around():
    body = "%j = add %i, %one : i16\n" + ADD.format(0, "%i") + "\n" + ADD.format(1, "%j")
    assert set(ways(loop(body, index="i16"))) == {"private"}


def test_kinds_of_elements_that_only_the_caller_can_tell_apart_are_not_mixed():
    text = """program @k {
  place @y : i32[?] field
  task @k.0.parallel parallel (%m: i32) {
    %zero = const 0 : i32
    parallel_for (%i = %zero to %m) {
      %a = atomic add @y[%m], %i : i32
      %b = atomic {kind} @y[%zero], %i : i32
      yield
    }
    return
  }
}
"""
    assert ways(text.replace("{kind}", "add")) == ["uniform", "uniform"]
    assert ways(text.replace("{kind}", "max")) == ["atomic", "atomic"]


def test_an_inner_index_alone_is_no_row():
    body = "%three = const 3 : i32\nfor %k = %one to %three {\n" + ADD.format(0, "%k") + "\nyield\n}"
    assert ways(loop(body)) == ["private"]


def test_rows_are_as_far_apart_as_the_farthest():
    moved = "%two = const 2 : i32\n%j = add %i, %one : i32\n%k = add %i, %two : i32\n"
    updates = "\n".join(ADD.format(number, index) for number, index in enumerate(("%j", "%k", "%i")))
    (task,) = tasks_of(loop(moved + updates)).tasks
    assert rows_between(task, Analyses()) == 2


def test_a_loop_with_copies_has_no_blocks():
    text = loop(FROM_MEMORY + ADD.format(0, "%j") + "\n%k = add %i, %one : i32\n%b = atomic add @x[%k], %v : i32")
    assert ways(text) == ["private", "atomic"]  # @x is read, too
    other = PLACES + "\nplace @w : i32[?] field"
    body = "%k = add %i, %one : i32\n%a = atomic add @w[%k], %v : i32\n%b = atomic add @w[%i], %v : i32"
    assert ways(loop(body, other)) == ["tiled", "tiled"]
    assert ways(loop(f"{body}\n{FROM_MEMORY}{ADD.format(0, '%j')}", other)) == ["private"] * 3


def test_what_bounds_a_loop_is_not_kept_apart():
    """A thread may read the bound again while others add to it."""
    text = """program @k {
  place @y : i32[?] field
  task @k.0.parallel parallel () {
    %zero = const 0 : i32
    %one = const 1 : i32
    %n = load @y[%zero] : i32
    parallel_for (%i = %zero to %n) {
      %j = add %i, %one : i32
      %a = atomic add @y[%j], %i : i32
      %b = atomic add @y[%i], %i : i32
      yield
    }
    return
  }
}
"""
    assert ways(text) == ["atomic", "atomic"]


def test_each_decision_says_why_it_is_no_better_one():
    (task,) = tasks_of(loop(FROM_MEMORY + ADD.format(0, "%j"))).tasks
    (decision,) = plan(task).decisions.values()
    assert decision.why == "no subscript is the outermost index of the loop plus a constant"
    (task,) = tasks_of(loop(ADD.format(0, "%i"))).tasks
    (decision,) = plan(task).decisions.values()
    assert decision.why == ""


def test_serial_code_has_no_plan():
    text = f"kernel @k() {{\n{PLACES}\n%v = const 1 : i32\n%a = atomic add @s[], %v : i32\nreturn\n}}\n"
    (task,) = tasks_of(text).tasks
    assert plan(task).decisions == {}


SUBGROUPS = ("own", "uniform", "subgroup")


@pytest.mark.parametrize(
    ("body", "way"),
    [
        ("%a = atomic add @y[%k], %v : i32", "subgroup"),
        ("%a = atomic max @y[%m], %v : i32", "subgroup"),
        ("%a = atomic add @y[%i], %v : i32", "subgroup"),
        ("%a = atomic add @y[%j], %v : i32", "atomic"),
        ("%u = load @z[%j] : i32\n%a = atomic add @y[%u], %v : i32", "atomic"),
        ("%a = atomic add @y[%k], %v : i32\nstore @z[%i], %a", "atomic"),
        ("%a = atomic xchg @y[%k], %v : i32", "atomic"),
        ("%a = atomic or @f[%k], %t : u1", "atomic"),
        ("%b = load @y[%i] : i32\n%a = atomic add @y[%k], %b : i32", "subgroup"),
        ("%a = atomic add @w[%i, %j], %v : i32", "own"),
        ("%a = atomic add @s[], %v : i32", "uniform"),
    ],
    ids=[
        "an inner index",
        "from memory",
        "the outer index",
        "the innermost index",
        "from memory by the innermost index",
        "the old value",
        "an exchange",
        "a bit",
        "a load beside it",
        "its own",
        "one element",
    ],
)
def test_threads_side_by_side_combine_where_the_innermost_index_is_missing(body, way):
    places = PLACES + "\nplace @w : i32[?, ?] field\nplace @f : u1[?] field"
    start = "%two = const 2 : i32\n%t = const true : u1\n%m = load @z[%i] : i32\nfor %k = %one to %two {\n"
    source = loop(f"{start}{body}\nyield\n}}", places).replace(
        "(%i = %zero to %n)", "(%i = %zero to %n, %j = %zero to %n)"
    )
    (task,) = tasks_of(source).tasks
    chosen = plan(task, SUBGROUPS).decisions
    assert {decision.way for decision in chosen.values()} == {way}
    assert "subgroup" not in {decision.way for decision in plan(task).decisions.values()}


REALS = PLACES.replace("i32", "f32").replace("@z : f32", "@z : i32")
ARRAYS = PLACES.replace("field", "ndarray")
MIXED = PLACES.replace("@x : i32[?] field", "@x : i32[?] ndarray")


def in_order(body: str, places: str = PLACES) -> list[str]:
    """The ways where bits may depend on nothing but the program."""
    text = loop(body, places)
    if "@x : f32" in places:
        text = text.replace("@x[%i] : i32", "@x[%i] : f32").replace("%v : i32", "%v : f32")
    (task,) = tasks_of(text).tasks
    return [decision.way for decision in plan(task, deterministic=True).decisions.values()]


@pytest.mark.parametrize(
    ("body", "places", "wanted"),
    [
        (FROM_MEMORY + ADD.format(0, "%j"), PLACES, ["private"]),
        ("%a = atomic add @s[], %v : i32", PLACES, ["uniform"]),
        ("%a = atomic add @s[], %v : i32", REALS, ["ordered"]),
        (ADD.format(0, "%i"), REALS, ["own"]),
        (ADD.format(0, "%i") + "\nstore @x[%i], %a0", REALS, ["own"]),
        (FROM_MEMORY + ADD.format(0, "%j"), REALS, ["ordered"]),
        (FROM_MEMORY + "%a = atomic min @y[%j], %v : i32", REALS, ["ordered"]),
        (FROM_MEMORY + "%a = atomic min @y[%j], %v : i32", PLACES, ["private"]),
        (FROM_MEMORY + ADD.format(0, "%j") + "\nstore @x[%i], %a0", PLACES, ["ordered"]),
        (FROM_MEMORY + "%a = atomic xchg @y[%j], %v : i32", PLACES, ["ordered"]),
        (
            "%a = atomic add @s[], %one : i32\n" + FROM_MEMORY + "%b = atomic xchg @y[%j], %v : i32",
            PLACES,
            ["ordered"] * 2,
        ),
        (ADD.format(0, "%i") + "\n" + FROM_MEMORY + "%b = atomic xchg @x[%j], %v : i32", PLACES, ["own", "ordered"]),
        (ADD.format(0, "%i"), ARRAYS, ["own"]),
        (ADD.format(0, "%i") + "\n%b = atomic add @x[%i], %v : i32", PLACES, ["own", "own"]),
        (ADD.format(0, "%i") + "\n%b = atomic add @x[%i], %v : i32", ARRAYS, ["ordered", "ordered"]),
        (ADD.format(0, "%i") + "\n%b = atomic add @x[%i], %v : i32", MIXED, ["ordered", "ordered"]),
    ],
    ids=[
        "integers",
        "a sum of integers",
        "a sum",
        "its own",
        "its own old value",
        "a table",
        "the least",
        "the least integer",
        "the old value",
        "an exchange",
        "beside an exchange",
        "its own, beside an exchange",
        "an array",
        "two fields",
        "arrays that may be one",
        "an array that may be a field",
    ],
)
def test_where_the_order_of_iterations_would_make_a_difference_they_run_in_order(body, places, wanted):
    assert in_order(body, places) == wanted


def test_the_text_form_has_the_plan_and_the_verifier_knows_the_ways():
    program = tasks_of(loop(FROM_MEMORY + ADD.format(0, "%j")))
    text = print_ir(program)
    assert "atomic sums private add @y[%j]" in text
    assert print_ir(read(text)) == text
    (update,) = [op for op in program.tasks[0].body.walk() if op.name == "atomic"]
    update.attrs["sums"] = "somehow"
    with pytest.raises(
        IRError, match="attribute 'sums' must be one of own, uniform, gathered, tiled, private, subgroup, atomic"
    ):
        verify(program)
