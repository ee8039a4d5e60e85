"""Whether arrays that a call passes are one memory, where the reverse pass has to know: `serving`.

A kernel that writes two arrays may overwrite by one name what its reverse pass reads by the other, if they are one
array. Where they are not, as in nearly all calls, nothing is lost, and nothing has to be kept. So a specialisation is
about calls whose arrays are apart, which its kernel says (`Kernel.apart`) and which is looked at in each call. Another
one, with the same code and with modes and records of its own, is about calls that pass one memory twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from ...autodiff.activities.needed import needed
from ...autodiff.overwrite.conflicts import confusable
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.memory.overlaps import overlap
from .companions import accompanied

__all__ = ["readable", "serving", "tell_apart"]


def readable(specialisation: Specialisation) -> set[str]:
    """The places that the reverse pass may read, whatever has a gradient."""
    places = specialisation.kernel.places.values()
    real = {place.name for place in places if place.dtype.is_float and place.role == "primal"}
    return needed(specialisation.kernel, real)


def tell_apart(specialisation: Specialisation) -> None:
    """Have a specialisation be about calls whose arrays are apart, once something that it works on has a gradient.

    Whoever does so asks `serving` for each call.
    """
    kernel = specialisation.kernel
    if any(place.kind == "ndarray" for place in kernel.places.values()) and accompanied(specialisation, "grad"):
        specialisation.kernel = replace(kernel, apart=confusable(kernel, readable(specialisation)))


def serving(specialisation: Specialisation, call: Call) -> Specialisation:
    """What serves a call: the specialisation, or if the call passes one memory twice the one that is about that."""
    arrays, fields = call.arrays, specialisation.plan.buffers
    memory = {name: arrays[name] if name in arrays else fields[name] for name in _names(specialisation.kernel.apart)}
    if _are_apart(specialisation.kernel.apart, memory):
        return specialisation
    if specialisation.together is None:
        kernel = replace(specialisation.kernel, apart=frozenset())
        specialisation.together = replace(
            specialisation, kernel=kernel, gradients=None, records=None, placed=-1, calls=0, graph=None
        )
    return specialisation.together


@cache
def _names(pairs: frozenset[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*pairs)


def _are_apart(pairs: frozenset[frozenset[str]], memory: Mapping[str, Buffer]) -> bool:
    storages = {id(one.storage) for one in memory.values() if one.owned}
    if len(storages) == len(memory):
        return True  # and no two of them have to be compared
    return all(overlap(*(memory[name] for name in pair)) is False for pair in pairs)
