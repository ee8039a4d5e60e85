"""Every pure operation has an emitter; what it emits is valid SPIR-V and gives the interpreter's bits."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from programs_kit import PURE, SIZE, instances, interesting
from vulkan_kit import POOR, STRICT, agree, backend, validate

from adstack.backends.codegen_spirv.assembly.text import listing
from adstack.backends.codegen_spirv.scalars.emitters import EMITTERS
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.structure import Place, Program, Region, Task, Value
from adstack.ir.types import i32

FLOATS = ("fma", "div", "sqrt", "cast", "add", "mul", "floor", "round")
ORDERS = ("lt", "le", "gt", "ge", "eq", "ne", "max", "min")


def program_of(name: str) -> Program:
    """All instances of an operation in one parallel loop: x<k>.<j> are the operands of the k-th, y<k> its results."""
    places: dict[str, Place] = {}
    body = Region([Value(i32)])
    b = Builder(body)
    for k, (types, to) in enumerate(instances(name)):
        operands: list[Value] = []
        for j, dtype in enumerate(types):
            places[f"x{k}.{j}"] = place = Place(f"x{k}.{j}", dtype, (SIZE,))
            operands.append(b.load(place, body.args))
        attrs = {"to": to} if "to" in TABLE[name].attrs else {}
        places[f"y{k}"] = result = Place(f"y{k}", to, (SIZE,))
        b.store(result, body.args, b.emit(TABLE[name], *operands, **attrs))
    b.yield_()
    task = Task(f"{name}.parallel", Region(), "parallel")
    b = Builder(task.body)
    b.parallel_for([(b.const(0, i32), b.const(SIZE, i32))], body)
    b.return_()
    return Program(name, [task], places)


def buffers_of(program: Program) -> dict[str, np.ndarray]:
    return {
        place.name: interesting(place.dtype, seed) if place.name.startswith("x") else np.zeros(SIZE, place.dtype.numpy)
        for seed, place in enumerate(program.places.values())
    }


def test_every_pure_operation_has_an_emitter_and_none_has_one_in_vain():
    assert sorted(row.name for row in EMITTERS) == PURE


@pytest.mark.parametrize("name", PURE)
def test_the_device_gives_the_interpreters_bits(name):
    program = program_of(name)
    agree(program, buffers_of(program))


@pytest.mark.parametrize("name", FLOATS)
def test_a_device_that_rounds_as_it_likes_gives_them_too(name):
    program = program_of(name)
    device = backend(fma32=False, fma64=False, div32=False, sqrt32=False, half=False)
    agree(program, buffers_of(program), device=device)


@pytest.mark.parametrize("name", [*FLOATS, *ORDERS])
def test_a_device_that_takes_subnormal_numbers_for_zeros_gives_them_too(name):
    program = program_of(name)
    flags = {"half_kept": False, "order32": False, "order64": False, "widen": False}
    for roots in (True, False):
        device = backend(**flags, div32=roots, sqrt32=roots)
        agree(program, buffers_of(program), device=device)


def test_an_fma_that_flushes_is_used_for_what_it_does_right(tmp_path):
    program = program_of("fma")
    (strict,) = emit_program(program, dataclasses.replace(STRICT, fma32=False, fma32_normal=False)).shaders
    unfused = listing(strict.words).count("OpExtInst ")  # of f64
    for flushes, used in ((True, True), (False, False)):
        traits = dataclasses.replace(STRICT, fma32=False, fma32_normal=flushes)
        (shader,) = emit_program(program, traits).shaders
        assert (listing(shader.words).count("OpExtInst ") > unfused) is used
        validate([shader.words], tmp_path)


def test_remainders_of_negative_numbers_are_not_left_to_the_device():
    shaders = emit_program(program_of("mod"), STRICT).shaders + emit_program(program_of("raw_mod"), STRICT).shaders
    assert not any("OpSRem" in listing(shader.words) or "OpSMod" in listing(shader.words) for shader in shaders)


@pytest.mark.parametrize("traits", [STRICT, POOR], ids=["strict", "poor"])
def test_what_is_emitted_is_valid(traits, tmp_path):
    shaders = itertools.chain.from_iterable(emit_program(program_of(name), traits).shaders for name in PURE)
    validate((shader.words for shader in shaders), tmp_path)
