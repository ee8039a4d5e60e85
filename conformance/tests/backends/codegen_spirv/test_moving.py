"""Addresses that are carried from iteration to iteration of short loops are those of the elements."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import STRICT, agree_on, backend, bound, shared_of, tasks_of

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.subscripts import without_constants
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.backends.vulkan.runtime import VulkanBackend
from adstack.ir.ops import LOAD

ROWS, COLUMNS = 9, 11
PLACES = f"""place @a : f32[{ROWS}, {COLUMNS}] field
place @y : f32[{ROWS}] field
place @from : i32[{ROWS}] field
place @to : i32[{ROWS}] field
place @at : i32[{ROWS}] field"""
SUM = """
      %one = const 1 : i32
      %two = const 2 : i32
      %none = const 0.0 : f32
      %lo = load @from[%i] : i32
      %hi = load @to[%i] : i32
      %j = load @at[%i] : i32
      %sum = for %k = %lo to %hi carry (%s = %none) {{
{}
        yield %t
      }}
      store @y[%i], %sum"""
LOADS = {
    "a row": "%v = load @a[%i, %k] : f32\n%t = add %s, %v : f32",
    "a column": "%v = load @a[%k, %i] : f32\n%t = add %s, %v : f32",
    "the diagonal": "%v = load @a[%k, %k] : f32\n%t = add %s, %v : f32",
    "neighbours": """%next = add %k, %two : i32
        %last = sub %k, %one : i32
        %v = load @a[%k, %next] : f32
        %w = load @a[%k, %last] : f32
        %x = load @a[%next, %two] : f32
        %u = sub %v, %w : f32
        %r = mul %u, %x : f32
        %t = add %s, %r : f32""",
    "what the loop has loaded": """%m = load @at[%k] : i32
        %v = load @a[%m, %k] : f32
        %t = add %s, %v : f32""",
    "backwards": """%back = sub %j, %k : i32
        %v = load @a[%i, %back] : f32
        %t = add %s, %v : f32""",
    "what is stored": """%v = load @a[%i, %k] : f32
        %t = add %s, %v : f32
        store @a[%i, %k], %t""",
}


def memory(seed: int, least: int, most: int) -> dict[str, np.ndarray]:
    """Numbers, and bounds of loops of which all elements, and their neighbours, are inside."""
    draw = np.random.default_rng(seed)
    start, end = draw.integers(least, most, (2, ROWS)).astype(np.int32)
    a, y = draw.random((ROWS, COLUMNS), np.float32), np.zeros(ROWS, np.float32)
    return {"a": a, "y": y, "from": start, "to": end, "at": np.full(ROWS, most, np.int32)}


def unrolling(device: VulkanBackend) -> VulkanBackend:
    """A device that is given code for one of its own, where short loops are unrolled."""
    shared = shared_of(device)
    traits = dataclasses.replace(shared.traits, threads=1024, endless=True)
    return VulkanBackend(device.capabilities, dataclasses.replace(shared, traits=traits))


@pytest.mark.parametrize("device", [backend, bound], ids=["by-address", "by-binding"])
@pytest.mark.parametrize("loads", LOADS)
def test_sums_are_those_of_the_interpreter(loads, device):
    program = tasks_of(parallel(SUM.format(LOADS[loads]), ROWS, PLACES))
    agree_on(program, [(memory(seed, 1, 7), ()) for seed in range(4)], device=unrolling(device()))


def test_elements_outside_are_not_reached():
    """Checks look at subscripts, as they are where nothing is carried."""
    program = tasks_of(parallel(SUM.format(LOADS["a column"]), ROWS, PLACES), debug=True)
    outside = memory(1, 1, 7) | {"to": np.full(ROWS, ROWS + 2, np.int32)}
    agree_on(program, [(outside, ())], debug=True, device=unrolling(backend()))


@pytest.mark.parametrize(
    ("loads", "carried"), [("a row", 1), ("neighbours", 2), ("what the loop has loaded", 1), ("backwards", 0)]
)
def test_addresses_are_carried_where_they_move_by_a_fixed_number_of_bytes(loads, carried):
    assert carried_values(LOADS[loads]) - carried_values("%t = add %s, %none : f32") == carried


def carried_values(body: str) -> int:
    """How many values the loop of what is left carries, and with it the one ahead of it."""
    program = tasks_of(parallel(SUM.format(body), ROWS, PLACES))
    text = listing(emit_program(program, STRICT).shaders[0].words)
    return text.count("OpPhi") // 4


NARROW = """
      %zero = const 0 : i32
      %most = const 250 : u8
      %k = cast %i : u8
      %j = add %k, %most : u8
      %v = load @a[%zero, %j] : f32
      store @y[%i], %v"""


@pytest.mark.parametrize("device", [backend, bound], ids=["by-address", "by-binding"])
def test_a_constant_in_a_narrow_subscript_wraps_around_with_it(device):
    """The sum of a u8 and 250 is 6 less; an address would be 250 elements further on."""
    source = parallel(NARROW, 15, "place @a : f32[1, 9] field\nplace @y : f32[15] field")
    from_6_on = source.replace("%zero = const 0 : i32", "%six = const 6 : i32", 1).replace("%i = %zero", "%i = %six")
    numbers = {"a": np.arange(9, dtype=np.float32).reshape(1, 9), "y": np.zeros(15, np.float32)}
    agree_on(from_6_on, [(numbers, ())], device=device())


def test_neighbours_differ_by_what_is_added_to_their_address():
    body = """
      %one = const 1 : i32
      %up = add %i, %one : i32
      %v = load @a[%up, %one] : f32
      %w = load @a[%i, %zero] : f32
      %t = add %v, %w : f32
      store @a[%zero, %i], %t"""
    loads = [op for op in tasks_of(parallel(body, 5, PLACES)).tasks[0].body.walk() if op.opdef is LOAD]
    (up, far), (here, near) = (without_constants(op.attrs["place"], op.operands) for op in loads)
    assert up == here
    assert far - near == 4 * (COLUMNS + 1)


def test_subscripts_of_unknown_or_huge_extents_keep_their_constants():
    """Where an extent is 2^31, or may be, a sum that wraps around may be an element."""
    body = "%one = const 1 : i32\n%up = add %i, %one : i32\n%v = load @a[%up] : u8\nstore @a[%i], %v"
    for extent in (1 << 31, "?"):
        kind = "ndarray" if extent == "?" else "field"
        program = tasks_of(parallel(body, 5, f"place @a : u8[{extent}] {kind}"))
        (load,) = (op for op in program.tasks[0].body.walk() if op.opdef is LOAD)
        assert without_constants(load.attrs["place"], load.operands) == (load.operands, 0)
