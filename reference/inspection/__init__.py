"""What tools may ask adstack about itself: backends, gaps, the cache, budgets of operations, hand-written IR."""

from .questions import (
    ARCHES,
    Cache,
    Capabilities,
    Enclosure,
    IRProgram,
    Probe,
    Unavailable,
    budget,
    cache,
    clear_cache,
    enclosures,
    error_bounds,
    gaps,
    probe,
)

__all__ = [
    "ARCHES",
    "Cache",
    "Capabilities",
    "Enclosure",
    "IRProgram",
    "Probe",
    "Unavailable",
    "budget",
    "cache",
    "clear_cache",
    "enclosures",
    "error_bounds",
    "gaps",
    "probe",
]
