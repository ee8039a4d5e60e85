"""Setting gradients and duals to zero, each thread those that it works with.

Memory that a tape or a forward mode of another thread used last has results that are that thread's: it is set to zero
only when this thread comes to use it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from ..data.fields import Field
from ..errors import AdstackArgumentError
from ..runtime import state
from ..runtime.memory.buffers import Buffer
from ..runtime.memory.clearing import fill
from ..values.calling import takes

__all__ = ["are_others", "claim", "clear_all", "clear_all_gradients", "is_another_threads"]


class _Me(threading.local):
    """Which thread this is; no other one ever equals it."""

    def __init__(self) -> None:
        self.mark = object()


_ME: Final = _Me()
_USER: Final = attrgetter("user")


def claim(buffer: Buffer) -> None:
    """Note that this thread is the one that uses the memory `buffer` from now on."""
    buffer.user = _ME.mark


def is_another_threads(buffer: Buffer) -> bool:
    """Whether another thread was the last to claim the memory `buffer`."""
    return buffer.user is not None and buffer.user is not _ME.mark


def are_others(buffers: Iterable[Buffer]) -> bool:
    """Whether another thread was the last to claim any of some memory."""
    return not {None, _ME.mark}.issuperset(map(_USER, buffers))


@takes("ad.clear_all_gradients")
def clear_all_gradients(gradient_type: object = None) -> None:
    """Set the gradients of all fields to zero, whichever threads use them.

    There is one type of gradients, which needs no name: AdstackArgumentError for any `gradient_type` but None.
    """
    if gradient_type is not None:
        raise AdstackArgumentError(
            f"clear_all_gradients() has no gradient_type {gradient_type!r}",
            do="leave it out; the duals of a field are set to zero by x.dual.fill(0)",
        )
    clear_all("grad", everyones=True)


def clear_all(role: str, *, everyones: bool = False, also: Iterable[Buffer] = ()) -> None:
    """Set the gradients ("grad") of all fields, or the duals ("dual") of all fields and ndarrays, to zero; in both
    cases also the duals of gradients; and some other memory. What another thread used last is left as it is, unless
    `everyones`.
    """
    roles, users, buffers = (role, "grad.dual"), (None, _ME.mark), [*also]
    for data in state.current().data():
        if data.role in roles and data.has_data() and (role == "dual" or isinstance(data, Field)):
            buffer = data.buffer
            if everyones or buffer.user in users:
                buffers.append(buffer)
    fill(buffers)
