"""Who wants to hear of writes to a buffer, and what is known of writes of which nobody wanted to hear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import adstack as qd
from adstack.analysis.boxes import Box
from adstack.ir.types import f64
from adstack.runtime.memory.blocks import Block
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.memory.watches import Watch
from adstack.runtime.reference_backend import ReferenceBackend

BACKEND = ReferenceBackend()


class Saving:
    """One that counts the writes that it hears of."""

    def __init__(self) -> None:
        self.heard = 0

    def before(self, buffer: Block) -> None:
        self.heard += 1


class Asking:
    """One that may ask for all that a launch has found."""

    def last(self) -> int:
        return 1

    def numbers(self) -> list[int]:
        return [1]

    def needs(self, buffer: Block) -> Sequence[Box] | None:
        return None

    def changes(self, buffer: Block) -> None:
        pass


def watched_buffer() -> tuple[Buffer, Watch]:
    buffer = Buffer(BACKEND, f64, (4,))
    return buffer, buffer.told()


def test_a_write_of_which_nobody_wants_to_hear_leaves_nothing_but_that_it_was_missed() -> None:
    buffer, watch = watched_buffer()
    before = watch.origins(buffer).within(buffer.box)
    buffer.write(np.ones(4))
    assert watch.is_idle
    assert watch.origins(buffer).within(buffer.box) != before


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_a_launch_of_which_nobody_wants_to_hear_is_known_to_have_been_missed(arch: str) -> None:
    qd.init(arch=arch)
    x = qd.field(qd.f32, 4)

    @qd.kernel
    def fill() -> None:
        for i in x:
            x[i] = 1.0

    fill()
    watch = x.buffer.told()
    for _ in range(3):
        before = watch.origins(x.buffer).within(x.buffer.box)
        fill()
        assert watch.is_idle
        assert watch.origins(x.buffer).within(x.buffer.box) != before


def test_each_of_several_is_told_until_it_has_enough() -> None:
    buffer, watch = watched_buffer()
    one, other = Saving(), Saving()
    watch.subscribe(one)
    watch.subscribe(other)
    buffer.write(np.ones(4))
    watch.unsubscribe(one)
    buffer.write(np.zeros(4))
    watch.unsubscribe(other)
    buffer.write(np.ones(4))
    assert (one.heard, other.heard, watch.is_idle) == (1, 2, True)


@pytest.mark.parametrize("who", ["watches", "may ask"])
def test_with_the_last_who_saves_others_do_not_go(who: str) -> None:
    buffer, watch = watched_buffer()
    asking, saving = Asking(), Saving()
    if who == "watches":
        watch.add(asking)
    else:
        watch.ask()
    assert not watch.is_idle
    watch.subscribe(saving)
    watch.unsubscribe(saving)
    assert not watch.is_idle
    buffer.write(np.ones(4))
    assert watch.history.unseen == buffer.written


def test_all_elements_are_written_after_one_with_which_all_were_saved() -> None:
    backend, asking = ReferenceBackend(), Asking()
    backend.launches = asking.last()
    buffer = Buffer(backend, f64, (4,))
    watch = buffer.watched(asking)
    buffer.put((1,), 7.0)
    assert not watch.since(1, (((2, 2),),))
    buffer.write(np.ones(4))
    assert watch.since(1, (((2, 2),),))
    difference = watch.difference(buffer, 1, (((2, 2),),))
    assert difference is not None
    assert difference.values.tolist() == [0.0] * 4
