"""A specialisation that computes tangents beside its values, as a specialisation of its own: `jvp_of`.

To this one tangents are memory like any other. What is recorded of its launches, what is kept of memory and how it is
differentiated is therefore what it is for every specialisation, and its reverse mode gives second derivatives:
`companions.py` says where the adjoints stand.
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import AdstackRuntimeError
from ...ir.structure import Place
from ...launch.lifetimes import Data
from ...launch.specialisation import Specialisation
from ...runtime.state import Runtime
from ...values.specs import ScalarSpec, TupleSpec
from .companions import accompanied, companions, names_of
from .compiled import differentiated
from .differentiated import Differentiated
from .state import state_of

__all__ = ["has_second", "jvp_of", "refuse_partial"]


def jvp_of(specialisation: Specialisation, runtime: Runtime) -> Specialisation:
    """The specialisation that does what `specialisation` does, and computes the duals of what it writes.

    It takes the same calls, with `x.grad.dual` for each array argument x that has a gradient and a dual where it is
    differentiated. It returns the scalars that `specialisation` returns as one tuple, and behind them the tangents of
    the real ones. The caller checks the call first (`Differentiated.check` of the mode "forward").
    """
    mode = differentiated(specialisation, "forward", runtime, strict=False)
    names = names_of(companions(specialisation, "dual"))
    jvps = state_of(specialisation).jvps
    jvp = jvps.get(names)
    if jvp is None:
        jvp = jvps[names] = _specialisation(specialisation, mode)
    return jvp


def _specialisation(specialisation: Specialisation, mode: Differentiated) -> Specialisation:
    kernel = mode.derived.kernel
    tangents = {place.name: name for name, place in mode.companions.items()}
    arrays = [name for name in tangents.values() if kernel.places[name].kind == "ndarray"]
    second = [_second(kernel.places[f"{name}.grad"]) for name in arrays if f"{name}.grad" in kernel.places]
    places = {**kernel.places, **{place.name: place for place in second}}
    fields = dict(specialisation.fields.items())
    fields |= {dual: fields[name].dual for dual, name in tangents.items() if name in fields}
    return replace(
        specialisation,
        kernel=replace(kernel, places=places),
        plan=mode.plan,
        returns=TupleSpec(tuple(map(ScalarSpec, kernel.returns))) if kernel.returns else None,
        fields=Data(fields, specialisation.life),
        tangents=tangents,
        gradients=None,
        records=None,
        placed=-1,
        graph=None,
    )


def _second(gradient: Place) -> Place:
    """The place of the tangents of an array argument's gradient."""
    return replace(gradient, name=f"{gradient.name}.dual", role="grad.dual", label=f"{gradient.label}.dual")


def has_second(specialisation: Specialisation, *, every: bool = False) -> bool:
    """Whether something that a specialisation touches has a gradient and a dual.

    Args:
        specialisation: the specialisation.
        every: everything that has a gradient must have a dual.
    """
    gradients, duals = companions(specialisation, "grad").keys(), companions(specialisation, "dual").keys()
    return not gradients.isdisjoint(duals) and (gradients <= duals or not every)


def refuse_partial(specialisation: Specialisation) -> None:
    """AdstackRuntimeError if something that a specialisation touches has a gradient, and no dual to take it along."""
    duals = companions(specialisation, "dual")
    for place in accompanied(specialisation, "grad"):
        if place.name not in duals:
            label = place.label or place.name
            raise AdstackRuntimeError(
                f"{specialisation.kernel.name}: {label} has a gradient and no dual, so that there are no second "
                "derivatives",
                loc=specialisation.kernel.loc,
                do=f"make {label} with needs_dual=True, or differentiate outside of qd.ad.FwdMode",
            )
