"""The size of memory that belongs to one launch: results and temporaries."""

from __future__ import annotations

import math

from adstack.errors import InternalError
from adstack.ir.structure import Place

__all__ = ["own_size"]


def own_size(place: Place) -> int:
    """The bytes of a place that lives in one launch; InternalError if an extent is not known when compiling."""
    extents = [extent for extent in place.shape if extent is not None]
    if len(extents) != place.rank:
        raise InternalError(f"{place.kind} {place.name} has no fixed shape: {place.shape}")
    return math.prod(extents) * place.dtype.size
