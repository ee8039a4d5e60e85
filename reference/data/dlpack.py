"""Memory of a device handed to others (jax, torch, cupy, and numpy where the host plays the device) as DLPack has it,
and theirs to us.

A capsule holds a pointer to a structure that says where the memory is, and how to let go of it. The consumer
renames the capsule, and calls the deleter when it is done; a capsule that was never consumed calls it itself. So memory
of others is used as long as their capsule is kept, which is never consumed.
"""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..ir.types import Array
from ..runtime.memory.buffers import Buffer
from ..runtime.protocol.abilities import sharing

__all__ = ["HOST", "Received", "capsule", "device_of", "kind_of", "on_host", "received"]

_NAME: Final = b"dltensor"
_CODES: Final = {"i": 0, "u": 1, "f": 2, "b": 6}
_KINDS: Final = {code: kind for kind, code in _CODES.items()}
HOST: Final = (1, 3, 11, 13)
"""Memory that the processor can read: its own, what CUDA and ROCm pin for it, and CUDA's managed memory."""
_DEFAULT_STREAMS: Final = (None, -1, 0, 1)
"""None asks for no order, -1 for none either; the others are the default stream, on which launches are queued."""


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


LENT: Final[dict[int, tuple[object, ...]]] = {}
"""What has to live until the consumer of a structure, known by its address, calls its deleter."""


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _let_go(address: int) -> None:
    LENT.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _destroyed(capsule: int) -> None:
    """A capsule is gone: if it was never consumed, release its structure."""
    if _IS_VALID(capsule, _NAME):
        _let_go(POINTER(capsule, _NAME))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's, by itself: others may declare it in other ways."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_NEW: Final = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_IS_VALID: Final = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
POINTER: Final = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


def device_of(buffer: Buffer) -> tuple[int, int] | None:
    """The device as DLPack numbers it; None if the memory is in no device that has one."""
    capabilities = buffer.backend.capabilities
    return capabilities.dlpack if capabilities.addressed else None


def capsule(buffer: Buffer, stream: Any = None, dl_device: Any = None, copy: Any = None, **_: Any) -> Any:
    """A capsule that shares a buffer; BufferError where that would take a copy. All versions of DLPack get the same."""
    device = device_of(buffer)
    assert device is not None
    if copy or dl_device not in (None, device):
        raise BufferError(f"memory of DLPack's device {device} is shared, not copied: leave out copy and dl_device")
    device_of_others = sharing(buffer.backend)
    if stream not in _DEFAULT_STREAMS and device_of_others is not None:
        device_of_others.let_wait(stream)
    dtype, rank = buffer.dtype, len(buffer.shape)
    shape = (ctypes.c_int64 * max(rank, 1))(*buffer.shape)
    counts = [1, *itertools.accumulate(reversed(buffer.shape[1:]), int.__mul__)] if rank else []
    strides = (ctypes.c_int64 * max(rank, 1))(*reversed(counts))
    managed = Managed()
    managed.tensor.data = buffer.backend.address(buffer.storage)
    managed.tensor.device_kind, managed.tensor.device_number = device
    managed.tensor.ndim, managed.tensor.lanes = rank, 1
    managed.tensor.code, managed.tensor.bits = _CODES[dtype.numpy.kind], 8 * dtype.size
    managed.tensor.shape, managed.tensor.strides = (
        ctypes.cast(x, ctypes.POINTER(ctypes.c_int64)) for x in (shape, strides)
    )
    managed.deleter = ctypes.cast(_let_go, ctypes.c_void_p)
    buffer.share()
    LENT[ctypes.addressof(managed)] = managed, shape, strides, buffer
    return _NEW(ctypes.addressof(managed), _NAME, ctypes.cast(_destroyed, ctypes.c_void_p))


def kind_of(value: object) -> int | None:
    """The kind of device in whose memory an array of others is, as DLPack numbers it; None for what is no array."""
    if not (hasattr(type(value), "__dlpack__") and hasattr(type(value), "__dlpack_device__")):
        return None
    kind, _ = value.__dlpack_device__()  # type: ignore[attr-defined]
    return int(kind)


def on_host(value: object) -> Array | None:
    """An array of others in the memory of the host, shared as one of numpy's; None if there is no such thing.

    Raises BufferError, or what the other library raises, if it can't be shared.
    """
    return np.from_dlpack(value) if kind_of(value) in HOST else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class Received:
    """Memory of a device that belongs to others.

    Attributes:
        device: its kind and number, as DLPack has them.
        address: of the first element.
        typestr: the type of the elements as numpy's interface writes it.
        shape: the extents of the axes.
        strides: in bytes, or None if the elements lie in the order of C.
        owner: has to live as long as the memory is used.
    """

    device: tuple[int, int]
    address: int
    typestr: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    owner: object


def received(value: Any) -> Received:
    """An array of others in the memory of a device, in order with the default stream; nothing is copied."""
    taken = value.__dlpack__(stream=1)
    tensor = Managed.from_address(POINTER(id(taken), _NAME)).tensor
    size = tensor.bits * tensor.lanes // 8
    rank = tensor.ndim
    return Received(
        (tensor.device_kind, tensor.device_number),
        (tensor.data or 0) + tensor.byte_offset,
        f"{_KINDS.get(tensor.code, 'V')}{size}",
        tuple(tensor.shape[:rank]),
        tuple(size * stride for stride in tensor.strides[:rank]) if tensor.strides else None,
        (value, taken),
    )
