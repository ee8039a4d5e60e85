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
from adstack.transforms.pipeline import lower

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
    kernels = [
        reverse(kernel, places(kernel), replayed, checkpoints=checkpoints, journal=journal)
        for checkpoints in (None, Checkpoints(2, 2))
    ]
    assert print_ir(kernels[0]) == print_ir(kernels[1])


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


SOMETIMES = "%b = lt %k, %three\n%next = if %b {\n%s = load @w[%k]\nstore @w[%k], %a\nyield %s\n} else {\nyield %a\n}"
RING = "%i = mod %k, %three\n%r = load @w[%i]\n%q = mul %a, %r\n%next = sin %q\nstore @w[%i], %next"


@pytest.mark.parametrize(
    ("body", "place", "elements"), [(BRANCH, "s", 1), (MOVING, "w", 8), (SOMETIMES, "w", 8), (RING, "w", 8)]
)
def test_all_that_trips_may_touch_is_part_of_the_state(body: str, place: str, elements: int) -> None:
    text = (
        LOOP.replace("BODY", body)
        .replace("AFTER", "")
        .replace("%0 = const 0", "%three = const 3 : i32\n%0 = const 0", 1)
    )
    kernel = kernel_of(wrap(text, HEAD))
    (plan,) = plan_checkpoints(kernel, places(kernel), [place]).loops
    assert plan.state == {8: 1, 4: 1 + elements}
    programs = [lower(reverse(kernel, places(kernel), [place], checkpoints=c)) for c in (None, *SCHEMES)]
    memory = buffers(kernel, [8])
    plain, *parts = (gradients(program, memory) for program in programs)
    assert parts == [plain] * len(SCHEMES)


SCHEMES = [Checkpoints(1, 1), Checkpoints(2, 2), Checkpoints(3, 1)]

LANES = """
%0 = const 0 : i32
%n = load @n[]
parallel_for (%i = %0 to %n) {
  %one = const 1 : i32
  %j = add %i, %one
  %x = load @x[]
  %last = for %k = %0 to %n carry (%a = %x) {
    %r = load @t[READ]
    %next = mul %a, %r
    store @t[WRITTEN], %next loc("k.py":12:5)
    yield %next
  }
  store @t[LATER], %last loc("k.py":14:3)
  yield
}
return
"""
ROWS = """kernel @k() {
  place @x : f32[] field
  place @n : i32[] field
  place @t : f32[SHAPE] field"""


@pytest.mark.parametrize(
    ("shape", "read", "written", "later", "why"),
    [
        ("7, 8", "%i, %k", "%i, %k", "%i, %0", None),
        ("7, 8", "%j, %k", "%j, %0", "%j, %0", None),
        ("7, 8", "%i, %k", "%i, %0", "%j, %0", r"undo what other threads have stored \(k.py, line 14\)"),
        ("7, 8", "%i, %k", "%j, %k", "%i, %0", r"undo what other threads have stored \(k.py, line 12\)"),
        ("7, 8", "%i, %k", "%j, %k", "%0, %0", r"undo what other threads have stored \(k.py, line 14\)"),
        ("7, 8", "%k, %0", "%k, %0", "%i, %0", r"undo what other threads have stored \(k.py, line 12\)"),
        ("7, ?", "%i, %k", "%i, %k", "%i, %0", "not known before the launch"),
        ("7, 1025", "%i, %k", "%i, %k", "%i, %0", "these are 1025 elements, where 1024 are worth it"),
    ],
)
def test_a_snapshot_holds_no_elements_that_other_threads_store(
    shape: str, read: str, written: str, later: str, why: str | None
) -> None:
    text = LANES.replace("READ", read).replace("WRITTEN", written).replace("LATER", later)
    kernel = kernel_of(wrap(text, ROWS.replace("SHAPE", shape)))
    if why is None:
        (plan,) = plan_checkpoints(kernel, places(kernel), ["t"]).loops
        assert plan.state[4] >= 8
    else:
        with pytest.raises(AdstackDataAccessError, match=f"can't be checkpointed: .*{why}"):
            plan_checkpoints(kernel, places(kernel), ["t"])
        keeps_everything(kernel, ["t"])


GRID = """
%0 = const 0 : i32
%n = load @n[]
%7 = const 7 : i32
%8 = const 8 : i32
parallel_for (%i = %0 to %7, %j = %0 to %8) {
  %x = load @x[]
  %last = for %k = %0 to %n carry (%a = %x) {
    %o = atomic add @t[AT], %x
    %old = load @t[AT]
    %next = mul %a, %old
    yield %next
  }
  store @w[%i, %j], %last
  yield
}
return
"""
TABLES = ROWS.replace("SHAPE", "7, 8") + "\n  place @w : f32[7, 8] field"


@pytest.mark.parametrize(
    ("element", "shared"), [("%i, %j", False), ("%i, %0", True), ("%0, %j", True), ("%0, %0", True)]
)
def test_an_element_that_other_threads_update_is_no_state_of_a_loop(element: str, shared: bool) -> None:
    kernel = kernel_of(wrap(GRID.replace("AT", element), TABLES))
    if not shared:
        (plan,) = plan_checkpoints(kernel, places(kernel), ["t"]).loops
        assert plan.state == {8: 1, 4: 2}
        return
    with pytest.raises(AdstackDataAccessError, match=r"can't be checkpointed: .*other threads update the same element"):
        plan_checkpoints(kernel, places(kernel), ["t"])


READERS = """
%0 = const 0 : i32
%n = load @n[]
%7 = const 7 : i32
parallel_for (%i = %0 to %7) {
  %x = load @w[%i]
  %last = for %k = %0 to %n carry (%a = %x) {
    %m = mod %k, %7
    %r = load @t[%m]
    %q = mul %a, %r
    %next = sin %q
    yield %next
  }
  atomic add @x[], %last
  yield
}
parallel_for (%i = %0 to %7) {
  %w = load @w[%i]
  store @t[%i], %w
  yield
}
return
"""


def test_a_snapshot_holds_what_all_threads_read_and_a_later_loop_stores() -> None:
    kernel = kernel_of(wrap(READERS, ROWS.replace("SHAPE", "7") + "\n  place @w : f32[7] field"))
    (plan,) = plan_checkpoints(kernel, places(kernel), ["t"]).loops
    assert plan.state == {8: 1, 4: 8}
    programs = [lower(reverse(kernel, places(kernel), ["t"], checkpoints=c)) for c in (None, *SCHEMES)]
    plain, *parts = (gradients(program, buffers(kernel, [19])) for program in programs)
    assert parts == [plain] * len(SCHEMES)


FLAT = """
%0 = const 0 : i32
%one = const 1 : i32
%three = const 3 : i32
%four = const 4 : i32
%end = const END : i32
%n = load @n[]
parallel_for (%i = %0 to %end) {
  %x = load @x[]
  %mine = mul %i, %four
  %behind = add %mine, %four
  %last = for %k = %0 to %n carry (%a = %x) {
    %some = mod %k, %three
    %where = add %mine, %some
    %next_where = add %where, %one
    %r = load @t[%where]
    %next = mul %a, %r
    store @t[%next_where], %next
    yield %next
  }
  store @t[LATER], %last
  yield
}
return
"""


@pytest.mark.parametrize(
    ("elements", "trips", "end", "later", "apart"),
    [
        (12, 9, 3, "%mine", True),
        (11, 2, 3, "%mine", True),  # the last thread's window ends outside of the place
        (12, 9, 3, "%behind", False),
        (12, 9, 3, "%i", False),
        (12, 9, 3, "%0", False),
        (12, 9, 1000000000, "%mine", False),  # four times that wraps around
    ],
)
def test_a_snapshot_holds_the_part_of_a_flat_place_that_a_thread_has_for_itself(
    elements: int, trips: int, end: int, later: str, apart: bool
) -> None:
    text = FLAT.replace("LATER", later).replace("END", str(end))
    kernel = kernel_of(wrap(text, ROWS.replace("SHAPE", str(elements))))
    if not apart:
        with pytest.raises(AdstackDataAccessError, match="undo what other threads"):
            plan_checkpoints(kernel, places(kernel), ["t"])
        return
    (plan,) = plan_checkpoints(kernel, places(kernel), ["t"]).loops
    assert plan.state == {8: 1, 4: 5}
    programs = [lower(reverse(kernel, places(kernel), ["t"], checkpoints=c)) for c in (None, *SCHEMES)]
    plain, *parts = (gradients(program, buffers(kernel, [trips])) for program in programs)
    assert parts == [plain] * len(SCHEMES)


def test_a_part_of_a_place_is_that_of_a_thread_however_many_elements_there_are() -> None:
    kernel = kernel_of(wrap(FLAT.replace("LATER", "%mine").replace("END", "3"), ROWS.replace("SHAPE", "?")))
    (plan,) = plan_checkpoints(kernel, places(kernel), ["t"]).loops
    assert plan.state == {8: 1, 4: 5}


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
    loops = list(outermost_loops(branch))
    assert [len(around) for _, around in loops] == [1, 2]
    assert list(outermost_loops(loops[0][0])) == [(loops[0][0], [])]
    assert not list(outermost_loops(some(kernel, "load")))


def some(kernel: Kernel, name: str) -> Op:
    return next(op for op in kernel.body.ops if op.name == name)
