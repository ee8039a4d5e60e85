"""Several memories that are set to one number together: each write has steps that all can share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np

from ...ir.types import DType
from ..protocol.abilities import transferring
from ..threads.capturing import CAPTURING, check
from ..threads.runtime_lock import RUNTIME_LOCK
from .buffers import Buffer
from .observers import OBSERVERS, tell_others
from .streams import ordered

__all__ = ["fill"]


def fill(buffers: Sequence[Buffer], number: Literal[0, 1] = 0) -> None:
    """Set all elements of some buffers of one backend to a number that every type has, as the host would write it."""
    if not buffers:
        return
    if CAPTURING:
        check("the host writes memory")
    with RUNTIME_LOCK.lock:
        is_observed = bool(OBSERVERS and OBSERVERS.others())
        for buffer in buffers:
            if is_observed:
                tell_others(buffer)
            if buffer.watch is not None:
                buffer.watch.before(buffer, "the host")
        try:
            _fill(buffers, number)
        finally:
            for buffer in buffers:  # some of them have been written, whatever comes in between
                buffer.touch()


def _fill(buffers: Sequence[Buffer], number: Literal[0, 1]) -> None:
    if number == 0:
        buffers = [buffer for buffer in buffers if not (buffer.by_page and buffer.give_up())]
    if not buffers:
        return
    backend = buffers[0].backend
    device = transferring(backend)
    if device is not None:
        parts = [(buffer.handle(), _element(buffer.dtype, number)) for buffer in buffers]
        with ordered(backend, buffers):
            if device.fill(parts):
                return
    for buffer in buffers:
        view = buffer.view() if device is None else None
        if view is None:
            buffer.write(number)
        else:
            view[...] = number


@cache
def _element(dtype: DType, number: Literal[0, 1]) -> bytes:
    """The bytes of a number."""
    return np.array(number, dtype.numpy).tobytes()
