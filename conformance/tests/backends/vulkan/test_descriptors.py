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
    a, b = (memory._take(SMALL, "visible") for _ in range(2))
    both = sets.of((a, b))
    assert sets.of((a, b)) is both
    assert len({sets.of(blocks) for blocks in ((a, b), (b, a), (a, a), (a,))}) == 4
    for block in (a, b):
        memory._drop(block)


def test_pools_grow_as_more_sets_are_wanted(memory, sets):
    blocks = [memory._take(SMALL, "visible") for _ in range(5)]
    pairs = [(a, b) for a in blocks for b in blocks]
    found = {sets.of(pair) for pair in pairs}
    assert len(found) == 25
    assert {sets.of(pair) for pair in pairs} == found
    assert sets._pools == {2: 32}  # one of 16, then one of 32
    for block in blocks:
        memory._drop(block)


def test_sets_go_with_any_of_their_blocks_and_are_written_anew(memory, sets):
    a, b, c = (memory._take(SMALL, "visible") for _ in range(3))
    one, other = sets.of((a, b)), sets.of((b, b))
    memory._drop(a)
    assert sets.of((b, b)) is other
    assert sets.of((c, b)) is one
    memory._drop(b)
    memory._drop(c)
    assert not sets._made
    assert not sets._users
    assert len(sets._spare[2]) == 16


def test_nothing_is_left_in_a_block_that_stays(memory, sets):
    stays = memory._take(SMALL, "visible")
    for _ in range(40):
        goes = memory._take(SMALL, "visible")
        sets.of((stays, goes))
        memory._drop(goes)
    assert len(stays.ends) == 1
    assert sets._users == {stays: set()}
    assert sets._pools == {2: 16}
    memory._drop(stays)


def test_a_layout_is_made_once_for_a_number_of_buffers(sets):
    assert sets.layout(3) is sets.layout(3)
    assert sets.layout(3) is not sets.layout(4)
