"""What code objects say of their kernels: descriptors and metadata."""

from __future__ import annotations

import struct

import msgpack
import pytest
from amdgpu_kit import module_of
from interpreter_kit import parallel, read, serial

from adstack.backends.amdgpu.layout import kernels_of, metadata, metadata_in
from adstack.backends.amdgpu.toolchain import PROCESSORS, code_object
from adstack.backends.shared.elf import Object
from adstack.errors import InternalError

BOTH = read(
    parallel(
        "%v = load @x[%i] : f32\n%old = atomic add @y[%zero], %v : f32",
        1000,
        "place @x : f32[?] field\nplace @y : f32[1] field",
    )
)
LOCALS = parallel(
    "%a = array.alloc : array<i64, 100>\n%k = cast %i : i64\n%m = mod %i, %n\narray.store %a, %m, %k\n"
    "%v = array.load %a, %zero : i64\n"
    "store @x[%i], %v",
    100,
    "place @x : i64[?] field",
)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_descriptor_says_what_a_kernel_takes(processor):
    module = module_of(BOTH)
    image = code_object(module.text, processor)
    (kernel,) = kernels_of(image).values()
    described = kernel.descriptor
    assert kernel.symbol == "task0"
    assert described.words_bytes == 8 * module.size
    assert described.wave == (64 if processor in ("gfx90a", "gfx942") else 32)
    assert described.address % 64 == 0
    assert described.entry % 256 == 0
    assert (described.private_bytes, described.group_bytes, kernel.spills) == (0, 8 * 1024 // 32, 0)
    assert not described.has_dynamic_stack
    assert kernel.most_threads == 256
    assert 0 < kernel.vector_registers < 64
    mode = described.registers[0] >> 12 & 0xFF
    assert mode == 0xF0  # to the nearest, and subnormal numbers stay


def test_local_arrays_are_memory_of_the_thread():
    (kernel,) = kernels_of(code_object(module_of(LOCALS).text, "gfx1100")).values()
    assert kernel.descriptor.private_bytes >= 800


def test_serial_code_is_one_thread():
    source = serial("%one = const 1 : i32\nstore @x[], %one\nreturn", "()", "place @x : i32[] field")
    (kernel,) = kernels_of(code_object(module_of(source).text, "gfx942")).values()
    assert kernel.most_threads == 1


def test_metadata_is_what_another_reader_reads():
    image = code_object(module_of(BOTH).text, "gfx90a")
    source = Object(image)
    note = source.section(".note")
    assert note is not None
    name, size, kind = struct.unpack_from("<III", source.data(note))
    assert (name, kind) == (7, 32)
    assert metadata(image) == msgpack.unpackb(source.data(note)[12 + 8 :][:size])
    assert metadata(image)["amdhsa.target"] == "amdgcn-amd-amdhsa--gfx90a"
    assert metadata(image)["amdhsa.version"] == [1, 2]


def note_of(value: object) -> bytes:
    """A note as code objects have it."""
    packed = msgpack.packb(value)
    return struct.pack("<III", 7, len(packed), 32) + b"AMDGPU\0\0" + packed


VALUES = [0, 127, 128, 255, 65535, 65536, 1 << 40, -1, -32, -33, -200, -40000, -(1 << 40), True, False, None]


@pytest.mark.parametrize(
    "value", [*VALUES, "", "x" * 31, "x" * 40, "x" * 300, "x" * 70000, [1] * 20, [2] * 70000, {"a": {"b": [3]}}]
)
def test_every_kind_of_value_is_read(value):
    assert metadata_in(note_of({"key": value})) == {"key": value}
    many = {f"k{number}": value for number in range(20)}
    assert metadata_in(note_of(many)) == many


def test_a_value_of_another_kind_is_an_error():
    with pytest.raises(InternalError, match="kind 0xcb"):
        metadata_in(note_of({"key": 1.5}))


def test_a_note_is_found_behind_others():
    other = struct.pack("<III", 4, 5, 1) + b"GNU\0" + b"12345\0\0\0"
    assert metadata_in(other + note_of({"key": 1})) == {"key": 1}
    with pytest.raises(InternalError, match="no metadata"):
        metadata_in(other)


@pytest.mark.parametrize("at", [0, 4, 8, 16, 56])
def test_a_descriptor_that_differs_from_the_metadata_is_an_error(at):
    image = bytearray(code_object(module_of(BOTH).text, "gfx1100"))
    source = Object(bytes(image))
    (symbol,) = (symbol for symbol in source.symbols if symbol.name == "task0.kd")
    place = source.sections[symbol.section].at + symbol.value - source.sections[symbol.section].address
    image[place + at + (at == 56)] ^= 4
    with pytest.raises(InternalError, match="descriptor of task0"):
        kernels_of(bytes(image))
