"""Updates of one element are combined per thread, and by threads, where that can't be seen, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import POOR, STRICT, agree_on, tasks_of

from adstack.backends.codegen_spirv import joining, subgroups
from adstack.backends.codegen_spirv.assembly.opcodes import Op
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.control import UNROLLED
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.ir.types import by_name

N = 300
SUM = "place @x : i32[300] field\nplace @s : i32[2] {}"


UPDATES = {
    "one element": "%v = load @x[%i] : i32\n%o = atomic add @s[%zero], %v : i32",
    "some iterations": """%v = load @x[%i] : i32
    %on = gt %v, %zero : u1
    if %on {
      %o = atomic max @s[%zero], %v : i32
      yield
    } else {
      yield
    }""",
    "two elements": """%v = load @x[%i] : i32
    %one = const 1 : i32
    %o = atomic add @s[%zero], %v : i32
    %p = atomic add @s[%one], %i : i32""",
    "no iteration, out of bounds": """%v = load @x[%i] : i32
    %far = const 1000000 : i32
    %on = gt %v, %far : u1
    if %on {
      %o = atomic add @s[%far], %v : i32
      yield
    } else {
      yield
    }""",
    "looked at": "%v = load @x[%i] : i32\n%o = atomic add @s[%zero], %v : i32\nstore @x[%i], %v",
    "in a loop": """%five = const 5 : i32
    for %j = %zero to %five {
      %o = atomic add @s[%zero], %j : i32
      yield
    }""",
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_are_all_there(name):
    x = np.arange(N, dtype=np.int32) % 17 - 4
    agree_on(parallel(UPDATES[name], N, SUM.format("field")), [({"x": x, "s": np.array([5, 7], np.int32)}, ())])


@pytest.mark.parametrize(("kind", "want"), [("add", -0.0), ("min", np.float32(2.5)), ("max", np.float32(2.5))])
def test_what_a_thread_begins_with_changes_nothing(kind, want):
    body = f"%v = load @x[%i] : f32\n%o = atomic {kind} @s[%zero], %v : f32"
    places = "place @x : f32[300] field\nplace @s : f32[1] field"
    value = np.float32(-0.0) if kind == "add" else np.float32(2.5)
    start = -0.0 if kind == "add" else np.nan
    inputs = {"x": np.full(N, value, np.float32), "s": np.array([start], np.float32)}
    (left,) = agree_on(parallel(body, N, places), [(inputs, ())])
    assert left[1]["s"].tobytes() == np.float32(want).tobytes()


@pytest.mark.parametrize(("kind", "dtype"), sorted(subgroups.TOGETHER))
@pytest.mark.parametrize("everyone", [True, False], ids=["all", "some"])
def test_threads_side_by_side_combine_what_they_have(kind, dtype, everyone):
    body = f"""%v = load @x[%i] : {dtype}
    %on = load @n[%i] : u1
    if %on {{
      %o = atomic {kind} @s[%zero], %v : {dtype}
      yield
    }} else {{
      yield
    }}"""
    places = f"place @x : {dtype}[{N}] field\nplace @n : u1[{N}] field\nplace @s : {dtype}[1] field"
    rng = np.random.default_rng(5)
    x = rng.integers(0, 1000, N).astype(by_name(dtype).numpy)
    chosen = np.ones(N, np.bool_) if everyone else rng.random(N) < 0.02
    agree_on(parallel(body, N, places), [({"x": x, "n": chosen, "s": np.array([129], x.dtype)}, ())])
    for traits, expected in ((STRICT, 1), (POOR, 0)):
        (shader,) = emit_program(tasks_of(parallel(body, N, places)), traits).shaders
        assert [op for op, _ in instructions(shader.words)].count(subgroups.TOGETHER[kind, dtype]) == expected


def loops_of(body: str, places: str) -> int:
    """How many atomic instructions stand inside of loops."""
    (shader,) = emit_program(tasks_of(parallel(body, N, places))).shaders
    inside, count, merges = 0, 0, []
    for op, operands in instructions(shader.words):
        if op is Op.LoopMerge:
            merges.append(operands[0])
        if op is Op.Label and operands[0] in merges:
            inside -= 1
        inside += op is Op.LoopMerge
        count += inside > 0 and op in (Op.AtomicIAdd, Op.AtomicSMax)
    return count


@pytest.mark.parametrize(
    ("body", "kind", "inside"),
    [
        ("%o = atomic add @s[%zero], %i : i32", "field", 0),
        ("%o = atomic add @s[%zero], %i : i32", "ndarray", 0),
        ("%o = atomic add @s[%zero], %i : i32\nstore @x[%i], %o", "field", 1),
        ("%o = atomic add @s[%i], %i : i32", "field", 0),
        ("%v = load @s[%i] : i32\n%o = atomic add @s[%zero], %v : i32", "field", 2),
        ("%o = atomic add @s[%zero], %i : i32\n%p = atomic max @s[%zero], %i : i32", "field", 4),
    ],
)
def test_only_updates_that_nobody_sees_leave_the_loop(body, kind, inside):
    """What stays is there twice: for threads that update one element together, and for others."""
    assert loops_of(body, SUM.format(kind)) == inside


INNER = """%five = const 5 : i32
    for %j = %zero to %five {{
      %v = load @x[%i] : {0}
      {1}
      yield
    }}"""
BOTH = "%o = atomic {1} @s[%j, %zero], %v : {0}\n%p = atomic {1} @s[%j, %one], %v : {0}"
CONDITIONS = {
    "all": BOTH,
    "some": "%on = gt %i, %j : u1\nif %on {{\n" + BOTH + "\nyield\n}} else {{\nyield\n}}",
    "another element": "%k = load @at[%i] : i32\n" + BOTH.replace("%j", "%k"),
}


@pytest.mark.parametrize(("kind", "dtype"), sorted(subgroups.TOGETHER))
@pytest.mark.parametrize("condition", CONDITIONS)
def test_updates_by_all_threads_of_a_subgroup_are_combined(kind, dtype, condition):
    """Two updates at a time, in an inner loop; the last subgroup is not full, and elements may differ after all."""
    body = INNER.format(dtype, CONDITIONS[condition].format(dtype, kind))
    places = f"place @x : {dtype}[{N}] field\nplace @s : {dtype}[7, 2] field\nplace @at : i32[{N}] field"
    source = parallel(f"%one = const 1 : i32\n{body}", N, places)
    x = np.random.default_rng(7).integers(0, 50, N).astype(by_name(dtype).numpy)
    start, at = np.full((7, 2), 9, x.dtype), (np.arange(N, dtype=np.int32) // 3) % 7
    agree_on(source, [({"x": x, "s": start, "at": at}, ())])
    opcodes = [op for op, _ in instructions(emit_program(tasks_of(source), STRICT).shaders[0].words)]
    # a loop without branches is unrolled, and what is left of it stands behind it
    expected = {"all": 2 * (UNROLLED + 1), "another element": 0}.get(condition, 2)
    assert opcodes.count(subgroups.TOGETHER[kind, dtype]) == expected


@pytest.mark.parametrize(("extents", "halves"), [("7, 2", 1), ("?, 2", 2)])
def test_threads_compare_as_many_bits_of_addresses_as_tell_elements_apart(extents, halves, monkeypatch):
    """Elements of a place of more than 4 GiB may have addresses whose low halves are the same."""
    compared = []

    def agree(inside, words):
        compared.append(len(words))
        return subgroups.agree(inside, words)

    monkeypatch.setattr(joining, "agree", agree)
    places = f"place @x : i32[{N}] field\nplace @s : i32[{extents}] ndarray"
    body = INNER.format("i32", "%o = atomic add @s[%j, %zero], %v : i32")
    emit_program(tasks_of(parallel(body, N, places)), STRICT)
    assert set(compared) == {halves}


def test_an_update_of_an_own_element_is_no_atomic_one_unless_arrays_may_be_one_memory():
    body = "%o = atomic add @s[%i], %i : i32"
    source = "place @x : i32[300] {0}\nplace @s : i32[300] {0}"
    for kind, count in (("field", 0), ("ndarray", 1)):
        program = tasks_of(parallel(f"{body}\nstore @x[%i], %i", N, source.format(kind)))
        (shader,) = emit_program(program, STRICT).shaders
        assert [op for op, _ in instructions(shader.words)].count(Op.AtomicIAdd) == count


def test_two_arrays_may_be_one_memory():
    body = "%o = atomic add @s[%zero], %i : i32\nstore @x[%i], %i"
    assert loops_of(body, SUM.format("ndarray").replace("x : i32[300] field", "x : i32[300] ndarray")) == 1
