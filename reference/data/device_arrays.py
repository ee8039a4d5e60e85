"""Arrays of others in the memory of a device (torch, cupy, numba), passed to kernels without a copy, and ours to them.

Both sides speak `__cuda_array_interface__`: an address, a shape, a type. Who speaks DLPack alone is understood, too.
Launches are queued on the default stream. What the current streams of torch and cupy, and the stream that an array
names, do with shared memory is kept in order with them (`runtime/memory/streams.py`). Work on any other stream must be
synchronised by the program.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..errors import AdstackArgumentError
from ..ir.types import DType, from_numpy
from ..runtime import state
from ..runtime.memory.buffers import Buffer
from ..runtime.protocol.abilities import sharing
from . import dlpack

__all__ = ["INTERFACE", "described", "is_device_array", "taken"]

INTERFACE: Final = "__cuda_array_interface__"
_DEFAULT_STREAM: Final = 1


def is_device_array(value: object) -> bool:
    """Whether `value` says that it is in the memory of a device."""
    if type(value).__module__.partition(".")[0] == "torch":
        return bool(getattr(value, "is_cuda", False))
    if hasattr(type(value), INTERFACE) and hasattr(value, INTERFACE):  # jax's arrays have it in a device's memory alone
        return True
    kind = dlpack.kind_of(value)
    return kind is not None and kind not in dlpack.HOST


def taken(name: str, value: object) -> tuple[Buffer, bool]:
    """The memory of an argument as a buffer, shared with its owner, and whether it may only be read."""
    backend = state.current().backend
    device = sharing(backend)
    if device is None or not backend.capabilities.addressed:
        arch = backend.capabilities.name
        raise _refused(name, f"it is in the memory of a device, and arch {arch} has none", "copy it to the host first")
    _check_device(name, value, backend.capabilities.dlpack)
    about = _about(name, value, backend.capabilities.dlpack)
    dtype, shape = _dtype(name, about["typestr"]), tuple(about["shape"])
    if not _is_contiguous(about.get("strides"), shape, dtype.size):
        raise _refused(name, f"it is not C-contiguous (strides {about['strides']})", "pass a contiguous copy")
    if about.get("mask") is not None:
        raise _refused(name, "some of its elements are masked", "pass an array of all elements")
    address, read_only = about["data"]
    buffer = Buffer(
        backend, dtype, shape, device.foreign(address or 0, dtype, shape, about.get("owner", value)), shared=True
    )
    buffer.stream = about.get("stream")
    return buffer, bool(read_only)


def _about(name: str, value: Any, own: tuple[int, int] | None) -> dict[str, Any]:
    """What an array says of itself, in the words of `__cuda_array_interface__`."""
    detached = value.detach() if hasattr(value, "detach") else value
    if hasattr(detached, INTERFACE):
        interface: dict[str, Any] = getattr(detached, INTERFACE)
        return interface
    memory = dlpack.received(detached)
    if memory.device != own:
        raise _refused(name, f"it is on DLPack's device {memory.device}, and adstack uses {own}", "copy it there first")
    return {
        "shape": memory.shape,
        "typestr": memory.typestr,
        "data": (memory.address, False),
        "strides": memory.strides,
        "owner": memory.owner,
    }


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
