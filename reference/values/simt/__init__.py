"""`qd.simt`: what the threads of a block do together, in kernels. May import values and below."""

from __future__ import annotations

from . import block, subgroup

__all__ = ["block", "subgroup"]
