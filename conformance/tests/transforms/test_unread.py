"""What is written to shared locals that nobody reads goes, with all that was only for it."""

from __future__ import annotations

from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify
from adstack.transforms.scalar.unread import drop_unread

CHAIN = """\
kernel @k() {
  place @x : f64[4] field
  place @y : f64[] field
  place @s : f64[] temp
  place @t : f64[] temp
  place @old : f64[] temp
  %0 = const 0 : i32
  %4 = const 4 : i32
  parallel_for (%i = %0 to %4) {
    %x = load @x[%i] : f64
    %a = atomic add @s[], %x : f64
    %b = atomic add @old[], %x : f64
    store @x[%i], %b
    yield
  }
  parallel_for (%i = %0 to %4) {
    %s = load @s[] : f64
    store @t[], %s
    yield
  }
  return
}
"""


def test_a_chain_of_locals_that_ends_nowhere_is_gone_and_an_old_value_counts_as_read() -> None:
    kernel = parse_ir(CHAIN)
    drop_unread(kernel.body)
    verify(kernel)
    left = [op.attrs["place"].name for op in kernel.body.walk() if "place" in op.attrs]
    assert left == ["x", "old", "x"]


def test_what_is_read_stays() -> None:
    kernel = parse_ir(CHAIN.replace("store @t[], %s", "store @y[], %s"))
    before = print_ir(kernel)
    drop_unread(kernel.body)
    assert print_ir(kernel) == before


def test_scratch_memory_that_is_not_read_goes_with_what_was_only_for_it() -> None:
    kernel = parse_ir(CHAIN.replace("store @t[], %s", "store @y[], %s"))
    drop_unread(kernel.body, {"y"})
    verify(kernel)
    assert [op.attrs["place"].name for op in kernel.body.walk() if "place" in op.attrs] == ["x", "old", "x"]
