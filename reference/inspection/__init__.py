"""What tools may ask adstack about itself: backends, gaps, the cache, budgets of operations, hand-written IR.

questions.py    most of it; departures.py: where a backend departs from the reference; tracing.py: the logs for that
elsewhere.py    launches that somebody else carries out
"""

from .departures import Departure, departures
from .elsewhere import Launch, launches_by
from .questions import (
    ARCHES,
    EMULATED,
    SOURCES,
    Cache,
    Capabilities,
    Enclosure,
    IRProgram,
    Probe,
    Unavailable,
    budget,
    cache,
    clear_cache,
    device_names,
    enclosures,
    error_bounds,
    gaps,
    probe,
    refusals,
    translated,
)

__all__ = [
    "ARCHES",
    "EMULATED",
    "SOURCES",
    "Cache",
    "Capabilities",
    "Departure",
    "Enclosure",
    "IRProgram",
    "Launch",
    "Probe",
    "Unavailable",
    "budget",
    "cache",
    "clear_cache",
    "departures",
    "device_names",
    "enclosures",
    "error_bounds",
    "gaps",
    "launches_by",
    "probe",
    "refusals",
    "translated",
]
