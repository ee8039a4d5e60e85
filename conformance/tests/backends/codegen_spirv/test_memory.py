"""How shaders reach memory: what is declared, and that both ways reach the same elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import STRICT, agree, bound, tasks_of, validate

from adstack.backends.codegen_spirv.assembly.code import Code
from adstack.backends.codegen_spirv.assembly.module import Module
from adstack.backends.codegen_spirv.assembly.opcodes import Capability, Decoration, Op, Storage
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.memory import ByAddress, ByBinding
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.ir.types import ALL, f32, f64, i8, i32, u8, u32, u64

BOUND = replace(STRICT, addresses=False)
PLACES = "place @x : f32[5] field\nplace @y : f64[5, 2] field\nplace @n : i8[5] field"
COPY = parallel(
    "%v = load @x[%i] : f32\n%w = cast %v : f64\nstore @y[%i, %one], %w\n%b = cast %v : i8\nstore @n[%i], %b".replace(
        "%v = load", "%one = const 1 : i32\n%v = load"
    ),
    5,
    PLACES,
)


def said(words, op):
    """The operands of every such instruction."""
    return [operands for code, operands in instructions(words) if code is op]


def decorated(words, decoration):
    return {operands[0]: operands[2:] for operands in said(words, Op.Decorate) if operands[1] == decoration}


class TestByBinding:
    def shader(self):
        return emit_program(tasks_of(COPY), BOUND).shaders[-1]

    def test_every_place_has_a_binding_of_its_own_and_the_words_the_first(self):
        assert self.shader().buffers == ("words", "@x", "@y", "@n")

    def test_no_address_is_asked_for(self, tmp_path):
        shader = self.shader()
        assert Capability.PhysicalStorageBufferAddresses not in shader.capabilities
        assert not said(shader.words, Op.ConvertUToPtr)
        assert said(shader.words, Op.MemoryModel) == [[0, 1]]
        validate([shader.words], tmp_path)

    def test_what_may_be_the_same_memory_is_declared_so(self):
        words = self.shader().words
        variables = {id_ for _, id_, storage in said(words, Op.Variable) if storage == Storage.StorageBuffer}
        assert variables
        assert variables == decorated(words, Decoration.Aliased).keys()
        assert {number for (number,) in decorated(words, Decoration.Binding).values()} == {0, 1, 2, 3}
        assert {number for (number,) in decorated(words, Decoration.DescriptorSet).values()} == {0}

    def test_arrays_have_no_gaps(self):
        words = self.shader().words
        size = {id_: bits // 8 for id_, bits, *_ in said(words, Op.TypeInt) + said(words, Op.TypeFloat)}
        arrays = dict(said(words, Op.TypeRuntimeArray))
        assert {id_: [size[element]] for id_, element in arrays.items()} == decorated(words, Decoration.ArrayStride)

    def test_one_buffer_holds_elements_of_several_types(self):
        m = Module(BOUND)
        c, memory = Code(m), ByBinding()
        start = memory.of("all", c.const(64, u64))
        pointers = [start.pointer(dtype) for dtype in (f32, f64, u8, i8, i32, u32)]
        assert len(set(pointers)) == len(pointers)
        assert memory.buffers == ("all",)
        variables = said(m.words, Op.Variable)
        assert len(variables) == 4  # i8 and u8 are one type, so are i32 and u32
        assert {number for (number,) in decorated(m.words, Decoration.Binding).values()} == {0}


@pytest.mark.parametrize(("memory", "counts"), [(ByAddress(), u64), (ByBinding(), u32)], ids=["address", "binding"])
def test_where_something_is_is_counted_in_bytes_of_one_width(memory, counts):
    c = Code(Module(STRICT if counts is u64 else BOUND))
    there = memory.of("x", c.const(8, u64)) + 24
    further = there.elements(c.const(3, i32), 8) + c.const(1, u64)
    word, shift = further.word()
    assert {a.number.dtype for a in (there, further, word)} == {counts}
    assert shift.dtype is u32
    assert {a.space for a in (there, further, word)} == {there.space}


def test_by_address_nothing_is_bound():
    shader = emit_program(tasks_of(COPY), STRICT).shaders[-1]
    assert shader.buffers == ()
    assert Capability.PhysicalStorageBufferAddresses in shader.capabilities
    assert not decorated(shader.words, Decoration.Binding)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_elements_of_every_width_are_where_they_should(dtype):
    places = f"place @x : {dtype}[7, 3] field\nplace @y : {dtype}[3, 7] field"
    body = (
        f"%one = const 1 : i32\n%two = const 2 : i32\n%v = load @x[%i, %two] : {dtype}\nstore @y[%one, %i], %v\n"
        f"%w = load @x[%i, %zero] : {dtype}\nstore @y[%two, %i], %w"
    )
    x = (np.arange(21).reshape(7, 3) % 2 + (0 if dtype.is_bool else np.arange(21).reshape(7, 3))).astype(dtype.numpy)
    agree(parallel(body, 7, places), {"x": x, "y": np.zeros((3, 7), dtype.numpy)}, device=bound())


def test_both_ways_agree_on_the_same_program():
    inputs = {"x": np.linspace(-3, 90, 5, dtype=np.float32), "y": np.zeros((5, 2)), "n": np.zeros(5, np.int8)}
    left = [agree(COPY, {k: v.copy() for k, v in inputs.items()}, device=device) for device in (None, bound())]
    assert str(left[0]) == str(left[1])
