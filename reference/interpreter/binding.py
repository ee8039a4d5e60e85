"""Buffers of the caller, and fresh memory, as the places of a launch."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..errors import AdstackArgumentError, InternalError
from ..ir.structure import Place
from .lanes import Array, Memory


def bind(places: Mapping[str, Place], buffers: Mapping[str, Array]) -> dict[str, Memory]:
    """The memory of each place: the caller's buffer, or fresh zeros for what lives in one launch."""
    return {
        name: own(place) if place.kind in ("temp", "result") or _is_own(place, buffers) else of_caller(place, buffers)
        for name, place in places.items()
    }


def _is_own(place: Place, buffers: Mapping[str, Array]) -> bool:
    """Whether these are depths for which the caller has no memory."""
    return place.kind == "depths" and place.name not in buffers


def own(place: Place) -> Memory:
    """Zeroed memory for a place that lives in one launch."""
    extents = tuple(extent for extent in place.shape if extent is not None)
    if len(extents) != place.rank:
        raise InternalError(f"the {place.called} has no fixed shape: {place.shape}")
    return Memory(place, np.zeros(math.prod(extents), place.dtype.numpy), extents)


def of_caller(place: Place, buffers: Mapping[str, Array]) -> Memory:
    """The caller's buffer of a place, as flat memory: a view if its elements are in row-major order, else a copy."""
    buffer = buffers.get(place.name)
    if buffer is None:
        raise AdstackArgumentError(f"no buffer was given for {place.called}", do="pass one for every place")
    if buffer.dtype != place.dtype.numpy:
        raise AdstackArgumentError(f"{place.called} holds {place.dtype}, got a buffer of {buffer.dtype}")
    fits = len(buffer.shape) == place.rank and all(
        want in (None, got) for want, got in zip(place.shape, buffer.shape, strict=True)
    )
    if not fits:
        raise AdstackArgumentError(f"{place.called} has the shape {place.shape}, got a buffer of shape {buffer.shape}")
    return Memory(place, np.ascontiguousarray(buffer).reshape(-1), buffer.shape)


def write_back(working: Mapping[str, Memory], buffers: Mapping[str, Array]) -> None:
    """Bring the memory of buffers that had to be copied back to them."""
    for name, memory in working.items():
        buffer = buffers.get(name)
        if buffer is not None and not np.shares_memory(buffer, memory.flat):
            buffer[...] = memory.flat.reshape(memory.extents)
