"""Descriptor sets: made when blocks first meet, found again, gone with a block."""

from __future__ import annotations

import pytest
from vulkan_kit import bound

from adstack.backends.vulkan.descriptors import Sets

SMALL = 256


@pytest.fixture
def memory():
    return bound().memory


@pytest.fixture
def sets():
    return Sets(bound().device)


def test_the_same_blocks_have_one_set_and_their_order_matters(memory, sets):
    a, b = (memory.take_block(SMALL, "visible") for _ in range(2))
    both = sets.of((a, b))
    assert sets.of((a, b)) is both
    assert len({sets.of(blocks) for blocks in ((a, b), (b, a), (a, a), (a,))}) == 4
    for block in (a, b):
        memory.drop_block(block)


def test_pools_grow_as_more_sets_are_wanted(memory, sets):
    blocks = [memory.take_block(SMALL, "visible") for _ in range(5)]
    pairs = [(a, b) for a in blocks for b in blocks]
    first = {sets.of(pair) for pair in pairs}
    assert len(first) == 25
    assert {sets.of(pair) for pair in pairs} == first
    assert (sets.in_use(), sets.spare(2)) == (25, 16 + 32 - 25)
    for block in blocks:
        memory.drop_block(block)


def test_sets_go_with_any_of_their_blocks_and_are_written_anew(memory, sets):
    a, b, c = (memory.take_block(SMALL, "visible") for _ in range(3))
    one, other = sets.of((a, b)), sets.of((b, b))
    memory.drop_block(a)
    assert sets.of((b, b)) is other
    assert sets.of((c, b)) is one
    memory.drop_block(b)
    memory.drop_block(c)
    assert (sets.in_use(), sets.spare(2)) == (0, 16)


def test_nothing_is_left_in_a_block_that_stays(memory, sets):
    stays = memory.take_block(SMALL, "visible")
    for _ in range(40):
        goes = memory.take_block(SMALL, "visible")
        sets.of((stays, goes))
        memory.drop_block(goes)
    assert len(stays.ends) == 1
    assert (sets.in_use(), sets.spare(2)) == (0, 16)
    memory.drop_block(stays)


def test_a_layout_is_made_once_for_a_number_of_buffers(sets):
    assert sets.layout(3) is sets.layout(3)
    assert sets.layout(3) is not sets.layout(4)
