"""Launches that a device may not be done with: when they are waited for, and what stays for them until then."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from adstack.backends.shared.buffers import host_buffer
from adstack.backends.shared.launch_memory import LaunchMemory
from adstack.backends.shared.queueing import Batching, Queue
from adstack.errors import AdstackRuntimeError


class Slow:
    """A device without batches: whoever dispatches writes down what."""

    name, kind, most = "slow", "emulated", 1

    def __init__(self):
        self.dispatched, self.done, self.blocks = [], [], []

    def allocate(self, size):
        self.blocks.append(size)
        return host_buffer(size)

    def dispatch(self, pipeline, words, threads, group=0):
        self.dispatched.append(pipeline)

    def finish(self):
        self.done += self.dispatched
        self.dispatched = []


class Batches(Slow):
    """One that takes batches, in which a dispatch of "bad" fails."""

    def __init__(self):
        super().__init__()
        self.handed = []

    def commit(self):
        self.handed.append(self.dispatched)
        self.dispatched = []

    def wait(self, behind):
        over = [self.handed.pop(0) for _ in range(len(self.handed) - behind)]
        self.done += [one for batch in over for one in batch]
        if any("bad" in batch for batch in over):
            raise AdstackRuntimeError("it failed")

    def finish(self):
        self.commit()
        self.wait(0)


class Used:
    """What a launch uses."""


def launch(queue, pipeline, used=None, size=64):
    words = queue.words(size)
    queue.dispatch(pipeline, words, 1)
    queue.end(words, used)
    return words


def test_a_device_without_batches_is_waited_for_after_each_launch():
    device = Slow()
    assert not isinstance(device, Batching)
    queue = Queue(device)
    launch(queue, "a")
    assert queue.waits
    assert device.done == ["a"]
    assert not queue.busy


def test_launches_are_handed_over_when_somebody_waits():
    device = Batches()
    assert isinstance(device, Batching)
    queue = Queue(device)
    for name in "abc":
        launch(queue, name)
    assert (device.handed, device.done) == ([], [])
    assert (queue.submitted(), queue.finished(), queue.busy) == (1, 0, True)
    queue.finish()
    assert device.done == ["a", "b", "c"]
    assert (queue.submitted(), queue.finished(), queue.busy) == (1, 1, False)
    queue.finish()
    assert queue.submitted() == 1


def test_so_many_are_under_way_at_most():
    device = Batches()
    queue = Queue(device)
    for number in range(2000):
        launch(queue, number)
        assert len(device.handed) <= 4
        assert number - len(device.done) < 5 * 128 + 1
    queue.finish()
    assert device.done == list(range(2000))
    assert sum(device.blocks) <= 5 * 128 * 256 + (64 << 10)


def test_large_words_fill_a_batch():
    device = Batches()
    queue = Queue(device)
    for number in range(20):
        launch(queue, number, size=1 << 20)
    assert len(device.handed) == 4
    assert len(device.done) == 4


def test_waiting_for_a_batch_leaves_those_behind_it():
    device = Batches()
    queue = Queue(device)
    for name in "abc":
        launch(queue, name)
        queue.flush()
    queue.wait(2)
    assert (device.done, queue.finished()) == (["a", "b"], 2)
    queue.wait(2)
    assert queue.finished() == 2


def test_what_a_launch_uses_stays_until_it_is_over():
    device = Batches()
    queue = Queue(device)
    used = Used()
    seen = weakref.ref(used)
    words = launch(queue, "a", used)
    del used
    gc.collect()
    assert seen() is not None
    assert launch(queue, "b").address != words.address
    queue.finish()
    assert seen() is None
    assert {queue.words(64).address for _ in range(256)} >= {words.address}


def test_a_launch_that_waits_midway_keeps_its_words():
    device = Batches()
    queue = Queue(device)
    words = queue.words(64)
    queue.dispatch("a", words, 1)
    queue.finish()
    queue.dispatch("b", words, 1)
    others = [queue.words(64) for _ in range(300)]
    assert words.address not in {one.address for one in others}
    queue.flush()
    used = Used()
    seen = weakref.ref(used)
    queue.end(words, used)
    del used
    assert seen() is not None
    queue.finish()
    assert seen() is None
    assert device.done == ["a", "b"]


def test_a_launch_that_dispatches_nothing_keeps_nothing():
    queue = Queue(Batches())
    used = Used()
    seen = weakref.ref(used)
    queue.end(queue.words(64), used)
    del used
    assert seen() is None


def test_what_has_failed_is_over():
    device = Batches()
    queue = Queue(device)
    launch(queue, "bad")
    with pytest.raises(AdstackRuntimeError, match="it failed"):
        queue.finish()
    assert not queue.busy
    launch(queue, "good")
    queue.finish()
    assert device.done == ["bad", "good"]


def test_an_interrupted_wait_leaves_batches_under_way(monkeypatch):
    device = Batches()
    queue = Queue(device)
    launch(queue, "a")
    wait = device.wait

    def interrupted(behind):
        monkeypatch.setattr(device, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(device, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        queue.finish()
    assert queue.busy
    queue.finish()
    assert device.done == ["a"]


def test_memory_of_launches_is_used_again_and_never_twice_at_once():
    device = Slow()
    memory = LaunchMemory(device)
    pieces = [memory.take(size) for size in (1, 256, 257, 4096, 5000, 65536)]
    assert [piece.bytes.size for piece in pieces] == [256, 256, 512, 4096, 8192, 65536]
    for number, piece in enumerate(pieces):
        assert piece.address % 256 == 0
        piece.bytes[:] = number
    assert [set(np.unique(piece.bytes)) for piece in pieces] == [{k} for k in range(6)]
    blocks = len(device.blocks)
    for piece in pieces:
        memory.give(piece)
    again = {memory.take(size).address for size in (1, 256, 257, 4096, 5000, 65536)}
    assert again == {piece.address for piece in pieces}
    assert len(device.blocks) == blocks


def test_large_memory_goes_with_its_launch():
    device = Slow()
    memory = LaunchMemory(device)
    large = memory.take((64 << 10) + 1)
    assert large.bytes.size == (64 << 10) + 8
    seen = weakref.ref(large)
    memory.give(large)
    del large
    assert seen() is None
