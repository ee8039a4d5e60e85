"""Objects for aarch64 are linked for an address, or it is said what is missing."""

from __future__ import annotations

import struct

import pytest

from adstack.backends.qemu.guest import object_of
from adstack.backends.qemu.objects import link, room
from adstack.errors import InternalError

TEXT = """
declare i64 @elsewhere(i64)
@word = internal global i64 0
@far = global ptr @word
define i64 @run(i64 %a, i64 %b) {
  %x = call i64 @elsewhere(i64 %a)
  %y = load i64, ptr @word
  %s = add i64 %x, %y
  ret i64 %s
}
"""
BASE = 0x2000_1000_0000
CALL26 = 283


def test_code_and_data_stand_where_they_are_linked_for():
    image = object_of(TEXT, None)
    linked = link(image, BASE, {"elsewhere": 0x1234_5678_9ABC})
    assert set(linked.symbols) == {"run", "far"}
    assert all(BASE <= at < BASE + len(linked.data) for at in linked.symbols.values())
    (target,) = struct.unpack_from("<Q", linked.data, linked.symbols["far"] - BASE)
    assert BASE <= target < BASE + len(linked.data)
    assert struct.pack("<Q", 0x1234_5678_9ABC) in linked.data, (
        "a call of something far goes over a word with its address"
    )
    assert len(linked.data) <= room(image)


def test_what_is_not_there_is_named():
    with pytest.raises(InternalError, match="needs elsewhere, which is not there"):
        link(object_of(TEXT, None), BASE, {})


def test_a_relocation_that_is_not_known_is_an_error():
    image = bytearray(object_of(TEXT, None))
    (call,) = [
        at for at in range(len(image) - 24) if struct.unpack_from("<I", image, at)[0] == 283 and image[at + 7] == 0
    ]
    struct.pack_into("<I", image, call, 999)
    with pytest.raises(InternalError, match="relocation of kind 999"):
        link(bytes(image), BASE, {"elsewhere": BASE})
