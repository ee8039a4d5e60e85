"""Loops that can run again, and those that can't."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from checkpoint_kit import backward, buffers, gradients, places
from transforms_kit import kernel_of, wrap

from adstack.autodiff.checkpoint_plan import plan_checkpoints
from adstack.autodiff.checkpointing.loops import outermost_loops
from adstack.autodiff.emission.journal import Journal
from adstack.autodiff.reverse import Checkpoints, reverse
from adstack.errors import AdstackDataAccessError
from adstack.ir.structure import Kernel, Op
from adstack.ir.text.printer import print_ir

HEAD = """kernel @k() {
  place @x : f32[] field
  place @y : f32[] field
  place @n : i32[] field
  place @s : f32[] field
  place @w : f32[8] field
  place @t : f32[] temp label "sum\""""

LOOP = """
%0 = const 0 : i32
%n = load @n[]
%x = load @x[]
%last = for %k = %0 to %n carry (%v = %x) {
  %a = sin %v
  BODY
  yield %next
}
store @y[], %last
AFTER
return
"""


def loop(body: str, after: str = "") -> Kernel:
    return kernel_of(wrap(LOOP.replace("BODY", body).replace("AFTER", after), HEAD))


WRITES = "store @t[], %a\n%next = mul %a, %x"
READS = "%t = load @t[]\n%next = mul %a, %t"


@pytest.mark.parametrize(
    ("kernel", "does"),
    [
        (loop(WRITES), "writes"),
        (loop(READS, "store @t[], %last"), "reads"),
        (loop(READS + "\n%o = atomic add @t[], %a"), "reads"),
    ],
    ids=["written inside", "written later", "updated inside"],
)
def test_a_serial_loop_is_refused_if_what_the_kernel_holds_for_it_changes(kernel: Kernel, does: str) -> None:
    with pytest.raises(AdstackDataAccessError, match=f"can't be checkpointed.* sum, which it {does}"):
        plan_checkpoints(kernel, places(kernel))
    keeps_everything(kernel)


def keeps_everything(kernel: Kernel, replayed: Sequence[str] = (), journal: Journal | None = None) -> None:
    """Checkpoints or not, the reverse kernel is the same."""
    made = [
        reverse(kernel, places(kernel), replayed, checkpoints=checkpoints, journal=journal)
        for checkpoints in (None, Checkpoints(2, 2))
    ]
    assert print_ir(made[0]) == print_ir(made[1])


def test_what_was_written_before_a_loop_may_be_read_in_it() -> None:
    text = LOOP.replace("BODY", READS).replace("AFTER", "").replace("%last = for", "store @t[], %x\n%last = for")
    kernel = kernel_of(wrap(text, HEAD))
    memory = buffers(kernel, [11])
    assert gradients(backward(kernel, Checkpoints(2, 2)), memory) == gradients(backward(kernel), memory)


CELL = "%s = load @s[]\n%next = mul %a, %s\nstore @s[], %next"
BRANCH = "%b = gt %a, %x\n%next = if %b {\n%s = load @s[]\nstore @s[], %a\nyield %s\n} else {\nyield %a\n}"
MOVING = "%r = load @w[%k]\n%next = mul %a, %r\nstore @w[%k], %next"


def test_an_element_of_scratch_memory_is_part_of_the_state() -> None:
    kernel = loop(CELL)
    (plan,) = plan_checkpoints(kernel, places(kernel), ["s"]).loops
    assert plan.state == {8: 1, 4: 2}
    assert "while" in [op.name for op in reverse(kernel, places(kernel), ["s"], checkpoints=Checkpoints(2, 2)).body.ops]


@pytest.mark.parametrize(("body", "why"), [(BRANCH, "not every trip touches it"), (MOVING, "from trip to trip")])
def test_a_loop_is_refused_if_a_snapshot_would_hold_all_of_scratch_memory(body: str, why: str) -> None:
    kernel = loop(body)
    with pytest.raises(AdstackDataAccessError, match=why):
        plan_checkpoints(kernel, places(kernel), ["s", "w"])
    keeps_everything(kernel, ["s", "w"])


def test_a_loop_that_has_nothing_to_do_with_scratch_memory_is_not_refused() -> None:
    kernel = loop("%next = mul %a, %x", "store @s[], %last")
    assert reverse(kernel, places(kernel), ["s"], checkpoints=Checkpoints(2, 2)).body.ops


def test_outermost_loops_come_with_the_branches_around_them() -> None:
    kernel = kernel_of(
        wrap(
            """
            %0 = const 0 : i32
            %n = load @n[]
            %c = eq %n, %0
            if %c {
              for %i = %0 to %n {
                for %j = %0 to %n {
                  yield
                }
                yield
              }
              yield
            } else {
              if %c {
                for %i = %0 to %n {
                  yield
                }
                yield
              } else {
                yield
              }
              yield
            }
            return
            """,
            HEAD,
        )
    )
    (branch,) = (op for op in kernel.body.ops if op.name == "if")
    found = list(outermost_loops(branch))
    assert [len(around) for _, around in found] == [1, 2]
    assert list(outermost_loops(found[0][0])) == [(found[0][0], [])]
    assert not list(outermost_loops(some(kernel, "load")))


def some(kernel: Kernel, name: str) -> Op:
    return next(op for op in kernel.body.ops if op.name == name)
