"""What each peer is known not to do. A gap that passes fails the run, and so does one that matches no case.

The lists are the files `*.gaps` beside this one. The gaps of adstack's own backends stand with them, as `GAPS` in their
capability modules.
"""

from __future__ import annotations

from typing import Final

from ..harness.cells import Gap
from .gap_lists import gaps_of

__all__ = ["PEER_GAPS", "PEER_OPTIONS", "TOLD_GAPS"]

PEER_OPTIONS: Final[dict[str, tuple[tuple[str, bool | int], ...]]] = {
    "quadrants": (("ad_stack_experimental_enabled", True), ("ad_stack_size", 1024)),
    "taichi": (("ad_stack_size", 1024),),
}
"""What reverse mode through loops takes there; the size is more than any case needs."""

TOLD_GAPS: Final[dict[str, tuple[Gap, ...]]] = {
    peer: gaps + gaps_of("gradients").get(peer, ()) for peer, gaps in gaps_of("peers").items()
}
"""By peer: those that somebody has looked into."""

PEER_GAPS: Final[dict[str, dict[str, tuple[Gap, ...]]]] = {
    peer: {"cpu": gaps + gaps_of("runs").get(peer, ())} for peer, gaps in TOLD_GAPS.items()
}
"""By subject and its arch; the last are what a whole run of the gradients showed."""
