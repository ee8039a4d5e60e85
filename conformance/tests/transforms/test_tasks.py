"""A kernel becomes tasks: what crosses them is recomputed where that is cheap and sure, else left in memory."""

from __future__ import annotations

import pytest
from transforms_kit import DEBUG, PLAIN, agree, kernel_of, outcome, wrap

from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import IRError
from adstack.ir.structure import Program
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify
from adstack.transforms.rewriting.rewrite import clone_kernel
from adstack.transforms.tasks.tasks import split

HEAD = "kernel @k(%x: i32, %n: i32) -> (i32) {"


def program(body: str, head: str = HEAD) -> Program:
    """The verified tasks of a kernel, which mean what the kernel means."""
    kernel = kernel_of(wrap(body, head))
    tasks = split(clone_kernel(kernel))
    verify(tasks)
    for seed in range(4):
        agree(kernel, tasks, seed)
    return tasks


def text(tasks: Program, number: int) -> str:
    return print_ir(tasks.tasks[number])


def test_a_kernel_without_work_has_no_tasks():
    assert program("%0 = const 1 : i32\nreturn", "kernel @k(%x: i32) {").tasks == []


def test_bounds_from_parameters_extents_and_fields_are_computed_in_the_header():
    tasks = program(
        """
        place @bound : i32[] field
        place @v : i32[?] ndarray
        place @o : i32[8] field
        %0 = const 0 : i32
        %7 = const 7 : i32
        %b = load @bound[] : i32
        %s = shape @v, 0 : i32
        %c = and %b, %7 : i32
        %d = min %c, %s : i32
        parallel_for (%i = %0 to %d) {
          store @o[%i], %x
          yield
        }
        return %n
        """
    )
    assert [task.name for task in tasks.tasks] == ["k.0.parallel", "k.1.serial"]
    assert (
        text(tasks, 0)
        == """\
task @k.0.parallel parallel (%x: i32, %n: i32) {
  %0 = const 0 : i32
  %b = load @bound[] : i32
  %1 = const 7 : i32
  %c = and %b, %1 : i32
  %s = shape @v, 0 : i32
  %d = min %c, %s : i32
  parallel_for (%i = %0 to %d) {
    store @o[%i], %x
    yield
  }
  return
}
"""
    )


@pytest.mark.parametrize("writer", ["before", "inside"])
def test_a_bound_that_may_have_changed_is_left_in_a_temp(writer):
    store = {"before": "store @bound[], %x", "inside": ""}[writer]
    inside = {"before": "", "inside": "%old = atomic add @bound[], %i : i32"}[writer]
    tasks = program(
        f"""
        place @bound : i32[] field
        %0 = const 0 : i32
        %7 = const 7 : i32
        %b = load @bound[] : i32
        %c = and %b, %7 : i32
        {store}
        parallel_for (%i = %0 to %c) {{
          {inside}
          yield
        }}
        return %b
        """
    )
    assert [task.kind for task in tasks.tasks] == ["serial", "parallel", "serial"]
    assert "store @temp0[], %c" in text(tasks, 0)
    assert "%c = load @temp0[] : i32" in text(tasks, 1)


def test_a_view_that_may_overlap_counts_as_a_write():
    tasks = program(
        """
        place @v : i32[?] ndarray
        place @w : i32[?] ndarray
        %0 = const 0 : i32
        %3 = const 3 : i32
        %b = load @v[%3] : i32
        parallel_for (%i = %0 to %3) {
          store @w[%i], %b
          yield
        }
        return %x
        """
    )
    assert "%b = load @temp0[] : i32" in text(tasks, 1)


def test_what_is_dear_to_compute_is_computed_once():
    squares = "\n".join(f"%s{n + 1} = div %s{n}, %y : f32" for n in range(6))
    tasks = program(
        f"""
        place @o : f32[5] field
        %0 = const 0 : i32
        %5 = const 5 : i32
        %s0 = cast %x : f32
        %y = cast %n : f32
        {squares}
        parallel_for (%i = %0 to %5) {{
          store @o[%i], %s6
          yield
        }}
        return %x
        """
    )
    assert text(tasks, 0).count("div") == 6
    assert "load @temp0[] : f32" in text(tasks, 1)


def test_results_are_stored_where_they_are_at_hand():
    tasks = program(
        """
        place @a : i32[] field
        %0 = const 0 : i32
        %3 = const 3 : i32
        %old = atomic add @a[], %x : i32
        parallel_for (%i = %0 to %3) {
          %o = atomic add @a[], %old : i32
          yield
        }
        return %old
        """
    )
    assert [task.kind for task in tasks.tasks] == ["serial", "parallel"]
    assert tasks.results == ("result0",)
    assert "store @result0[], %old" in text(tasks, 0)


def test_names_that_are_taken_are_left_alone():
    tasks = program(
        """
        place @result0 : i32[] field
        %v = load @result0[] : i32
        return %v
        """
    )
    assert tasks.results == ("result1",)


def test_an_array_that_several_tasks_use_lives_in_a_temp():
    head = "kernel @k(%x: i32) -> (i32) {"
    body = """
    place @o : i32[4] field
    %0 = const 0 : i32
    %1 = const 1 : i32
    %4 = const 4 : i32
    %a = array.alloc : array<i32, 4>
    %own = array.alloc : array<i32, 4>
    array.store %own, %0, %x
    array.store %a, %1, %x
    parallel_for (%i = %0 to %4) {
      %v = array.load %a, %i : i32
      store @o[%i], %v
      yield
    }
    %u = array.load %a, %1 : i32
    return %u
    """
    kernel = kernel_of(wrap(body, head))
    tasks = split(clone_kernel(kernel))
    verify(tasks)
    assert tasks.places["temp0"].shape == (4,)
    assert "array.alloc" not in print_ir(tasks)
    returned, buffers, _ = outcome(tasks, [7], random_buffers(kernel, 0), debug=True)
    assert returned == (7,)
    assert buffers["o"].tolist() == [0, 7, 0, 0]


def test_an_adstack_does_not_leave_its_task():
    kernel = kernel_of(
        wrap(
            """
            %0 = const 0 : i32
            %s = stack.alloca %x : stack<i32>
            parallel_for (%i = %0 to %x) {
              stack.push %s, %i
              yield
            }
            return
            """,
            "kernel @k(%x: i32) {",
        )
    )
    with pytest.raises(IRError, match="can't leave the serial code"):
        split(kernel)


@pytest.mark.parametrize("options", [PLAIN, DEBUG], ids=["plain", "debug"])
def test_random_programs_keep_their_meaning(options):
    for seed in range(60):
        kernel = random_kernel(seed, 80, transcendentals=False)
        tasks = split(clone_kernel(kernel), options)
        verify(tasks)
        agree(kernel, tasks, seed, options.debug)


def test_random_numbers_do_not_depend_on_loops_that_do_nothing():
    kernel = kernel_of(
        wrap(
            """
            place @o : f32[3] field
            %0 = const 0 : i32
            %3 = const 3 : i32
            parallel_for (%i = %0 to %3) {
              yield
            }
            parallel_for (%i = %0 to %3) {
              %r = random : f32
              store @o[%i], %r
              yield
            }
            return
            """
        )
    )
    tasks = split(clone_kernel(kernel))
    assert len(tasks.tasks) == 2
    agree(kernel, tasks, 0)
    assert random_params(kernel, 0) == []
