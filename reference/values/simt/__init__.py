"""`qd.simt`: what the threads of a block do together, in kernels. May import values and below."""

from __future__ import annotations

from ...absent import missing as _missing
from . import block, subgroup

__all__ = ["block", "subgroup"]


def __getattr__(name: str) -> object:
    raise _missing("qd.simt", name, __all__)
