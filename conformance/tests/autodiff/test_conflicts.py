"""What a kernel may overwrite of what its reverse pass reads again: indices, loops and the order of statements tell."""

from __future__ import annotations

import pytest
from reverse_kit import reversed_kernel
from transforms_kit import kernel_of, wrap

from adstack.autodiff.overwrite.conflicts import Order
from adstack.errors import AdstackDataAccessError

HEAD = """kernel @k(%n: i32) {
  place @x : f32[9] field
  place @m : f32[9, 9] field
  place @w : f32[9] field
  place @y : f32[9] field
  place @z : f32[] field
  place @j : i32[9] field
  place @d : f64[9] field
  place @a : f32[?] ndarray
  place @b : f32[?] ndarray
"""
NUMBERS = "\n".join(f"%{k} = const {k} : i32" for k in range(7)) + "\n"


def refused(body: str) -> bool:
    kernel = kernel_of(wrap(NUMBERS + body + "\nreturn", HEAD.rstrip("\n")))
    try:
        reversed_kernel(kernel)
    except AdstackDataAccessError:
        return True
    return False


def loop(name: str, low: str, high: str, body: str) -> str:
    return f"for %{name} = {low} to {high} {{\n{body}\nyield\n}}"


def step(read: str, written: str, before: str = "") -> str:
    """Needs the value that it reads, and writes."""
    return f"{before}\n%v = load @{read}\n%s = sin %v\nstore @{written}, %s"


BACK = "%u = sub %t, %1"
AHEAD = "%u = add %t, %1"


KEPT = {
    "the next of a history": step("x[%t]", "x[%u]", AHEAD),
    "the last of a history": step("x[%u]", "x[%t]", BACK),
    "the last in a wide type": step("x[%u]", "x[%t]", "%q = cast %t : i64\n%o = const 1 : i64\n%u = sub %q, %o"),
    "another row": step("m[%t, %1]", "m[%u, %1]", AHEAD),
    "another element": step("x[%0]", "x[%1]"),
    "another column of any": step("m[%t, %k]", "m[%t, %l]", "%k = load @j[%t]\n%l = add %k, %1"),
    "a range above": loop("i", "%0", "%2", loop("r", "%2", "%5", step("x[%i]", "x[%r]"))),
    "a range below": loop("i", "%0", "%2", loop("r", "%2", "%5", step("x[%r]", "x[%i]"))),
    "a range shifted away": loop("i", "%0", "%2", loop("r", "%0", "%2", step("x[%c]", "x[%r]", "%c = add %i, %2"))),
    "what earlier iterations wrote": loop("u", "%0", "%t", step("x[%u]", "x[%t]")),
    "a loop inside": loop("r", "%0", "%3", step("m[%t, %r]", "m[%u, %r]", AHEAD)),
}
OVERWRITTEN = {
    "the same": step("x[%t]", "x[%t]"),
    "before the next wrote it": step("x[%u]", "x[%t]", AHEAD),
    "the last": step("x[%t]", "x[%u]", BACK),
    "one for all": step("x[%1]", "x[%1]"),
    "any element": step("x[%k]", "x[%l]", "%k = load @j[%t]\n%l = add %k, %1"),
    "a range that touches above": loop("i", "%0", "%3", loop("r", "%2", "%5", step("x[%i]", "x[%r]"))),
    "a range that touches below": loop("i", "%0", "%3", loop("r", "%2", "%5", step("x[%r]", "x[%i]"))),
    "a range not shifted far": loop("i", "%0", "%2", loop("r", "%0", "%3", step("x[%c]", "x[%r]", "%c = add %i, %2"))),
    "earlier iterations and this": loop("r", "%0", "%t", step("x[%u]", "x[%t]", "%u = add %r, %1")),
    "a history again": loop("r", "%0", "%3", step("x[%r]", "x[%u]", "%u = add %r, %1")),
    "all of a history again": loop("r", "%0", "%3", loop("u", "%0", "%r", step("x[%u]", "x[%r]"))),
    "several in an inner loop": loop(
        "r", "%0", "%3", "%f = load @w[%r]\nstore @x[%t], %f\n%v = load @x[%t]\n%s = sin %v\nstore @y[%t], %s"
    ),
    "read back": "%f = load @w[%t]\nstore @x[%0], %f\n%v = load @x[%0]\n%s = sin %v\nstore @y[%t], %s",
    "a row that the next iteration writes": loop(
        "r", "%0", "%3", step("m[%u, %r]", "m[%t, %q]", "%u = add %t, %1\n%q = add %r, %1")
    ),
    "on all axes": loop("r", "%0", "%3", step("m[%t, %r]", "m[%t, %q]", "%q = sub %r, %0")),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_never_written_after_it_was_read_may_be_read_again(name: str) -> None:
    assert not refused(loop("t", "%1", "%6", KEPT[name]))


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_what_may_be_written_after_it_was_read_is_refused(name: str) -> None:
    assert refused(loop("t", "%1", "%6", OVERWRITTEN[name]))


def test_an_index_is_a_base_and_a_number() -> None:
    text = loop(
        "t", "%1", "%6", "%p = sub %t, %2\n%q = add %5, %p\n%l = cast %q : i64\n%d = sub %5, %t\n%e = const 4 : i32"
    )
    kernel = kernel_of(wrap(NUMBERS + text + "\nreturn", HEAD.rstrip("\n")))
    values = {v.name: v for op in kernel.body.walk() for v in [*op.results, *(a for r in op.regions for a in r.args)]}
    offset = Order(kernel.body).offset
    assert [offset(values[name]) for name in "pql"] == [(values["t"], -2), (values["t"], 3), (values["t"], 3)]
    assert offset(values["d"]) == (values["d"], 0)
    assert offset(values["e"]) == (None, 4)


def test_threads_write_their_own_elements_after_they_read_them() -> None:
    threads = "parallel_for (%i = %0 to %6) {{\n{}\nyield\n}}"
    assert refused(threads.format(step("x[%i]", "x[%i]")))
    assert not refused(threads.format(step("m[%i, %1]", "m[%i, %2]")))


def test_array_arguments_may_be_the_same_array() -> None:
    body = "%f = load @w[%1]\nstore @a[%1], %f\n%v = load @a[%1]\n%s = sin %v\n%d = cast %s : f64\n"
    assert not refused(f"{body}store @d[%1], %d")
    assert refused(f"{body}store @b[%2], %s")


ADDED = "%v = load @w[%i]\n%o = atomic add @{}, %v\nstore @y[%i], %o"
WON = "%v = load @w[%i]\n%o = atomic max @{}, %v\n"


@pytest.mark.parametrize("body", [ADDED.format("x[%i]"), WON.format("z[]")], ids=["own element", "winner"])
def test_updates_whose_order_does_not_matter_are_not_refused(body: str) -> None:
    assert not refused(f"parallel_for (%i = %0 to %6) {{\n{body}\nyield\n}}")


@pytest.mark.parametrize(
    "body",
    [
        ADDED.format("z[]"),
        WON.format("x[%i]") + "store @y[%i], %o",
        WON.format("z[]") + "%p = atomic min @z[], %v",
        WON.format("z[]") + "store @z[], %v",
    ],
    ids=["old value of a sum", "old value of an extreme", "two extremes", "an extreme and a store"],
)
def test_updates_whose_order_matters_are_refused(body: str) -> None:
    assert refused(f"parallel_for (%i = %0 to %6) {{\n{body}\nyield\n}}")
