"""Programs as shaders: memory, atomics, random numbers, adstacks, checks; the same bits, the same words of errors."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from interpreter_kit import parallel, same_bits, serial
from programs_kit import EACH, IF, SIDES, XY, N, inputs, numbers, shapes_of_x, steps, updates
from vulkan_kit import BOTH_WAYS, POOR, STRICT, agree_on, backend, compiled, tasks_of, validate

from adstack import interpreter
from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.region import HANDLERS
from adstack.backends.codegen_spirv.rows import Rows
from adstack.backends.codegen_spirv.scalars.emitters import EMITTERS
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import AdstackError, AdstackMemoryError, AdstackOverflowError
from adstack.ir.ops import TABLE
from adstack.ir.types import ALL, by_name
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.transforms import pipeline

STRUCTURE = {"parallel_for", "yield", "return"}


def test_every_operation_that_no_row_gives_a_meaning_to_has_a_handler():
    wanted = {name for name, row in TABLE.items() if row.meaning is None and not row.transcendental}
    assert {row.name for row in HANDLERS.keys() - EMITTERS.keys()} == wanted - STRUCTURE


# ---- control flow


@pytest.mark.parametrize("yes", range(len(SIDES)))
def test_sides_of_an_if_run_where_they_should(yes):
    body = IF.format(SIDES[yes], SIDES[(yes + 1) % len(SIDES)])
    cases = [({"x": x, "y": np.full(N, 77, np.int32)}, ()) for x in shapes_of_x()]
    agree_on(parallel(f"%x = load @x[%i] : i32\n%two = const 2 : i32\n{body}", N, XY), cases)


@BOTH_WAYS
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_agree(seed, device):
    kernel = random_kernel(seed + 7000, 60, transcendentals=seed % 3 == 0)
    cases = [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, seed + 1_000_000)]
    agree_on(kernel, cases, device=device())


@BOTH_WAYS
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_agree_in_debug_mode(seed, device):
    kernel = random_kernel(seed + 600_000, 40, transcendentals=False, traps=seed % 2 == 1)
    cases = [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, 99)]
    agree_on(kernel, cases, debug=True, device=device())


@pytest.mark.parametrize("traits", [STRICT, POOR], ids=["strict", "poor"])
@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_random_programs_are_valid_spirv(traits, debug, tmp_path):
    kernels = [random_kernel(seed + 8000, 80, transcendentals=seed % 2 == 0, traps=debug) for seed in range(6)]
    programs = [pipeline.lower(kernel, Options(debug=debug)) for kernel in kernels]
    validate((s.words for p in programs for s in emit_program(p, traits, debug=debug).shaders), tmp_path)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_signs_of_zeros_survive_what_compilers_know_of_signs(dtype):
    body = f"""%x = load @x[%i] : {dtype}
    %r = sqrt %x : {dtype}
    %a = abs %r : {dtype}
    %m = neg %a : {dtype}
    %z = const -0.0 : {dtype}
    %one = const 1.0 : {dtype}
    %c = gt %x, %one : u1
    %s = select %c, %z, %a : {dtype}
    %t = abs %s : {dtype}
    %u = div %one, %t : {dtype}
    %v = div %one, %m : {dtype}
    %k = const 1 : i32
    store @y[%i, %zero], %u
    store @y[%i, %k], %v"""
    x = np.array([0.0, -0.0, 1.0, 4.0, -1.0, np.inf], dtype.replace("f", "float"))
    places = f"place @x : {dtype}[6] field\nplace @y : {dtype}[6, 2] field"
    agree_on(parallel(body, 6, places), [({"x": x, "y": np.zeros((6, 2), x.dtype)}, ())])


# ---- memory


@BOTH_WAYS
@pytest.mark.parametrize(("kind", "dtype"), EACH)
def test_atomic_updates_of_one_element_are_all_there(kind, dtype, device):
    values = "%v, %v" if kind == "cas" else "%v"
    text = updates(kind, dtype).replace("], %v :", f"], {values} :")
    same = {"x": np.ones(131, by_name(dtype).numpy), "sum": numbers("add", dtype, 2)}
    inputs = same if kind in ("xchg", "cas") else {"x": numbers(kind, dtype, 131), "sum": numbers(kind, dtype, 2)}
    agree_on(text, [(inputs, [131])], device=device())


@pytest.mark.parametrize("dtype", [t for t in ALL if not t.is_bool], ids=str)
def test_random_numbers_are_those_of_the_interpreter(dtype):
    body = f"%a = random : {dtype}\n%b = random : {dtype}\n%one = const 1 : i32\nstore @y[%i, %zero], %a\n"
    program = tasks_of(parallel(f"{body}store @y[%i, %one], %b", 70, f"place @y : {dtype}[70, 2] field"))
    device = backend()
    executable = device.compile(program, Options(random_seed=5))
    storage = device.allocate(dtype, (70, 2))
    for _ in range(2):
        device.launch(executable, (), Bindings({"y": storage}, {"y": (70, 2)}))
        theirs = np.zeros((70, 2), dtype.numpy)
        interpreter.run(program, {"y": theirs}, options=interpreter.RunOptions(seed=5, launch=device.launches))
        assert same_bits(device.download(storage), theirs)
    device.free(storage)


@pytest.mark.parametrize("length", [3, 300])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_local_arrays_are_zeroed_whenever_they_are_made(dtype, length):
    """Their last three elements, of short and of long ones."""
    body = f"""%three = const 3 : i32
    %first = const {length - 3} : i32
    for %j = %zero to %three {{
      %a = array.alloc : array<{dtype}, {length}>
      %k = add %first, %j : i32
      %old = array.load %a, %k : {dtype}
      %x = load @x[%i] : {dtype}
      array.store %a, %k, %x
      %new = array.load %a, %k : {dtype}
      %same = eq %old, %new : u1
      store @y[%i, %j], %same
      yield
    }}"""
    places = f"place @x : {dtype}[5] field\nplace @y : u1[5, 3] field"
    x = np.array([0, 1, 0, 1, 1]).astype(dtype.numpy)
    agree_on(parallel(body, 5, places), [({"x": x, "y": np.zeros((5, 3), np.bool_)}, ())])


# ---- adstacks


@pytest.mark.parametrize("capacity", [40, 3, 1, 0, None])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_the_machine_does_what_the_definition_says(dtype, capacity):
    places = f"place @c : i32[?] field\nplace @y : {dtype}[?, 40] field"
    operand = f"const {capacity}" if capacity is not None else "load @c[%i]"
    head = f"%c = {operand} : i32\n%s = stack.alloca %c : stack<{dtype}>\n"
    text = parallel(head + steps(Random(capacity or 7), dtype.name, 40), 6, places)
    agree_on(text, [(inputs(dtype, [40, 0, 1, -1, 3, 2]), ())])


COUNTED = """%c = const {capacity} : i32
    %s = stack.alloca %c : stack<{dtype}>
    %r = stack.alloca %c : stack<u1>
    %deep = load @n[%i] : i32
    for %j = %zero to %deep {{
      %v = cast %j : {dtype}
      stack.put %s, %j, %v
      %odd = const true : u1
      stack.put %r, %j, %odd
      yield
    }}
    for %k = %zero to %deep {{
      %w = stack.get %s, %k : {dtype}
      %q = stack.get %r, %k : u1
      %z = cast %q : {dtype}
      %t = select %q, %w, %z : {dtype}
      store @y[%i, %k], %t
      yield
    }}"""


def counted(dtype: str, capacity: int, lanes: int = 300) -> str:
    places = f"place @n : i32[{lanes}] field\nplace @y : {dtype}[{lanes}, 9] field"
    return parallel(COUNTED.format(dtype=dtype, capacity=capacity), lanes, places)


@BOTH_WAYS
@pytest.mark.parametrize("dtype", [t for t in ALL if not t.is_bool], ids=str)
def test_adstacks_in_the_heap_keep_what_every_thread_puts(dtype, device):
    inputs = {"n": np.arange(300, dtype=np.int32) % 10, "y": np.zeros((300, 9), dtype.numpy)}
    agree_on(counted(dtype.name, 9), [(inputs, ())], device=device())


@BOTH_WAYS
@pytest.mark.parametrize("limit", [9 * 5 * 3, 9 * 5 * 100, 2000])
def test_a_small_heap_makes_fewer_threads_run(limit, device):
    launch = compiled(counted("f32", 9), ad_stack_heap_limit=limit, device=device())
    inputs = {"n": np.arange(300, dtype=np.int32) % 10, "y": np.zeros((300, 9), np.float32)}
    launch(inputs)
    want = np.where(np.arange(9) < inputs["n"][:, None], np.arange(9), 0)
    assert (inputs["y"] == want).all()


def test_a_heap_without_room_for_one_thread_is_an_error():
    inputs = {"n": np.ones(300, np.int32), "y": np.zeros((300, 9), np.float32)}
    with pytest.raises(AdstackError, match=r"the adstacks of one thread of k\.0\.parallel take"):
        compiled(counted("f32", 9), ad_stack_heap_limit=20)(inputs)


def test_an_overflow_is_raised_once_and_the_next_launch_is_clean():
    launch = compiled(counted("i64", 4))
    deep = {"n": np.arange(300, dtype=np.int32) % 10, "y": np.zeros((300, 9), np.int64)}
    with pytest.raises(AdstackOverflowError, match="a stack of capacity 4 was pushed 9 deep"):
        launch(deep)
    backend().synchronize()
    shallow = {"n": np.full(300, 4, np.int32), "y": np.zeros((300, 9), np.int64)}
    launch(shallow)
    assert shallow["y"][:, :4].tolist() == [[0, 1, 2, 3]] * 300


def test_a_capacity_that_only_the_thread_knows_may_be_small():
    body = f"%c = load @n[%i] : i32\n{COUNTED.partition(chr(10))[2]}".format(dtype="f32")
    places = "place @n : i32[300] field\nplace @y : f32[300, 9] field"
    text = parallel(body, 300, places)
    agree_on(text, [({"n": np.arange(300, dtype=np.int32) % 9, "y": np.zeros((300, 9), np.float32)}, ())])
    large = {"n": np.full(300, 65, np.int32), "y": np.zeros((300, 9), np.float32)}
    with pytest.raises(AdstackMemoryError, match="wants 65 slots, and a thread has room for 64"):
        compiled(text)(large)


class Evaluated(int):
    """A number of the shader that is known: what a thread would compute is computed."""

    def __sub__(self, other):
        return Evaluated(int(self) - other)

    def __gt__(self, other):
        return Evaluated(int(self) > other)

    def choose(self, yes, no):
        return yes if self else Evaluated(no)


@pytest.mark.parametrize("capacity", [0, 1, 2, 40])
def test_of_no_slots_the_first_is_the_last_that_is_touched(capacity):
    """Memory has room for one slot more where there are none."""
    rows = object.__new__(Rows)
    rows.heap = SimpleNamespace(groups=[SimpleNamespace(depth=0, constant=0)])
    rows._capacities = [Evaluated(capacity)]
    assert rows.last(0) == max(capacity - 1, 0)


# ---- text


def test_a_listing_shows_every_instruction():
    (shader,) = emit_program(
        tasks_of(serial("%a = const 3 : i32\nstore @x[], %a\nreturn", places="place @x : i32[] field"))
    ).shaders
    text = listing(shader.words)
    assert "OpEntryPoint 5" in text
    assert "OpStore" in text
    assert text.count("\n") == listing(shader.words).count("Op")
