"""Code objects: what is linked, where it stands, and what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace

import llvmlite.binding as llvm
import pytest
from amdgpu_kit import module_of
from interpreter_kit import parallel, read

from adstack.backends.amdgpu.linker import MACHINE, linked
from adstack.backends.amdgpu.threads import ARENA
from adstack.backends.amdgpu.toolchain import PROCESSORS, code_object
from adstack.backends.shared.elf import ALLOCATED, EXECUTABLE, WRITABLE, Object, Relocation
from adstack.errors import InternalError

SINES = parallel(
    "%v = load @x[%i] : f32\n%s = sin %v : f32\nstore @x[%i], %s",
    100,
    "place @x : f32[?] field",
)
"""Far from zero a sine calls a function, so that code refers to code."""


def object_of(text: str, processor: str = "gfx1100") -> bytes:
    """A relocatable object of a text in LLVM IR."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=processor, opt=1)
    head = f'target triple = "amdgcn-amd-amdhsa"\ntarget datalayout = "{machine.target_data}"\n'
    image: bytes = machine.emit_object(llvm.parse_assembly(head + text, context=llvm.create_context()))
    return image


VARIABLES = """
@counter = protected addrspace(1) global i64 7, align 8
@zeros = protected addrspace(1) global [100 x i64] zeroinitializer, align 256
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %at) {
  %from = getelementptr i32, ptr addrspace(4) @table, i32 %at
  %v = load i32, ptr addrspace(4) %from
  store i32 %v, ptr addrspace(1) %out
  store i64 3, ptr addrspace(1) @counter
  store i64 4, ptr addrspace(1) getelementptr (i64, ptr addrspace(1) @zeros, i64 99)
  ret void
}
"""


def segments_of(image: bytes) -> list[tuple[int, ...]]:
    """The program headers: kind, flags, offset, address, physical address, bytes of the file, of memory, alignment."""
    (start,), (size, count) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<HH", image, 54)
    return [struct.unpack_from("<IIQQQQQQ", image, start + size * k) for k in range(count)]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_code_object_is_a_shared_object_of_the_processor(processor):
    image = code_object(module_of(read(SINES)).text, processor)
    source = Object(image)
    assert (source.kind, source.machine) == (3, MACHINE)
    assert image[7:9] == bytes([64, 3])  # the ABI of HSA, in the version that goes with metadata of version 5
    marks = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx1030": 0x36, "gfx1100": 0x41, "gfx1201": 0x4E}
    assert source.flags & 0xFF == marks[processor]
    assert [symbol.name for symbol in source.symbols] == ["", "task0", "task0.kd"]


def test_sections_stand_where_segments_load_them():
    source = Object(image := linked(object_of(VARIABLES)))
    kinds = {4: ALLOCATED, 5: ALLOCATED | EXECUTABLE, 6: ALLOCATED | WRITABLE}
    loads = [segment for segment in segments_of(image) if segment[0] == 1]
    assert [segment[1] for segment in loads] == [4, 5, 6]
    for section in source.sections:
        if section.flags & ALLOCATED:
            (inside,) = (s for s in loads if s[3] <= section.address < s[3] + s[6])
            assert kinds[inside[1]] == section.flags
            assert section.address + section.size <= inside[3] + inside[6]
            assert section.at - section.address == inside[2] - inside[3]
            assert section.address % section.alignment == 0
    pages = [segment[3] // 4096 for segment in loads]
    assert len({*pages}) == 3  # none shares a page with another, which has other rights


def test_variables_have_their_values_and_take_no_room_in_the_file_where_these_are_zero():
    source = Object(image := linked(object_of(VARIABLES)))
    symbols = {symbol.name: symbol for symbol in source.symbols}
    data, zeros = source.sections[symbols["counter"].section], source.sections[symbols["zeros"].section]
    at = data.at + symbols["counter"].value - data.address
    assert struct.unpack_from("<Q", image, at) == (7,)
    assert zeros.is_empty
    assert symbols["zeros"].value % 256 == 0
    *_, writes = (segment for segment in segments_of(image) if segment[0] == 1)
    assert writes[6] - writes[5] >= 800


def test_what_code_refers_to_is_where_it_says():
    """An address is that of the instruction behind s_getpc, and a distance: the literals of the two additions."""
    before = Object(raw := object_of(VARIABLES))
    source = Object(image := linked(raw))
    code = source.section(".text")
    assert code is not None
    text, addresses = source.data(code), {symbol.name: symbol.value for symbol in source.symbols}
    table = source.section(".rodata.cst16") or source.section(".rodata")
    assert table is not None
    seen = {}
    for _, relocation in before.relocations():
        if relocation.kind == 10:
            symbol = before.symbols[relocation.symbol]
            low, high = (struct.unpack_from("<I", text, relocation.offset + far)[0] for far in (0, 8))
            after = code.address + relocation.offset - 4  # s_getpc gives what comes behind it: the first addition
            seen[symbol.name] = (after + (high << 32 | low)) & (1 << 64) - 1
    assert seen["counter"] == addresses["counter"]
    assert seen["zeros"] == addresses["zeros"] + 792 or seen["zeros"] == addresses["zeros"]
    assert len(seen) == 3
    (constants,) = seen.keys() - {"counter", "zeros"}
    held = next(
        section for section in source.sections if section.address <= seen[constants] < section.address + section.size
    )
    offset = held.at + seen[constants] - held.address
    assert struct.unpack_from("<4I", image, offset) == (1, 2, 3, 4)


def dynamic_of(image: bytes) -> dict[int, int]:
    """What the loader looks for, by its tag."""
    source = Object(image)
    section = source.section(".dynamic")
    assert section is not None
    return dict(struct.iter_unpack("<QQ", source.data(section)))


def test_a_loader_finds_every_symbol_by_its_name():
    """By the table of hashes, which has one chain, and the tables that it is about."""
    image = linked(object_of(VARIABLES))
    entries = dynamic_of(image)
    symbols, strings, hashes = entries[6], entries[5], entries[4]  # addresses, which are offsets here
    buckets, count, at = struct.unpack_from("<III", image, hashes)
    assert buckets == 1
    names = []
    while at:
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", image, symbols + 24 * at)
        start = strings + name
        names.append((image[start : image.index(b"\0", start)].decode(), value))
        (at,) = struct.unpack_from("<I", image, hashes + 12 + 4 * at)
    source = Object(image)
    assert sorted(names) == sorted((symbol.name, symbol.value) for symbol in source.symbols[1:])
    assert count == len(source.symbols)


def test_memory_that_tasks_take_is_a_variable_that_the_host_sets():
    text = module_of(TAKING).text
    assert ARENA in text
    names = [symbol.name for symbol in Object(code_object(text, "gfx942")).symbols]
    assert ARENA in names
    assert ARENA not in [symbol.name for symbol in Object(code_object(module_of(read(SINES)).text, "gfx942")).symbols]


TAKING = parallel(
    "%a = array.alloc : array<i64, 100000>\n%k = cast %i : i64\narray.store %a, %i, %k\n"
    "%v = array.load %a, %zero : i64\n"
    "store @x[%i], %v",
    10,
    "place @x : i64[?] field",
)


def test_what_is_not_there_is_an_error_with_its_name():
    text = "declare void @elsewhere()\ndefine amdgpu_kernel void @k() {\n  call void @elsewhere()\n  ret void\n}\n"
    with pytest.raises(InternalError, match="elsewhere"):
        linked(object_of(text))


def test_a_relocation_that_is_not_known_is_an_error(monkeypatch):
    image, source = object_of(VARIABLES), Object(object_of(VARIABLES))
    changed = [(number, Relocation(one.offset, 3, one.symbol, one.addend)) for number, one in source.relocations()]
    monkeypatch.setattr(Object, "relocations", lambda self: iter(changed))
    with pytest.raises(InternalError, match="a relocation of kind 3"):
        linked(image)


def test_a_section_of_a_kind_that_is_not_known_is_an_error(monkeypatch):
    image = object_of(VARIABLES)
    sections = [replace(section, flags=section.flags | 0x400) for section in Object(image).sections]
    monkeypatch.setattr("adstack.backends.amdgpu.linker.Object", lambda image: with_sections(Object(image), sections))
    with pytest.raises(InternalError, match="flags 0x40"):
        linked(image)


def with_sections(source: Object, sections: list) -> Object:
    source.sections = sections
    return source


def test_an_object_for_another_machine_is_refused():
    image = bytearray(object_of(VARIABLES))
    struct.pack_into("<H", image, 18, 62)
    with pytest.raises(InternalError, match="machine 62"):
        linked(bytes(image))
