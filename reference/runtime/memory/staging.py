"""Memory of the device for copies of arrays of the host, on which launches work where a device does not address those.

To take memory from a driver and to give it back takes longer than to copy a small array, and waits for the device. So
memory that a call had for its copy of an array is kept for the next call with that array, as long as the array lives,
and no more than `MOST` bytes for all arrays together. It goes back when memory is short (`adstacks.budget`), and when
the runtime ends. None is kept where `device_memory_GB` limits memory, or where a backend hands out memory by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from sys import is_finalizing
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

from ...ir.types import DType
from ..adstacks.budget import current
from ..protocol.abilities import reclaiming
from ..protocol.backend import Array, Backend, Storage
from .buffers import Buffer

__all__ = ["MOST", "Staged", "Staging"]

MOST: Final = 64 << 20
"""Bytes that are kept at most; those of a larger array take longer to copy than to be handed out."""


class _Piece(NamedTuple):
    """Memory that no call has now: `size` bytes for elements of a type, in a shape."""

    dtype: DType
    shape: tuple[int, ...]
    storage: Storage
    size: int


class _Owned:
    """What is kept for the arrays that are in the memory of one object.

    Attributes:
        gone: whether the object is: nothing is kept any more.
    """

    __slots__ = ("gone", "owner", "pieces")

    def __init__(self, owner: ReferenceType[object]) -> None:
        self.owner, self.gone = owner, False
        self.pieces: list[_Piece] = []


class Staging:
    """The memory of one runtime for such copies.

    Objects end at any moment, in any thread. What they have is therefore noted and taken by operations that no other
    thread comes between: `append` and `pop` of lists, `pop` of dictionaries.

    Args:
        backend: whose memory it is.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._owned: dict[int, _Owned] = {}
        self._bytes = 0  # about `size`: threads may come between
        self._most = MOST if backend.capabilities.stages and not current().limit else 0
        current().spares.add(self)

    @property
    def size(self) -> int:
        """Bytes that are kept, and that no call has now."""
        return sum(piece.size for owned in list(self._owned.values()) for piece in list(owned.pieces))

    def copied(self, array: Array, dtype: DType, owner: object) -> Staged:
        """A copy of a C-contiguous array for a launch.

        Args:
            array: of the host.
            dtype: of its elements.
            owner: the object in whose memory the array is: nothing is kept for it once it is gone.
        """
        backend, copy = self.backend, Staged(self, dtype, array.shape, self._of(owner))
        with copy.locked():
            backend.upload(copy.handle(), array)
        return copy

    def _of(self, owner: object) -> _Owned | None:
        """What is kept for an object; None if it can't be told when it is gone, or nothing is kept."""
        owned = self._owned.get(id(owner))
        if owned is not None and owned.owner() is owner:
            return owned
        if not self._most or not type(owner).__weakrefoffset__:
            return None
        return self._begun(id(owner), owner)

    def _begun(self, identity: int, owner: object) -> _Owned:
        """Nothing is kept for an object so far, which is known by its identity as long as it lives."""

        def forget(_: object, ends: Callable[[], bool] = is_finalizing) -> None:
            if ends():
                return  # a process that ends gives back everything
            if self._owned.get(identity) is owned:
                del self._owned[identity]
            owned.gone = True
            self._abandon(owned)

        owned = self._owned[identity] = _Owned(ref(owner, forget))
        return owned

    def taken(self, owned: _Owned, dtype: DType, shape: tuple[int, ...]) -> Storage:
        """Memory that is kept for an object, for elements of a type in a shape; None if there is none."""
        others: list[_Piece] = []
        while owned.pieces:
            piece = owned.pieces.pop()
            if piece.dtype is dtype and piece.shape == shape:
                owned.pieces += others
                self._bytes -= piece.size
                return piece.storage
            others.append(piece)
        owned.pieces += others
        return None

    def give(self, owned: _Owned, dtype: DType, shape: tuple[int, ...], size: int, storage: Storage) -> None:
        """No call has some memory any more. May be called at any moment, in any thread."""
        owned.pieces.append(_Piece(dtype, shape, storage, size))
        self._bytes += size
        if self._bytes > self._most:
            self._bytes = self.size
        if owned.gone or self._bytes > self._most:
            self._abandon(owned)

    def _abandon(self, owned: _Owned) -> None:
        """Give back what is kept for an object, as soon as the device can take it; nothing is raised."""
        device = reclaiming(self.backend)
        while owned.pieces:
            piece = owned.pieces.pop()
            self._bytes -= piece.size
            if device is not None:
                device.abandon(piece.storage)

    def relieve(self) -> bool:
        """Give back all that is kept; whether there was any."""
        pieces = [*self._popped(list(self._owned.values()))]
        self._bytes = 0
        for piece in pieces:
            self.backend.free(piece.storage)
        return bool(pieces)

    def _popped(self, several: Iterable[_Owned]) -> Iterable[_Piece]:
        for owned in several:
            while owned.pieces:
                yield owned.pieces.pop()

    def drop(self) -> None:
        """The runtime ends: give back what is kept, and keep nothing any more."""
        self._most = 0
        self.relieve()


class Staged(Buffer):
    """A copy of an array of the host, in memory that is kept for the next one when nobody has the copy any more.

    Args:
        staging: where memory is kept.
        dtype, shape: of the array.
        owned: what is kept for it; None if nothing is.
    """

    __slots__ = ("_owned", "_staging")

    def __init__(self, staging: Staging, dtype: DType, shape: tuple[int, ...], owned: _Owned | None) -> None:
        self._staging, self._owned = staging, owned
        super().__init__(staging.backend, dtype, shape)

    def reserve(self) -> Storage:
        """See `Block.reserve`: as it was left, where it was kept."""
        owned = self._owned
        storage = None if owned is None else self._staging.taken(owned, self.dtype, self.shape)
        return super().reserve() if storage is None else storage

    def giver(self) -> Callable[[Storage], object] | None:
        """See `Block.giver`."""
        if self._owned is None:
            return super().giver()
        return partial(self._staging.give, self._owned, self.dtype, self.shape, self.nbytes)
