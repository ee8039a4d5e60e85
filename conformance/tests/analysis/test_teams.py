"""Teams: which blocks of threads a device may run side by side, and which it must not."""

from __future__ import annotations

import pytest
from interpreter_kit import parallel

from adstack.analysis.teams import Team, team_of
from adstack.errors import IRError
from adstack.ir.ops import FOR, LOAD
from adstack.ir.structure import Kernel
from adstack.ir.text.parser import parse_ir as parse
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify

PLACES = "place @x : i32[12] field\nplace @y : i32[12] field\nplace @s : f32[12] field"

HEAD = """%four = const 4 : i32
    %three = const 3 : i32
    %first = mul %i, %four : i32"""
ARRAYS = """%tile = array.alloc team shared : array<i32, 4>
    %kept = array.alloc team shared : array<i32, 8>"""
FILL = """for team 4 %t = %zero to %four {
      %p = add %first, %t : i32
      %v = load @x[%p] : i32
      array.store %tile, %t, %v
      array.store %kept, %t, %p
      %far = add %four, %t : i32
      array.store %kept, %far, %v
      yield
    }"""
MIRROR = """for team 4 %t2 = %zero to %four {
      %m = sub %three, %t2 : i32
      %w = array.load %tile, %m : i32
      %q = array.load %kept, %t2 : i32
      store @y[%q], %w
      yield
    }"""


def body(*parts: str) -> str:
    return parallel("\n    ".join(parts), 3, PLACES)


def team(source: str, *, coherent: bool = False, atomics: tuple[int, ...] = ()) -> Team | None:
    kernel = parse(source)
    assert isinstance(kernel, Kernel)
    verify(kernel)
    (loop,) = [op for op in kernel.body.ops if op.regions]
    return team_of(loop, coherent=coherent, atomics=atomics)


def test_arrays_are_shared_or_each_threads_own() -> None:
    found = team(body(HEAD, ARRAYS, FILL, MIRROR))
    assert found is not None
    assert found.threads == 4
    assert [op.attrs["length"] for op in found.shared] == [4]
    assert [op.attrs["length"] for op in found.own] == [8]


def test_what_all_threads_look_at_is_shared() -> None:
    look = "%k = array.load %kept, %zero : i32"
    found = team(body(HEAD, ARRAYS, FILL, look, MIRROR))
    assert found is not None
    assert [op.attrs["length"] for op in found.shared] == [4, 8]


def phase(*lines: str) -> str:
    return "\n      ".join(("for team 4 %t3 = %zero to %four {", *lines)) + "\n      yield\n    }"


APART = {
    "no marks": (HEAD, ARRAYS, FILL.replace(" team 4", ""), MIRROR.replace(" team 4", "")),
    "blocks of two sizes": (HEAD, ARRAYS, FILL, MIRROR.replace("team 4", "team 5")),
    "an array without a mark": (HEAD, ARRAYS.replace("team shared : array<i32, 4>", ": array<i32, 4>"), FILL, MIRROR),
    "a thread hands a value to the next": (
        HEAD,
        ARRAYS,
        FILL,
        "%sum = for team 4 %t3 = %zero to %four carry (%c = %zero) {",
        "%d = add %c, %t3 : i32",
        "yield %d\n    }",
    ),
    "updates of an element that others update": (
        HEAD,
        ARRAYS.replace("team shared : array<i32, 4>", "team updated : array<i32, 4>"),
        FILL,
        phase("%m = sub %three, %t3 : i32", "%o = array.load %tile, %m : i32", "array.store %tile, %m, %o"),
    ),
    "random numbers": (HEAD, ARRAYS, FILL, phase("%r = random : i32", "array.store %tile, %t3, %r")),
    "printing": (HEAD, ARRAYS, FILL, phase("print %t3")),
    "a field that threads have written": (
        HEAD,
        ARRAYS,
        FILL,
        MIRROR,
        phase("%l = load @y[%t3] : i32", "array.store %tile, %t3, %l"),
    ),
    "a field that threads have written the time before": (
        HEAD,
        ARRAYS,
        "for %turn = %zero to %four {",
        phase("%l = load @y[%t3] : i32", "store @y[%t3], %l"),
        "yield\n    }",
    ),
    "all threads store": (HEAD, ARRAYS, FILL, "store @y[%first], %four", MIRROR),
    "all threads look at what one stores": (HEAD, ARRAYS, "%k = load @y[%first] : i32", FILL, MIRROR),
    "a sum that only blocks keep apart": (
        HEAD,
        ARRAYS,
        FILL,
        phase("%one = cast %t3 : f32", "%o = atomic sums own add @s[%i], %one : f32"),
    ),
}


@pytest.mark.parametrize("name", APART)
def test_what_depends_on_the_order_of_threads_is_no_team(name: str) -> None:
    assert team(body(*APART[name])) is None


COHERENT = [name for name in APART if name.startswith("a field that threads have written")]


@pytest.mark.parametrize("name", APART)
def test_where_waits_order_all_memory_fields_may_be_read_that_threads_have_written(name: str) -> None:
    found = team(body(*APART[name]), coherent=True)
    if name not in COHERENT:
        assert found is None
        return
    assert found is not None
    loops = [op for op in found.waits if op.opdef is FOR]
    assert any(o.opdef is LOAD for op in loops for o in op.regions[0].walk())  # it waits for what it reads


def test_updates_of_the_threads_own_elements_are_fine() -> None:
    updated = ARRAYS.replace("team shared : array<i32, 4>", "team updated : array<i32, 4>")
    add = phase("%o = array.load %tile, %t3 : i32", "%more = add %o, %t3 : i32", "array.store %tile, %t3, %more")
    assert team(body(HEAD, updated, FILL, add, MIRROR)) is not None


UPDATED = ARRAYS.replace("team shared : array<i32, 4>", "team updated : array<i32, 4>")
ANYWHERE = ("%m = sub %three, %t3 : i32", "%o = array.load %tile, %m : i32")
ADDED = (*ANYWHERE, "%more = add %o, %t3 : i32", "array.store %tile, %m, %more")
UPDATES = {
    "added": (True, ADDED),
    "taken from it": (True, (*ANYWHERE, "%more = sub %o, %t3 : i32", "array.store %tile, %m, %more")),
    "its own, too": (
        True,
        (*ADDED, "%p = array.load %tile, %t3 : i32", "%q = max %t3, %p : i32", "array.store %tile, %t3, %q"),
    ),
    "it is taken from another": (False, (*ANYWHERE, "%more = sub %t3, %o : i32", "array.store %tile, %m, %more")),
    "multiplied": (False, (*ANYWHERE, "%more = mul %o, %t3 : i32", "array.store %tile, %m, %more")),
    "twice the old one": (False, (*ANYWHERE, "%more = add %o, %o : i32", "array.store %tile, %m, %more")),
    "the old one is wanted": (False, (*ADDED, "store @y[%m], %o")),
    "the new one is wanted": (False, (*ADDED, "store @y[%m], %more")),
    "of another element": (
        False,
        (*ANYWHERE, "%more = add %o, %t3 : i32", "array.store %tile, %t3, %more", "array.store %tile, %m, %zero"),
    ),
    "looked at meanwhile": (
        False,
        (
            *ANYWHERE,
            "%p = array.load %tile, %t3 : i32",
            "%more = add %o, %t3 : i32",
            "array.store %tile, %m, %more",
            "store @y[%m], %p",
        ),
    ),
    "exchanged": (False, (*ANYWHERE, "array.store %tile, %m, %t3", "store @y[%m], %o")),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_elements_that_others_update_are_found_again(name: str) -> None:
    fine, lines = UPDATES[name]
    source = body(HEAD, UPDATED, FILL, phase(*lines), MIRROR)
    found = team(source, atomics=(32,))
    assert (found is not None) == fine
    assert team(source) is None
    assert team(source, atomics=(64,)) is None
    if found is not None:
        assert all(update.load in store.operands[0].uses for store, update in found.updates.items())
        assert len(found.updates) == sum(line.startswith("array.store") for line in lines)


def test_where_others_update_an_array_stores_of_own_elements_must_be_updates_or_all_of_a_phase() -> None:
    own = phase("%o = array.load %tile, %t3 : i32", "%p = mul %o, %t3 : i32", "array.store %tile, %t3, %p")
    assert team(body(HEAD, UPDATED, FILL, phase(*ADDED), own.replace("%t3", "%t4"), MIRROR), atomics=(32,)) is None


def test_marks_are_part_of_the_text() -> None:
    source = body(HEAD, ARRAYS, FILL, MIRROR)
    text = print_ir(parse(source), locs=False)
    assert "array.alloc team shared : array<i32, 8>" in text
    assert "for team 4 %t2 =" in text
    assert print_ir(parse(text), locs=False) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("team shared", "team private", "must be one of shared, updated"), ("team 4 %t2", "team 0 %t2", "positive int")],
)
def test_marks_that_mean_nothing_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify(parse(body(HEAD, ARRAYS, FILL, MIRROR).replace(old, new)))
