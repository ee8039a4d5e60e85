"""Arrays of others in the memory of a device (torch, cupy, numba), passed to kernels without a copy, and ours to them.

Both sides speak `__cuda_array_interface__`: an address, a shape, a type. Who speaks DLPack alone is understood, too.
Launches are queued on the default stream. What the current streams of torch and cupy, and the stream that an array
names, do with shared memory is kept in order with them (`runtime/memory/streams.py`). Work on any other stream must be
synchronised by the program.

torch takes longer to say all this than a launch takes. So a tensor is asked once; as long as its address, shape,
strides and type are the same, so is the rest.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final
from weakref import ReferenceType, ref

import numpy as np

from ..errors import AdstackArgumentError
from ..ir.types import DType, from_numpy
from ..runtime import state
from ..runtime.memory.buffers import Buffer
from ..runtime.protocol.abilities import Sharing, sharing
from ..runtime.protocol.shortcuts import DeviceArgument
from ..values.protocol import own
from . import dlpack

__all__ = ["INTERFACE", "alike", "described", "is_torch", "may_be_on_device", "taken"]

INTERFACE: Final = "__cuda_array_interface__"
_DEFAULT_STREAM: Final = 1


@dataclass(frozen=True)
class _Said:
    """What an array has said of itself, once it was checked.

    Attributes:
        stream: see `Block.stream`.
    """

    address: int
    dtype: DType
    shape: tuple[int, ...]
    read_only: bool
    stream: int | None


@dataclass(frozen=True)
class _Seen:
    """A torch tensor that was passed before: what it looked like, and what it said."""

    tensor: ReferenceType[Any]
    looks: tuple[object, ...]
    said: _Said


_SEEN: Final[dict[int, _Seen]] = {}
"""By their identities, as long as they live."""


def is_torch(value: object) -> bool:
    """Whether `value` is a torch tensor; torch is not imported for it."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def may_be_on_device(value: object) -> bool:
    """Whether `value` is of a type whose objects may say that they are in the memory of a device."""
    return hasattr(type(value), INTERFACE)


def taken(name: str, value: object) -> tuple[Buffer, bool] | None:
    """The memory of an argument as a buffer, shared with its owner, and whether it may only be read.

    None if `value` is no array in the memory of a device; AdstackArgumentError if it can't be shared.
    """
    looks, owner = _looks(value), value
    seen = None if looks is None else _SEEN.get(id(value))
    if seen is not None and seen.tensor() is value and seen.looks == looks:
        said = seen.said
    else:
        about = _about(name, value)
        if about is None:
            return None
        said, owner = _checked(name, about), about.get("owner", value)
        if looks is not None:
            _note(value, looks, said)
    backend = state.current().backend
    device: Any = sharing(backend)
    storage = device.foreign(said.address, said.dtype, said.shape, owner)
    buffer = Buffer(backend, said.dtype, said.shape, storage, shared=True)
    buffer.stream = said.stream
    return buffer, said.read_only


def alike(place: str, tensor: Any) -> DeviceArgument | None:
    """How machine code may take torch tensors on a device that are like this one; None if it can't."""
    native = getattr(sys.modules.get("torch"), "_C", None)
    stream = getattr(native, "_cuda_getCurrentRawStream", None)  # what code that torch generates asks as well
    if stream is None or not getattr(tensor, "is_cuda", False) or not tensor.is_contiguous():
        return None
    device = tensor.device
    return DeviceArgument(place, type(tensor), len(tensor.shape), tensor.dtype, device, stream, device.index)


def _looks(value: Any) -> tuple[object, ...] | None:
    """What tells whether a torch tensor still is what it was, for one runtime; None if it does not tell, or is not on a
    device.
    """
    if not (is_torch(value) and getattr(value, "is_cuda", False)):
        return None
    try:
        return state.current().epoch, value.data_ptr(), value.shape, value.stride(), value.dtype
    except (AttributeError, RuntimeError):  # a tensor without memory of its own, such as a sparse one
        return None


def _note(tensor: object, looks: tuple[object, ...], said: _Said) -> None:
    """Remember what a tensor has said, as long as it lives."""
    identity = id(tensor)
    _SEEN[identity] = _Seen(ref(tensor, lambda _: _SEEN.pop(identity, None)), looks, said)


def _about(name: str, value: Any) -> dict[str, Any] | None:
    """What an array says of itself, in the words of `__cuda_array_interface__`; None if it is not on a device.

    AdstackArgumentError if it is on a device that adstack does not use.
    """
    if is_torch(value) and not getattr(value, "is_cuda", False):
        return None
    detached = value.detach() if own(value, "requires_grad", False) else value
    interface: dict[str, Any] | None = None
    if may_be_on_device(detached):  # jax's arrays have it in a device's memory alone
        interface = own(detached, INTERFACE)
    if interface is None:
        kind = dlpack.kind_of(value)
        if kind is None or kind in dlpack.HOST:
            return None
    capabilities = state.current().backend.capabilities
    if _sharing() is None:
        arch = capabilities.name
        raise _refused(name, f"it is in the memory of a device, and arch {arch} has none", "copy it to the host first")
    _check_device(name, value, capabilities.dlpack)
    return _received(name, detached, capabilities.dlpack) if interface is None else interface


def _sharing() -> Sharing | None:
    """The backend in use, if others have memory on its device."""
    backend = state.current().backend
    return sharing(backend) if backend.capabilities.addressed else None


def _received(name: str, value: object, own: tuple[int, int] | None) -> dict[str, Any]:
    """The same of an array that speaks DLPack alone."""
    memory = dlpack.received(value)
    if memory.device != own:
        raise _refused(name, f"it is on DLPack's device {memory.device}, and adstack uses {own}", "copy it there first")
    return {
        "shape": memory.shape,
        "typestr": memory.typestr,
        "data": (memory.address, False),
        "strides": memory.strides,
        "owner": memory.owner,
    }


def _checked(name: str, about: dict[str, Any]) -> _Said:
    """What an array says, if its memory can be shared; AdstackArgumentError if not."""
    dtype, shape = _dtype(name, about["typestr"]), tuple(about["shape"])
    if not _is_contiguous(about.get("strides"), shape, dtype.size):
        raise _refused(name, f"it is not C-contiguous (strides {about['strides']})", "pass a contiguous copy")
    if about.get("mask") is not None:
        raise _refused(name, "some of its elements are masked", "pass an array of all elements")
    address, read_only = about["data"]
    return _Said(address or 0, dtype, shape, bool(read_only), about.get("stream"))


def _check_device(name: str, value: object, own: tuple[int, int] | None) -> None:
    """Refuse what says that it is on another device."""
    device = getattr(value, "device", None)
    number = next((n for n in (getattr(device, at, None) for at in ("index", "id")) if isinstance(n, int)), None)
    if own is not None and number is not None and number != own[1]:
        raise _refused(name, f"it is on device {number}, and adstack uses device {own[1]}", "copy it there first")


def described(buffer: Buffer) -> dict[str, Any]:
    """What others need to know to share a buffer; AttributeError if it is in no device's memory."""
    capabilities = buffer.backend.capabilities
    if capabilities.direct or not capabilities.addressed:
        raise AttributeError(INTERFACE)
    buffer.share()
    return {
        "shape": buffer.shape,
        "typestr": np.dtype(buffer.dtype.numpy).str,
        "data": (buffer.backend.address(buffer.storage), False),
        "strides": None,
        "version": 3,
        "stream": _DEFAULT_STREAM,
    }


def _dtype(name: str, typestr: str) -> DType:
    try:
        return from_numpy(np.dtype(typestr))
    except (KeyError, TypeError):
        raise _refused(name, f"its elements are {typestr}", "use one of the language's types") from None


def _is_contiguous(strides: Any, shape: tuple[int, ...], size: int) -> bool:
    if strides is None or 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if extent > 1 and stride != size:
            return False
        size *= extent
    return True


def _refused(name: str, why: str, do: str) -> AdstackArgumentError:
    return AdstackArgumentError(f"Invalid value for argument {name} - {why}", do=do)
