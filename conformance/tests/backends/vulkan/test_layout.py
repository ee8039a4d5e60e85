"""Memory of a Vulkan device: pieces of blocks, given back when the device is done with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vulkan_kit import backend

from adstack.backends.vulkan.layout import ALIGNMENT, Block
from adstack.ir.types import ALL, f32


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=60))
@settings(deadline=None)
def test_what_is_taken_is_never_taken_twice_and_all_comes_back(steps):
    block, held = Block(None, None, 100, 0, None, [(0, 100)]), []
    for takes, number in steps:
        if takes:
            offset = block.take(number)
            if offset is not None:
                assert all(offset + number <= at or at + size <= offset for at, size in held)
                held.append((offset, number))
        elif held:
            block.give(*held.pop(number % len(held)))
        assert sum(size for _, size in block.free) + sum(size for _, size in held) == 100
    for piece in held:
        block.give(*piece)
    assert block.free == [(0, 100)]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_pieces_are_aligned_and_hold_what_is_written(dtype):
    device = backend()
    piece = device.allocate(dtype, (3, 5))
    assert piece.address % ALIGNMENT == 0
    values = (np.arange(15).reshape(3, 5) % 2).astype(dtype.numpy)
    device.upload(piece, values)
    assert (device.download(piece) == values).all()
    device.free(piece)


def test_memory_that_a_batch_under_way_may_use_is_not_given_out():
    device = backend()
    piece = device.allocate(f32, (64,))
    device.stream.words(64)  # something is being recorded
    piece.batch = device.stream.batch
    device.free(piece)
    other = device.allocate(f32, (64,))
    assert (other.block, other.offset) != (piece.block, piece.offset)
    device.synchronize()
    again = device.allocate(f32, (64,))
    assert (again.block, again.offset) == (piece.block, piece.offset)
    device.free(again)
    device.free(other)


def test_a_large_block_goes_back_to_the_device():
    device = backend()
    before = device.memory.taken
    piece = device.allocate(f32, (1 << 24,))
    assert device.memory.taken >= before + (64 << 20)
    device.free(piece)
    assert device.memory.taken == before
