"""Programs as source of the Metal Shading Language, compiled by clang: the same bits, the same words of errors."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel, read
from metal_kit import agree_on, text_of
from programs_kit import IF, PURE, SIDES, SIZE, XY, N, instances, interesting, shapes_of_x

from adstack.backends.codegen_msl.region import HANDLERS
from adstack.backends.codegen_msl.scalars import EMITTERS
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import BackendUnavailableError
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.structure import Place, Program, Region, Task, Value
from adstack.ir.types import ALL, INTS, f64, i32

STRUCTURE = {"parallel_for", "yield", "return"}
TYPES = [dtype for dtype in ALL if dtype is not f64]
NARROW = [dtype for dtype in TYPES if dtype.bits <= 32]
SUMS = [dtype for dtype in INTS if dtype.bits <= 32]


def test_every_operation_has_an_emitter_or_a_handler():
    wanted = {name for name, row in TABLE.items() if row.meaning is None and not row.transcendental}
    assert sorted(row.name for row in EMITTERS) == PURE
    assert {row.name for row in HANDLERS.keys() - EMITTERS.keys()} == wanted - STRUCTURE


def program_of(names: list[str]) -> Program:
    """All instances of operations, but those on f64, in one parallel loop: y is what comes out, x what goes in."""
    places: dict[str, Place] = {}
    body = Region([Value(i32)])
    b = Builder(body)
    cases = [(name, types, to) for name in names for types, to in instances(name) if f64 not in (*types, to)]
    for k, (name, types, to) in enumerate(cases):
        operands = []
        for j, dtype in enumerate(types):
            places[f"x{k}.{j}"] = place = Place(f"x{k}.{j}", dtype, (SIZE,))
            operands.append(b.load(place, body.args))
        attrs = {"to": to} if "to" in TABLE[name].attrs else {}
        places[f"y{k}"] = result = Place(f"y{k}", to, (SIZE,))
        b.store(result, body.args, b.emit(TABLE[name], *operands, **attrs))
    b.yield_()
    task = Task("operations.parallel", Region(), "parallel")
    b = Builder(task.body)
    b.parallel_for([(b.const(0, i32), b.const(SIZE, i32))], body)
    b.return_()
    return Program("operations", [task], places)


@pytest.mark.parametrize("part", range(4))
def test_operations_give_the_interpreters_bits(part):
    program = program_of(PURE[part::4])
    buffers = {
        place.name: interesting(place.dtype, seed) if place.name.startswith("x") else np.zeros(SIZE, place.dtype.numpy)
        for seed, place in enumerate(program.places.values())
    }
    agree_on(program, [(buffers, ())])


def test_sides_of_an_if_run_where_they_should():
    body = IF.format(SIDES[2], SIDES[3])
    cases = [({"x": x, "y": np.full(N, 77, np.int32)}, ()) for x in shapes_of_x()]
    agree_on(parallel(f"%x = load @x[%i] : i32\n%two = const 2 : i32\n{body}", N, XY), cases)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_agree(seed):
    kernel = random_kernel(seed + 5000, 60, seed % 2 == 0, types=TYPES if seed < 2 else NARROW, sums=SUMS)
    agree_on(kernel, [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, seed + 1_000_000)])


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_agree_in_debug_mode(seed):
    kernel = random_kernel(seed + 600_000, 40, False, traps=seed % 2 == 1, types=NARROW, sums=SUMS)
    agree_on(kernel, [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, 99)], debug=True)


def test_what_a_loop_carries_changes_at_once():
    text = parallel(
        """%x = load @x[%i] : i32
        %p, %q = for %k = %zero to %x carry (%a = %i, %b = %x) {
          yield %b, %a
        }
        %s = sub %p, %q : i32
        store @y[%i], %s""",
        N,
        XY,
    )
    agree_on(text, [({"x": x, "y": np.zeros(N, np.int32)}, ()) for x in shapes_of_x()])


def test_the_text_keeps_the_names_of_the_program():
    text = text_of(read(parallel("%speed = load @x[%i] : i32\nstore @y[%i], %speed", N, XY)))
    assert "const int speed = x[i];" in text
    assert "y[i] = speed;" in text
    assert "device int* const y = launch.at_y;" in text


def test_short_integers_stand_where_they_are_used():
    body = "%x = load @x[%i] : i32\n%two = const 2 : i32\n" + IF.format("", "")
    text = text_of(parallel(body, N, XY))
    assert "if (x_1 > 2) {" in text
    assert "y[i] = sub(a, b);" in text


WIDE = "place @x : i64[?] field\nplace @wide : i64[] field"
REFUSED = {
    "f64 can't be computed": "%d = cast %i : f64\n%s = cast %d : i32\nstore @y[%i], %s",
    "an atomic max of i64 in field wide": "%w = cast %i : i64\n%o = atomic max @wide[], %w : i64\nstore @x[%i], %o",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_language_can_not_say_is_refused(what):
    with pytest.raises(BackendUnavailableError, match=what):
        text_of(parallel(REFUSED[what], N, f"{WIDE}\nplace @y : i32[?] field"))


def test_sums_of_64_bits_are_made_of_two_of_32():
    body = "%w = cast %i : i64\n%x = load @x[%w] : i64\n%k = and %w, %one : i64\n%o = atomic add @y[%k], %x : i64"
    text = parallel(f"%one = const 1 : i64\n{body}", 300, "place @x : i64[?] field\nplace @y : i64[?] field")
    x = np.random.default_rng(1).integers(-(2**62), 2**62, 300)
    agree_on(text, [({"x": x, "y": np.array([2**62, -1], np.int64)}, ())])
