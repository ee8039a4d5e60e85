"""Launches that are kept: what of their words is kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from adstack.backends.shared.buffers import host_buffer, words_of
from adstack.backends.shared.repeating import Part
from adstack.runtime.protocol.backend import Bindings


def test_what_the_device_has_counted_is_not_kept():
    """Lanes that tasks have taken by then: a launch that waits midway has run a part of its tasks."""
    memory = host_buffer(64)
    words_of(memory)[:] = range(10, 18)
    executable = SimpleNamespace(
        words=memory,
        context=SimpleNamespace(words=6, heaps={0: SimpleNamespace(taken=2), 1: SimpleNamespace(taken=5)}),
        program=SimpleNamespace(tasks=[]),
        layouts=None,
    )
    part = Part.of(executable, (), Bindings({}, {}), [])
    assert part.words.tolist() == [10, 11, 0, 13, 14, 0]
    assert part.words.dtype == np.uint64
