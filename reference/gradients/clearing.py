"""Setting gradients and duals to zero, each thread those that it works with.

Memory that a tape or a forward mode of another thread used last has results that are that thread's: it is set to zero
only when this thread comes to use it.
"""

from __future__ import annotations

import threading
from typing import Final
from weakref import WeakKeyDictionary

from ..data.fields import Field
from ..data.ndarrays import Ndarray
from ..errors import AdstackArgumentError
from ..runtime import state
from ..runtime.memory.buffers import Buffer
from ..values.calling import takes

__all__ = ["claim", "clear_all", "clear_all_gradients", "is_another_threads"]


class _Me(threading.local):
    """Which thread this is; no other one ever equals it."""

    def __init__(self) -> None:
        self.mark = object()


_ME: Final = _Me()
_USERS: Final[WeakKeyDictionary[Buffer, object]] = WeakKeyDictionary()
"""Who used memory of gradients or duals last."""


def claim(buffer: Buffer) -> None:
    """Note that this thread is the one that uses the memory `buffer` from now on."""
    _USERS[buffer] = _ME.mark


def is_another_threads(buffer: Buffer) -> bool:
    """Whether another thread was the last to claim the memory `buffer`."""
    return _USERS.get(buffer, _ME.mark) is not _ME.mark


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


def clear_all(role: str, *, everyones: bool = False) -> None:
    """Set the gradients ("grad") of all fields, or the duals ("dual") of all fields and ndarrays, to zero; in both
    cases also the duals of gradients. What another thread used last is left as it is, unless `everyones`.
    """
    kinds = (Field, Ndarray) if role == "dual" else (Field,)
    for resident in state.current().residents():
        if isinstance(resident, kinds) and resident.role in (role, "grad.dual") and resident.has_data():
            buffer = resident.buffer
            if everyones or not is_another_threads(buffer):
                buffer.write(0)
